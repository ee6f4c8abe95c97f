#!/bin/sh
# The manual: a page per verb, with the options that --help has; every variable that a job is given.
. "${0%/*}/lib.sh"

cd "$TOP" || exit 1
man=doc/man

# --- pages ----------------------------------------------------------------------------------------

if command -v mandoc >/dev/null; then
    is "$(mandoc -Tlint -W warning $man/*.[1-9] 2>&1)" "" "mandoc has nothing to say"
else
    skip "mandoc is not installed"
fi
verbs=$("$MUSTER" --help | sed -n 's/^  \([a-z]\{2,\}\)  .*/\1/p')
is "$(for v in $verbs; do echo "$man/muster-$v.1"; done | sort)" "$(find $man -name 'muster-*.1' | sort)" \
    "every verb has a page, every page a verb"
for v in $verbs; do
    sed -n '/^\.Sh SEE ALSO/,$p' $man/muster.1 | grep -q "^\.Xr muster-$v 1" || echo "$v"
done >"$WORK/unnamed"
is "$(cat "$WORK/unnamed")" "" "muster(1) names all of them"

# Those of section 5 are made of the dialects, muster-errors of the diagnostics.
{
    find $man -name 'muster*.[1-9]' | sed 's|.*/||; s/\./ /'
    "$MUSTER" schema --list | sed 's/ .*//; s/^muster-//; s/.*/muster-& 5/'
    echo "muster-errors 7"
} | sort >"$WORK/pages"
sed -n 's/^\.Xr \(muster[a-z0-9-]* [1-9]\).*/\1/p' $man/*.[1-9] | sort -u >"$WORK/referred"
is "$(comm -13 "$WORK/pages" "$WORK/referred")" "" "no page refers to one that is not there"

# --- options --------------------------------------------------------------------------------------

# The part of a verb's own in --help comes first; the others are shared and described in muster-run.
own() # VERB
{
    "$MUSTER" "$1" --help | awk '/^options:/ { on = 1; next } on && /^$/ { exit } on'
}
long() # the options in the first column of help
{
    sed -n 's/^  \(-., \)\{0,1\} *--\([a-z-]*\).*/\2/p' | grep -vx help
}
described() # PAGE - in its lists
{
    sed -n 's/^\.It Fl //p' "$1" | grep -oE -- '(^| )-[a-z][a-z-]+' | sed 's/^ *-//' | sort -u
}
for v in $verbs; do
    page=$man/muster-$v.1
    [ -f "$page" ] || continue
    described "$page" >"$WORK/in-page"
    own "$v" | long | sort -u >"$WORK/own"
    "$MUSTER" "$v" --help | long | sort -u >"$WORK/all"
    is "$(comm -23 "$WORK/own" "$WORK/in-page")" "" "$v: the page has its options"
    is "$(comm -23 "$WORK/in-page" "$WORK/all")" "" "$v: and no others"
done
described $man/muster-run.1 >"$WORK/in-page"
"$MUSTER" run --help | long | sort -u >"$WORK/all"
is "$(comm -3 "$WORK/in-page" "$WORK/all")" "" "what verbs share is described with run"
for v in $verbs; do
    [ "$v" != run ] || continue
    own "$v" | long | sort -u >"$WORK/own"
    [ "$("$MUSTER" "$v" --help | long | sort -u | comm -23 - "$WORK/own")" = "" ] ||
        grep -q '^\.Xr muster-run 1' "$man/muster-$v.1" || echo "$v"
done >"$WORK/unreferred"
is "$(cat "$WORK/unreferred")" "" "and the page of each verb that has them leads there"

# --- variables ------------------------------------------------------------------------------------

words() # PATTERN FILE… - string literals
{
    pattern=$1
    shift
    grep -hoE "$pattern" "$@" | grep -oE '"[^"]*"' | tr -d '"' | sort -u
}
environment=$man/muster-environment.7
# Labels of ports are no variables, nor is the name of an implementation.
grep -l env_put src/plan/*.c | xargs sed 's/plan_port([^)]*)//; s/"MPICH"//' >"$WORK/env.c"
words '"[A-Z][A-Z0-9]+(_[A-Za-z0-9_]*)?"' "$WORK/env.c" >"$WORK/set"
ok "variables are found in the source" grep -qx MUSTER_JOB "$WORK/set"
while read -r name; do
    case $name in
    *_) grep -qE "(^| )$name" $environment || echo "$name" ;; # names that begin so
    *) grep -qE "(^| )$name( |\$)" $environment || echo "$name" ;;
    esac
done <"$WORK/set" >"$WORK/missing"
is "$(cat "$WORK/missing")" "" "muster-environment(7) has every variable that a job is given"
# Not those of MPI, by which the shim knows a rank, nor the one that makes tests fail, nor what the operator tells its
# recorder in a pod.
find src -name '*.c' ! -path '*/test/*' -exec cat {} + >"$WORK/source"
words '[^_]getenv\("[A-Z_]*"' "$WORK/source" | grep -vxE 'PMIX_NAMESPACE|MUSTER_FAULT|MUSTER_ADDRESS|TMPDIR' >"$WORK/read"
while read -r name; do
    sed -n '/^\.Sh WHAT MUSTER READS/,$p' $environment | grep -q "^\.It Ev $name\$" || echo "$name"
done <"$WORK/read" >"$WORK/missing"
is "$(cat "$WORK/missing")" "" "and every one that Muster reads"
done_testing
