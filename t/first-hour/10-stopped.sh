# shellcheck shell=sh disable=SC2016,SC2034,SC2154
# A run whose muster is stopped (Ctrl-Z): nothing that asks it hangs, and everybody says what to do.

limit=$LIMIT LIMIT=20
rm -f "$WORK/go"
"$MUSTER" run --report "$REPORT" -n 1 -- sh -c 'touch "$0/up"; until [ -e "$0/go" ]; do sleep 0.05; done' "$WORK" >"$WORK/run.out" 2>&1 &
pid=$!
wait_until 20 test -e "$WORK/up"
id=$(our_runs -r)
kill -STOP $pid
is_stopped() { grep -q '^State:.T' "/proc/$pid/status"; }
wait_until 20 is_stopped

run_muster list
is "$rc" 0 "stopped: list does not hang"
like "$(cat "$out")" "^$id +sh .* stopped " "stopped: list says so, with the name of the job"
run_muster list -o json
has_shape list "$out" "stopped: also as JSON"
run_muster show
like "$rc:$(cat "$out")" "^0:sh \\($id, muster-v1\\): stopped: .*kill -CONT $pid" "stopped: show says what to do"
like "$(cat "$out")" "^  started as: muster run " "stopped: and what is known"
run_muster show -o json
like "$rc:$(cat "$err")" "^1:.*\\(pid $pid\\) is stopped; .*kill -CONT $pid" "stopped: there is no report"
for verb in cancel pause resume "exec worker-0 -- true"; do
    # shellcheck disable=SC2086 # words
    run_muster $verb
    like "$rc:$(cat "$err")" "^1:.*is stopped; continue it with .kill -CONT $pid" "stopped: $verb"
done
run_muster events
is "$rc" 0 "stopped: events does not need it"
run_muster delete "$id"
like "$rc:$(cat "$err")" "^1:.*is still running" "stopped: it is not deleted"
"$MUSTER" wait >"$WORK/wait.out" 2>"$WORK/wait.err" &
wait_pid=$!
ok "stopped: wait says why it takes long" wait_until 20 grep -q "is stopped; continue it with .kill -CONT $pid" "$WORK/wait.err"
kill -CONT $pid
run_muster show
like "$(cat "$out")" ": running: 1 of 1" "stopped: when it goes on, it answers"
: >"$WORK/go"
wait $wait_pid
is $? 0 "stopped: and wait has its code"
wait $pid

# a pipe, a directory and rubbish where files of a run should be
dir=$XDG_STATE_HOME/muster/runs/20200101-000000-trap
mkdir -p "$dir/logs" "$dir/command.json"
mkfifo "$dir/report.json" "$dir/journal.jsonl"
run_muster list --all
like "$rc:$(tr '\n' ' ' <"$out")" "^0:.*20200101-000000-trap +- +- +unreadable " "traps: a pipe does not stop list"
run_muster show 20200101-000000-trap
is "$rc" 0 "traps: nor show"
mkfifo "$dir/logs/worker-0.log"
run_muster logs 20200101-000000-trap
is "$rc" 0 "traps: nor logs"
rm "$dir/report.json"
printf '{"job":{"name":"a\\u001b[31mb\\u0007","dialect":"\\u001b]0;x"},"outcome":"\\u001b[2J","exit_code":0,"verdict":"\\u001bc"}' >"$dir/report.json"
esc=$(printf '\033')
for verb in "list --all" "show 20200101-000000-trap"; do
    # shellcheck disable=SC2086 # words
    run_muster $verb
    unlike "$(cat "$out")" "$esc" "traps: $verb: control characters are escaped"
    like "$(cat "$out")" 'a\\x1b\[31mb' "traps: $verb: and shown"
done
rm -r "$dir"
LIMIT=$limit # of the other parts
