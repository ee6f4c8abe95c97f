# shellcheck shell=sh disable=SC2016,SC2154,SC2217
# Output that nobody reads does not keep muster alive, and the report comes first. t/faults/11-unread.t has more.

rm -f "$REPORT"
mkfifo "$WORK/unread"
sleep 300 <"$WORK/unread" &
sleeper=$!
env --default-signal=INT "$MUSTER" run --report "$REPORT" -n 1 -- seq 300000 >"$WORK/unread" 2>"$err" </dev/null &
pid=$!
ok "unread: the report does not wait" wait_until 60 test -s "$REPORT"
kill -INT $pid
wait $pid
is $? 0 "unread: a signal then ends muster, with the job's status"
like "$(cat "$err")" "output was not shown completely" "unread: it says so"
is "$(cat "$XDG_STATE_HOME/muster/runs/$(run_id)"/logs/*.log | wc -l)" 300000 "unread: the log is complete"
kill $sleeper
wait $sleeper 2>/dev/null
rm "$WORK/unread"
