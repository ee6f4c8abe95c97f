#!/bin/sh
# shellcheck disable=SC2016 # scripts for inner shells
# A process that dies while somebody traces it (a debugger, strace, the leak checker of a sanitizer) cannot be waited
# for until the tracer lets go. The shim must neither spin for it nor be deaf meanwhile.
. "${0%/*}/lib.sh"

# Rank 0 seizes rank 1, which then exits, and neither waits for it nor lets go.
cat >"$WORK/trace.py" <<'PY'
import ctypes, os, sys, time

def until(condition):
    while not condition():
        time.sleep(0.02)

def state(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]

work, rank = sys.argv[1], os.environ["RANK"]
if rank == "1":
    with open(work + "/pid.new", "w") as f:
        f.write(str(os.getpid()))
    os.rename(work + "/pid.new", work + "/pid")
    until(lambda: os.path.exists(work + "/traced"))
    os._exit(3)
until(lambda: os.path.exists(work + "/pid"))
pid = int(open(work + "/pid").read())
PTRACE_SEIZE = 0x4206
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
if libc.ptrace(PTRACE_SEIZE, pid, None, None) != 0:
    open(work + "/refused", "w").close()
    sys.exit(4)
open(work + "/traced", "w").close()
until(lambda: state(pid) == "Z")
open(work + "/up", "w").close()
if len(sys.argv) > 2: # lets go when it is told to
    until(lambda: os.path.exists(work + "/go"))
    sys.exit(0)
time.sleep(300)
PY

nothing_left()
{
    [ -z "$(survivors "$id")" ]
}

traced() # LEVEL ARG…
{
    level=$1
    shift
    rm -f "$WORK/pid" "$WORK/traced" "$WORK/go" "$WORK/refused"
    start_job --isolate "$level" --grace 2s -n 2 -- python3 "$WORK/trace.py" "$WORK" "$@"
    if ! wait_until 60 test -e "$WORK/up" -o -e "$WORK/refused" || [ -e "$WORK/refused" ]; then
        kill -INT $pid 2>/dev/null
        ends
        return 1
    fi
    job_is_up
}

for level in names none; do
    if ! traced $level; then
        skip "level $level: nobody may be traced here: $(cat "$err")" 6
        continue
    fi
    # the shim is asked, and answers
    timeout -k 5 30 "$MUSTER" exec "$id" worker-0 -- sh -c 'echo in' >"$WORK/in" 2>&1
    is "$? $(cat "$WORK/in")" "0 in" "a traced process has died, $level: the shim still serves"
    kill -TERM $pid
    ends
    is "$rc" 143 "a traced process has died, $level: one signal ends the job" || diag "$(cat "$err")"
    unlike "$(report verdict)" "did not respond" "a traced process has died, $level: with the shim's help"
    is "$(survivors "$id")" "" "a traced process has died, $level: nothing is left"

    # an orphaned shim ends the job
    traced "$level"
    kill -KILL $pid
    wait $pid 2>/dev/null
    wait_until 30 nothing_left
    is "$(survivors "$id")" "" "a traced process has died, $level: an orphaned shim ends"

    # its status is what it was, however late
    traced "$level" lets-go
    : >"$WORK/go"
    ends
    is "$rc $(report cause.rank) $(report cause.exit_code)" "3 1 3" "a traced process has died, $level: its status comes when the tracer lets go"
done
done_testing
