# shellcheck shell=sh
# A signal that was ignored when muster began stays ignored, as under nohup.

sh -c "trap '' HUP; exec \"\$0\" run --report \"\$1\" -n 1 -- sh -c 'touch \"\$1\"; sleep 1; echo done' sh \"\$2\"" \
    "$MUSTER" "$REPORT" "$WORK/hup.started" >"$out" 2>"$err" &
pid=$!
wait_until 10 test -e "$WORK/hup.started"
kill -HUP $pid
wait $pid
is $? 0 "nohup: SIGHUP does not end the run"
is "$(cat "$out")" "[worker-0/0] done" "nohup: the job runs to its end"
