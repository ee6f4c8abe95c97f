#!/bin/sh
# What the repository promises about itself: the example, the layers, the static shim.
. "${0%/*}/lib.sh"

is "$(sha256sum <"$TOP/examples/mpi-example.yaml" | cut -d' ' -f1)" \
    cce8ccc83c579320ff6e3c08bb0c15c87260c8c007ebda00f8655ba41080210d "the example is the original file"
cd "$TOP" || exit 1
ok "the examples of the seeds are the original files" sha256sum -c --quiet t/seeds.sha256
ok "every room includes only what it may" "$TOP/tools/check-layers"

nothing() # what scripts of frameworks say they are about, where there is no such file (.ci/touched)
{
    sed -n 's/^# about: //p' t/frameworks/lib.sh t/frameworks/*.t t/faults/lib.sh t/kubernetes/lib.sh | tr ' ' '\n' | while read -r path; do
        set -- "$path"*
        [ -e "$1" ] || echo "$path"
    done
}
is "$(nothing)" "" "what scripts say they are about is there"

commit=$(git rev-parse --short=12 HEAD 2>/dev/null)
is "$("$MUSTER" --version)" "muster 0.1.0${commit:+ ($commit)}" "the program names its version and commit"

# shellcheck disable=SC2016 # backquotes of Markdown
unanswered() # files that "Where is it?" of CONTRIBUTING.md names and that are not there
{
    sed -n '/^## Where is it/,/^## House/p' CONTRIBUTING.md | grep -oE '`[a-z]+/[a-z_/]*\.[ch]`' | tr -d '`' | while read -r path; do
        [ -e "src/$path" ] || echo "$path"
    done
}
is "$(unanswered)" "" "what CONTRIBUTING.md points to is there"

untrained() # examples that no script trains with
{
    for file in examples/frameworks/*.yaml examples/frameworks/*.json examples/azureml/*.yaml; do
        grep -q "^ *train [0-9]* [0-9]* ${file##*/}" t/frameworks/*.t || echo "$file"
    done
}
is "$(untrained)" "" "make test-frameworks trains with every example"
if [ -n "${MUSTER_SAN:-}" ]; then
    skip "a sanitizer cannot be linked statically"
else
    like "$(ldd "${MUSTER%/*}/muster-shim" 2>&1)" "statically linked|not a dynamic" "the shim is static"
fi
done_testing
