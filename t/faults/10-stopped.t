#!/bin/sh
# shellcheck disable=SC2016,SC2217 # scripts for inner shells; a pipe that is held and not read
# Stopped processes: the shim, a rank wrapper, an agent, muster itself. SIGKILL works on all of them, and a
# job that has been stopped by a signal twice ends whoever is stopped.
. "${0%/*}/lib.sh"

# As a person types it: a second signal while the first is still being dealt with.
interrupt_twice()
{
    kill -INT "$pid"
    wait_until 20 grep -q '"event":"stop"' "$XDG_STATE_HOME/muster/runs/$id/journal.jsonl"
    kill -INT "$pid"
}

stop()
{
    kill -STOP "$1"
    wait_until 20 is_stopped "$1"
}

is_ended() # NAME
{
    is "$rc" 130 "$1: exit status" || diag "$(cat "$err")"
    is "$(report outcome)" cancelled "$1: the report is written"
    like "$(report verdict)" "cancelled by SIGINT.*; the supervisor \(muster-shim\) did not respond and was killed" "$1: and says why"
    is "$(survivors "$id")" "" "$1: nothing is left"
    is "$(find "$XDG_RUNTIME_DIR" -name "*$id*")" "" "$1: nor any file"
}

for level in names network none; do
    start_job --isolate $level --grace 60s -n 2 -- sh -c 'trap "" TERM INT; : >"$0/up"; (setsid sleep 300 &) ; while :; do sleep 1; done' "$WORK"
    if ! wait_until 60 test -e "$WORK/up"; then
        ends
        skip "level $level: $(cat "$err")" 5
        continue
    fi
    job_is_up
    stop "$(shim_of $pid)"
    interrupt_twice
    ends
    is_ended "a stopped shim, $level"

    # the grace period passes by itself
    start_job --isolate $level --grace 200ms -n 2 -- sh -c 'trap "" TERM INT; : >"$0/up"; while :; do sleep 1; done' "$WORK"
    job_is_up
    stop "$(shim_of $pid)"
    kill -INT $pid
    ends
    is_ended "a stopped shim, $level, one signal"

    # it stops when everything has ended
    start_job --isolate $level -n 1 -- sh -c ': >"$0/up"; until [ -e "$0/go" ]; do sleep 0.05; done; exit 4' "$WORK"
    job_is_up
    shim=$(shim_of $pid)
    cat >"$WORK/stop_at_end" <<'SH'
while ! grep -qs '"event":"ended"' "$1"; do sleep 0.01; done
kill -STOP "$2"
SH
    sh "$WORK/stop_at_end" "$XDG_STATE_HOME/muster/runs/$id/journal.jsonl" "$shim" 2>/dev/null &
    stopper=$!
    : >"$WORK/go"
    ends
    kill $stopper 2>/dev/null
    wait $stopper 2>/dev/null
    is "$rc" 4 "a shim stopped at the end, $level: the job's own status"
    is "$(report outcome)" failed "a shim stopped at the end, $level: the report is written"
    rm -f "$WORK/go"
    is "$(survivors "$id")" "" "a shim stopped at the end, $level: nothing is left"
done

# at `none` a job can do it to its own parent
start_job --isolate none --grace 60s -n 1 -- sh -c 'trap "" TERM INT; kill -STOP $PPID; : >"$0/up"; while :; do sleep 1; done' "$WORK"
job_is_up
wait_until 20 is_stopped "$(shim_of $pid)"
interrupt_twice
ends
is_ended "a job that stops its shim"

