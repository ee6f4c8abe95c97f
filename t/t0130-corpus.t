#!/bin/sh
# A corpus of real job files: verdicts, roles, slots and the places of errors are those its tables say.
#
# MUSTER_CORPUS is its directory. Every row is compared; one that its table calls debatable, or a fragment, only
# must not crash. How many these are is told, and bounded.
. "${0%/*}/lib.sh"

[ -n "${MUSTER_CORPUS:-}" ] || skip_all "MUSTER_CORPUS is not set"
[ -e "$MUSTER_CORPUS/expect.tsv" ] || skip_all "there is no expect.tsv in $MUSTER_CORPUS"

ok "the corpus is read" python3 "$TOP/t/corpus.py" "$MUSTER" "$MUSTER_CORPUS"
cp "$WORK/ok" "$WORK/rows"
tab=$(printf '\t')
while IFS=$tab read -r what dialect file why; do
    case $what in
    fine | wrong) is "$what${why:+: $why}" fine "$dialect: $file" ;;
    loose) [ -z "$why" ] || diag "does not gate: $file: $why" ;;
    esac
done <"$WORK/rows"

count() # RESULT [DIALECT]
{
    awk -F "$tab" -v what="$1" -v dialect="${2:-}" '$1 == what && (!dialect || $2 == dialect) { n++ } END { print n + 0 }' "$WORK/rows"
}

cut -f2 "$WORK/rows" | sort -u >"$WORK/dialects"
while read -r dialect; do
    fine=$(count fine "$dialect") wrong=$(count wrong "$dialect")
    diag "$dialect: $fine of $((fine + wrong)) rows are as the tables say, $(count loose "$dialect") do not gate"
done <"$WORK/dialects"

all=$(wc -l <"$WORK/rows") loose=$(count loose)
diag "$loose of $all rows do not gate"
ok "every row of both tables is there" test "$all" -eq \
    "$(tail -q -n +2 "$MUSTER_CORPUS/expect.tsv" "$MUSTER_CORPUS/crafted/expect.tsv" | grep -c .)"
ok "one row in eight at most does not gate" test $((loose * 8)) -le "$all"
done_testing
