# shellcheck shell=sh disable=SC2016,SC2154
# A shim that is stopped does not keep a job alive: the second signal ends it all. t/faults/10-stopped.t has more.

rm -f "$WORK/up"
env --default-signal=INT "$MUSTER" run --report "$REPORT" --grace 60s -n 1 -- \
    sh -c 'trap "" TERM; : >"$0/up"; while :; do sleep 1; done' "$WORK" >"$out" 2>"$err" &
pid=$!
wait_until 20 test -e "$WORK/up"
id=$(our_runs -r)
read -r shim _ <"/proc/$pid/task/$pid/children"
kill -STOP "$shim"
kill -INT $pid
wait_until 20 grep -q '"event":"stop"' "$XDG_STATE_HOME/muster/runs/$id/journal.jsonl"
kill -INT $pid
wait $pid
is $? 130 "stopped shim: the second signal ends the job"
like "$(report verdict)" "cancelled by SIGINT.*the supervisor \(muster-shim\) did not respond" "stopped shim: the report says so"
is "$(survivors "$id")" "" "stopped shim: nothing is left"
rm -f "$WORK/up"
