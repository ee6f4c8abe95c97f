#!/bin/sh
# Every diagnostic has a row, a paragraph and a file that provokes it; `muster help` prints the paragraph.
. "${0%/*}/lib.sh"

cd "$TOP" || exit 1
codes() # FILE… - the codes that stand in quotes there
{
    grep -rhoE '"[EWN][0-9]{4}"' "$@" | tr -d '"' | sort -u
}
# Those that are told, not those in comments.
find src -name '*.c' ! -path '*/test/*' -exec sed 's|/\*.*\*/||' {} + >"$WORK/source.c"
codes "$WORK/source.c" >"$WORK/told"
sed -n 's/^| \([EWN][0-9]\{4\}\) |.*/\1/p' doc/diagnostics.md | sort >"$WORK/rows"
sed -n 's/^### //p' doc/errors.md >"$WORK/paragraphs"

ok "there are codes at all" grep -q E0107 "$WORK/told"
is "$(comm -3 "$WORK/told" "$WORK/rows")" "" "the rows of doc/diagnostics.md are the codes of the source"
is "$(comm -3 "$WORK/told" "$WORK/paragraphs" 2>&1)" "" "and so are the paragraphs of doc/errors.md, in order"
is "$(tools/errors c 2>&1 >/dev/null)" "" "nothing is wrong with either"
is "$(sed '1,/^###/d' doc/errors.md | grep -E '^.{81}')" "" "each line fits a terminal"

# --- each is provoked -----------------------------------------------------------------------------

python3 t/diagnostics.py "$MUSTER" t/diagnostics >"$WORK/kept" 2>&1
is "$(sed '$d' "$WORK/kept")" "" "every file provokes its code, where it says, and nothing else"
diag "$(tail -n 1 "$WORK/kept")"
tab=$(printf '\t')
grep -v '^#' t/diagnostics/elsewhere.tsv >"$WORK/elsewhere"
while IFS=$tab read -r code test; do
    ok "$code is provoked by $test" grep -q "$code" "$test"
done <"$WORK/elsewhere"
{
    find t/diagnostics -name '[EWN]*.*' | sed 's|.*/||; s/\..*//'
    cut -f 1 "$WORK/elsewhere"
} | sort >"$WORK/provoked"
is "$(comm -3 "$WORK/told" "$WORK/provoked")" "" "no code is without"

# --- muster help ----------------------------------------------------------------------------------

run_muster help E0107
is "$rc" 0 "help on a code"
is "$(head -n 1 "$out")" "E0107: a value of the wrong type" "begins with its meaning"
is "$(sed 1,2d "$out")" "$(awk '$0 == "### E0107" { on = 1; next } /^### / { on = 0 } on' doc/errors.md)" \
    "and goes on with its paragraph"
cp "$out" "$WORK/E0107"
run_muster help e107
is "$rc $(cat "$out")" "0 $(cat "$WORK/E0107")" "case and leading zeros do not matter"
while read -r code; do
    "$MUSTER" help "$code" | grep -qx "$code: .*" || echo "$code"
done <"$WORK/rows" >"$WORK/mute"
is "$(cat "$WORK/mute")" "" "every code is known"
run_muster help E0108
is "$rc" 2 "a code that is not there is refused"
like "$(cat "$err")" 'unknown diagnostic "E0108"; did you mean E0107' "with the nearest"
run_muster help W0107
like "$(cat "$err")" 'did you mean E0107' "another letter is nearer than another number"
run_muster help E9999
is "$rc" 2 "also one that is far from all"
like "$(cat "$err")" 'unknown diagnostic "E9999"; see muster-errors.7. for a list' "and no other is suggested"
run_muster help E99999999999999999999
is "$rc" 2 "or that is no number"
run_muster --help
cp "$out" "$WORK/all"
run_muster help
is "$rc $(cat "$out")" "0 $(cat "$WORK/all")" "help alone is --help"
run_muster show --help
cp "$out" "$WORK/show"
run_muster help show
is "$rc $(cat "$out")" "0 $(cat "$WORK/show")" "help VERB is VERB --help"
run_muster help shwo
is "$rc" 2 "an unknown verb is refused"
like "$(cat "$err")" 'did you mean "show"' "with the nearest"
run_muster generate mpi-job-simple --help
cp "$out" "$WORK/simple"
run_muster help generate mpi-job-simple
is "$rc $(cat "$out")" "0 $(cat "$WORK/simple")" "also that of a prototype"
run_muster help show list wait
is "$rc" 2 "one at a time"

# --- the page -------------------------------------------------------------------------------------

tools/errors mdoc >"$WORK/muster-errors.7" 2>"$err"
is "$(sed -n 's/^\.It Sy //p' "$WORK/muster-errors.7" | sort)" "$(cat "$WORK/rows")" "the page has every code"
if command -v mandoc >/dev/null; then
    is "$(mandoc -Tlint -W warning "$WORK/muster-errors.7" 2>&1)" "" "mandoc has nothing to say"
    like "$(mandoc -Tascii "$WORK/muster-errors.7")" "^ *.\"command\": \"grep '\\\\d'\".\$" "backslashes arrive"
else
    skip "mandoc is not installed" 2
fi
done_testing
