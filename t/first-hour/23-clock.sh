# shellcheck shell=sh disable=SC2016,SC2154
# The clock is set back by an hour while a job is being stopped: the grace period still ends. t/faults/12-clock.t has more.

if [ -x "$MUSTER_FAULTY" ]; then
    rm -f "$WORK/up" "$REPORT"
    echo 0 >"$WORK/shift"
    MUSTER_FAULT="clock:$WORK/shift" env --default-signal=INT "$MUSTER_FAULTY" run --report "$REPORT" --grace 1s -n 1 -- \
        sh -c 'trap "" TERM; : >"$0/up"; while :; do sleep 1; done' "$WORK" >"$out" 2>"$err" &
    pid=$!
    wait_until 20 test -e "$WORK/up"
    kill -INT $pid
    echo -3600 >"$WORK/shift"
    wait_until 60 test -s "$REPORT"
    is "$(report outcome)" cancelled "clock: a step back does not prolong the grace period"
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
else
    skip "no muster with fault points"
fi
rm -f "$WORK/up" "$WORK/shift"
