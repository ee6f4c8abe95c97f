#!/bin/sh
# A corpus of real job files: verdicts, roles, slots and the places of errors are those its tables say.
#
# MUSTER_CORPUS is its directory. A row that its table calls debatable, or a fragment, only must not crash.
# Dialects that are not in this build are counted and skipped.
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

cut -f2 "$WORK/rows" | sort -u >"$WORK/dialects"
while read -r dialect; do
    count() { grep -c "^$1$tab$dialect$tab" "$WORK/rows"; }
    late=$(count notyet) fine=$(count fine) wrong=$(count wrong)
    if [ "$late" -gt 0 ]; then
        skip "$dialect: not in this build, $late rows"
    else
        diag "$dialect: $fine of $((fine + wrong)) rows are as the tables say, $(count loose) do not gate"
    fi
done <"$WORK/dialects"
done_testing
