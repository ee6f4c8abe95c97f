#!/bin/sh
# shellcheck disable=SC2016,SC2217 # scripts for inner shells; a pipe that is held and not read
# stdout or stderr that nobody reads: a pipe, a terminal, a stopped pager. The report comes first, then what is
# left to show is given up: by itself after a while, by a signal at once.
. "${0%/*}/lib.sh"

# More than a pipe and a terminal hold, and than what waits in muster.
cat >"$WORK/much.py" <<'PYTHON'
import sys
to = sys.stderr if len(sys.argv) > 1 else sys.stdout
for i in range(40000):
    to.write("line %d %s\n" % (i, "x" * 60))
PYTHON

logs_are_whole() # NAME
{
    is "$(cat "$XDG_STATE_HOME/muster/runs/$(run_id)"/logs/*.log | wc -l)" 40000 "$1: the log is complete"
}

# `sleep` has the other end and never reads; $1 is the redirection of muster's streams to that pipe.
unread() # REDIRECTION ARG…
{
    mkfifo "$WORK/pipe"
    sleep 300 <"$WORK/pipe" &
    sleeper=$!
    rm -f "$REPORT"
    redirect=$1
    shift
    # shellcheck disable=SC2016 # the inner shell's
    env --default-signal=INT sh -c 'exec "$@" '"$redirect" sh "$MUSTER" run --report "$REPORT" -n 1 -- python3 "$WORK/much.py" "$@" \
        >"$WORK/pipe" 2>"$err" </dev/null &
    pid=$!
}

unread_over()
{
    kill $sleeper
    wait $sleeper 2>/dev/null
    rm -f "$WORK/pipe"
}

unread ''
wait_until 60 test -s "$REPORT"
is "$(report outcome)" succeeded "an unread stdout: the report does not wait"
ends
is "$rc" 0 "an unread stdout: muster ends by itself"
like "$(cat "$err")" "note: output was not shown completely because nothing read stdout" "an unread stdout: it says so"
like "$(cat "$err")" "succeeded" "an unread stdout: the verdict is told"
logs_are_whole "an unread stdout"
unread_over

unread ''
wait_until 60 test -s "$REPORT"
kill -INT $pid
ends 8
is "$rc" 0 "an unread stdout, a signal: muster ends at once"
logs_are_whole "an unread stdout, a signal"
unread_over

unread '2>&1'
wait_until 60 test -s "$REPORT"
ends
is "$rc" 0 "both unread: muster ends by itself"
logs_are_whole "both unread"
unread_over

unread '2>&1 >/dev/null' err
wait_until 60 test -s "$REPORT"
ends
is "$rc" 0 "an unread stderr: muster ends by itself"
logs_are_whole "an unread stderr"
unread_over

cat >"$WORK/terminal.py" <<'PYTHON'
# A terminal whose other side is never read: sizes of 24 x 80, muster's stdin, stdout and stderr. Prints its status.
import fcntl, os, pty, signal, struct, sys, termios, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
report, signals = sys.argv[1].split(",")
deadline = time.monotonic() + 90
for _ in range(int(signals)):
    while not os.path.exists(report) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(pid, signal.SIGINT)
while time.monotonic() < deadline:
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        print(os.waitstatus_to_exitcode(status))
        sys.exit()
    time.sleep(0.05)
os.kill(pid, signal.SIGKILL)
print("hangs")
PYTHON
for signals in 0 1; do
    rm -f "$REPORT"
    is "$(python3 "$WORK/terminal.py" "$REPORT,$signals" "$MUSTER" run --report "$REPORT" -n 1 -- python3 "$WORK/much.py")" 0 \
        "an unread terminal, $signals signals: muster ends"
    is "$(report outcome)" succeeded "an unread terminal, $signals signals: the report is written"
    logs_are_whole "an unread terminal, $signals signals"
done

# while the job still runs: signals are heard, notes do not block
rm -f "$REPORT" "$WORK/up"
mkfifo "$WORK/pipe"
sleep 300 <"$WORK/pipe" &
sleeper=$!
# shellcheck disable=SC2016
env --default-signal=INT "$MUSTER" run --report "$REPORT" --grace 60s -n 1 -- \
    sh -c 'trap "" TERM; python3 "$0/much.py" err; : >"$0/up"; while :; do sleep 1; done' "$WORK" >"$WORK/pipe" 2>&1 </dev/null &
pid=$!
job_is_up
kill -STOP "$(shim_of $pid)"
kill -INT $pid
wait_until 20 grep -q '"event":"stop"' "$XDG_STATE_HOME/muster/runs/$id/journal.jsonl"
kill -INT $pid
wait_until 60 test -s "$REPORT"
ends
is "$rc" 130 "a running job, nothing read: two signals end it"
is "$(survivors "$id")" "" "a running job, nothing read: nothing is left"
kill $sleeper
wait $sleeper 2>/dev/null
rm "$WORK/pipe"

# a reader that was stopped and goes on gets everything
rm -f "$REPORT"
mkfifo "$WORK/pipe"
cat "$WORK/pipe" >"$WORK/got" &
reader=$!
kill -STOP $reader
"$MUSTER" run --report "$REPORT" -n 1 -- python3 "$WORK/much.py" >"$WORK/pipe" 2>"$err" </dev/null &
pid=$!
wait_until 60 test -s "$REPORT"
kill -CONT $reader
ends
wait $reader
is "$rc:$(wc -l <"$WORK/got")" 0:40000 "a reader that goes on gets all of it"
rm "$WORK/pipe"

# a report into a pipe that nobody opens for reading
mkfifo "$WORK/report.fifo"
"$MUSTER" run --report "$WORK/report.fifo" -n 1 -- true >"$out" 2>"$err" </dev/null &
pid=$!
ends
is "$rc" 125 "a report that nobody reads: muster ends"
like "$(cat "$err")" "the report could not be written: .*: nothing reads this pipe" "a report that nobody reads: and says so"
done_testing