# it is told at once, and by list and show; and that it goes on
start_job -n 1 -- sh -c ': >"$0/up"; until [ -e "$0/go" ]; do sleep 0.05; done' "$WORK"
job_is_up
shim=$(shim_of $pid)
stop "$shim"
ok "a stopped shim: the run says so" wait_until 20 grep -q "the supervisor (muster-shim, pid $shim) is stopped" "$err"
like "$("$MUSTER" list -r)" 'running \(supervisor stopped\)' "a stopped shim: list"
timeout -k 5 20 "$MUSTER" exec worker-0 -- true >"$WORK/exec" 2>&1 </dev/null
is "$?" 1 "a stopped shim: exec does not wait for it"
like "$(cat "$WORK/exec")" 'the supervisor \(muster-shim, pid [0-9]+\) is stopped; continue it with `kill -CONT [0-9]+`' "a stopped shim: exec says so"
like "$("$MUSTER" list -r -o json | tr -d "\n")" '"state": "running", +"remark": "supervisor stopped", +"running": true' "a stopped shim: list -o json has a plain state"
like "$("$MUSTER" show)" 'running: .*; the supervisor \(muster-shim\) is stopped$' "a stopped shim: show"
kill -CONT "$shim"
ok "a shim that goes on: the run says so" wait_until 20 grep -q "the supervisor (muster-shim, pid $shim) runs again" "$err"
unlike "$("$MUSTER" list -r)" 'supervisor' "a shim that goes on: list"
: >"$WORK/go"
ends
is "$rc:$(grep -c 'the supervisor' "$err")" 0:2 "a shim that went on: each is said once"
rm -f "$WORK/go"

# muster is killed: the shim that is stopped goes on, and ends the job
for level in names none; do
    start_job --isolate $level -n 1 -- sh -c ': >"$0/up"; sleep 300' "$WORK"
    job_is_up
    shim=$(shim_of $pid)
    stop "$shim"
    kill -KILL $pid
    wait $pid 2>/dev/null
    ok "muster killed, its shim stopped, $level: the shim ends" wait_until 30 has_ended "$shim"
    is "$(survivors "$id")" "" "muster killed, its shim stopped, $level: nothing is left"
done

# stopped while it starts, by a shim that stops itself
mkdir -p "$WORK/bin"
cp "$MUSTER" "$WORK/bin/muster"
cat >"$WORK/bin/muster-shim" <<'SH'
#!/bin/sh
[ "$1" != supervise ] || { : >"${0%/bin/*}/up"; kill -STOP $$; }
exec "$REAL_SHIM" "$@"
SH
chmod +x "$WORK/bin/muster-shim"
export REAL_SHIM="${MUSTER%/*}/muster-shim"
plain=$MUSTER MUSTER=$WORK/bin/muster
start_job --isolate none -n 1 -- true
wait_until 60 test -e "$WORK/up"
shim=$(cat "/proc/$pid/task/$pid/children")
wait_until 20 is_stopped "${shim% }"
kill -INT $pid
ends
is "$rc" 125 "a shim stopped at its start: exit status"
like "$(cat "$err")" "could not be started: muster-shim \(pid [0-9]+\) is stopped" "a shim stopped at its start: and why"
ok "a shim stopped at its start: it is gone" has_ended "${shim% }"
MUSTER=$plain

# a job whose first act is against its own supervisor has begun
start_job --isolate none -n 2 -- sh -c '[ $RANK = 0 ] || kill -KILL $PPID; sleep 60'
ends
is "$rc $(report cause.kind)" "125 lost" "a shim killed by the first process: it is lost" || diag "$(cat "$err")"
like "$(report verdict)" "supervisor .muster-shim. was killed" "a shim killed by the first process: and said to be"

# a muster that is stopped misses nothing
start_job -n 1 -- sh -c ': >"$0/up"; until [ -e "$0/go" ]; do sleep 0.05; done; echo after; exit 5' "$WORK"
job_is_up
stop $pid
: >"$WORK/go"
sleep 1
kill -CONT $pid
ends
is "$rc:$(cat "$out")" "5:[worker-0/0] after" "a stopped muster goes on"
rm -f "$WORK/go"

# a rank wrapper and what runs below it
if have_mpi openmpi; then
    cat >"$WORK/mpi.sh" <<'SH'
trap '' TERM
: >"$1/up"
while :; do sleep 1; done
SH
    start_job --mpi -n 2 -- sh "$WORK/mpi.sh" "$WORK"
    job_is_up
    stopped=0
    for wrapper in $(survivors "$id" | sed -n 's,^\([0-9]*\) [^ ]*/bin/muster-rank .*,\1,p'); do
        if kill -STOP "$wrapper"; then stopped=$((stopped + 1)); fi
    done
    ok "stopped rank wrappers: there are some" test "$stopped" -gt 0 || diag "run $id: $(survivors "$id")"
    interrupt_twice
    ends
    is "$rc" 130 "stopped rank wrappers: exit status" || diag "$(cat "$err")"
    is "$(survivors "$id")" "" "stopped rank wrappers: nothing is left"
else
    skip "no Open MPI here" 3
fi
done_testing
