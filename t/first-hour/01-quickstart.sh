# shellcheck shell=sh
# quickstart says in a few lines what it does; what the tools print is in a log.

"$TOP/tools/quietly" "$WORK/q.log" "counting" seq 1 500 >"$out" 2>"$err"
is "$? $(wc -l <"$out") $(wc -l <"$err")" "0 0 2" "500 lines of output are two lines of progress"
is "$(tail -n 500 "$WORK/q.log" | cksum)" "$(seq 1 500 | cksum)" "the log has all of them"
"$TOP/tools/quietly" "$WORK/q.log" "failing" sh -c 'echo "the reason" >&2; exit 3' >"$out" 2>"$err"
is $? 3 "a failure keeps its exit status"
like "$(cat "$err")" '^the reason$' "its last lines are shown"
like "$(cat "$err")" "^failing failed with exit status 3; the whole output is in $WORK/q.log" "and where the rest is"
is "$("$TOP/tools/deps" --list build | head -n 1)" gcc "tools/deps knows what a build needs"
