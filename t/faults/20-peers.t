#!/bin/sh
# shellcheck disable=SC2016,SC2217 # scripts for inner shells; a pipe that is held and not read
# Hostile peers on both sockets of a run: the agents' (a packet each) and the control socket (a stream). They are
# the job's own processes, of the same user: nothing they send may end the run, fill its descriptors or keep others out.
. "${0%/*}/lib.sh"

cat >"$WORK/hostile.py" <<'PYTHON'
import array, os, random, socket, struct, sys, time

scratch = sys.argv[1]
random.seed(int(sys.argv[2]))
null = os.open("/dev/null", os.O_RDONLY)
AGENT_RUN, RANK_HELLO, RANK_RUNS, RANK_EXIT, OUTPUT_ASK, UNLOGGED = 128, 132, 134, 135, 137, 139


def fds(n):
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null] * n))] if n else []


def frame(kind, body):
    return struct.pack("=IHH", len(body), kind, 0) + body


def agent():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(10)
    s.connect(scratch + "/agent.sock")
    return s


def attempt(make, packets):
    s = make()
    try:
        for data, n in packets:
            s.sendmsg([data], fds(n))
        time.sleep(0.001)
    except OSError:
        pass
    s.close()


hello = struct.pack("=III", 0, 1, 0) + b"evil\0"
packets = [
    [(b"", 3)], [(b"", 0)], [(b"x", 4)], [(b"\xff" * 100, 3)], [(b"\0" * 200000, 2)],
    [(frame(AGENT_RUN, b"nowhere\0true\0" + b"\0" * 5), 4)],
    [(frame(AGENT_RUN, b"nowhere\0true\0" + b"\0" * 5), 253)],
    [(frame(AGENT_RUN, b"worker-0\0true\0" + b"\0" * 5), 0)],
    [(frame(AGENT_RUN, b"unterminated"), 3)],
    [(frame(RANK_HELLO, struct.pack("=III", 0xffffffff, 0xffffffff, 0) + b"id\0"), 0)],
    [(frame(RANK_HELLO, hello), 0), (frame(RANK_RUNS, struct.pack("=I", 0xffffffff)), 1)],
    [(frame(RANK_HELLO, hello), 0), (frame(RANK_RUNS, struct.pack("=I", 0)), 1)],
    [(frame(RANK_HELLO, hello), 0), (frame(RANK_RUNS, struct.pack("=I", 1)), 3)],
    [(frame(RANK_EXIT, struct.pack("=Iqq", 0, 0, 0)), 0)],
    [(frame(OUTPUT_ASK, struct.pack("=q", -1)), 0)],
    [(frame(UNLOGGED, b"\0" * 20), 1)],
    [(frame(9999, b""), 3)],
]
for _ in range(int(sys.argv[3])):
    for p in packets:
        attempt(agent, p)
    attempt(agent, [(random.randbytes(random.randrange(1, 300)), random.randrange(0, 6))])
silent = [agent() for _ in range(200)]  # connect and say nothing


def control():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(10)
    s.connect(scratch + "/control.sock")
    return s


def request(text):
    return struct.pack("=II", len(text), 0) + text


for _ in range(int(sys.argv[3])):
    for data, n in [(b"x", 3), (b"\xff" * 8, 3), (request(b"{"), 4), (request(b"{}"), 253), (request(b"\0" * 1000), 1),
                    (struct.pack("=II", 1 << 30, 1), 0), (request(b"[" * 5000), 0),
                    (request(b'{"version":1,"request":"exec","replica":"worker-0","command":"true"}'), 2),
                    (request(b'{"version":1,"request":"signal","signal":4711}'), 0),
                    (random.randbytes(random.randrange(1, 300)), random.randrange(0, 6))]:
        attempt(control, [(data, n)])
slow = [control() for _ in range(80)]  # more than there is room for
for s in slow:
    try:
        s.send(b"\x10")
    except OSError:
        pass
deaf = control()  # asks, and does not read
deaf.send(request(b'{"version":1,"request":"show"}'))
open(sys.argv[4], "w").close()
while not os.path.exists(sys.argv[5]):
    time.sleep(0.05)
PYTHON

n_fds()
{
    # shellcheck disable=SC2012 # numbers
    ls "/proc/$1/fd" | wc -l
}

for level in names none; do
    rm -f "$WORK/go" "$WORK/started" "$WORK/go0"
    # shellcheck disable=SC2016 # the inner shell's
    start_job --isolate $level -n 1 -- sh -c ': >"$0/started"; until [ -e "$0/go0" ]; do sleep 0.05; done; python3 "$0/hostile.py" "$MUSTER_RUN_DIR/scratch" 7 20 "$0/up" "$0/go"; echo good' "$WORK"
    wait_until 60 test -e "$WORK/started"
    shim=$(shim_of $pid)
    : >"$WORK/go0"
    job_is_up
    run_muster show
    like "$rc:$(cat "$out")" "^0:.*running" "$level: the run still answers" || diag "$(cat "$err")"
    run_muster exec worker-0 -- echo inside
    is "$rc:$(cat "$out")" 0:inside "$level: and takes commands" || diag "$(cat "$err")"
    : >"$WORK/go"
    ends
    is "$rc:$(cat "$out")" "0:[worker-0/0] good" "$level: the job ends as if nothing had been" || diag "$(cat "$err")"
    is "$(report outcome)" succeeded "$level: and succeeds"
    rm -f "$WORK/go" "$WORK/started" "$WORK/go0"

    # the same, and all of it closed again: nothing is left open
    # shellcheck disable=SC2016
    start_job --isolate $level -n 1 -- sh -c ': >"$0/started"; until [ -e "$0/go0" ]; do sleep 0.05; done; : >"$0/go"; python3 "$0/hostile.py" "$MUSTER_RUN_DIR/scratch" 8 20 "$0/peers" "$0/go"; : >"$0/up"; while [ -e "$0/go" ]; do sleep 0.05; done' "$WORK"
    wait_until 60 test -e "$WORK/started"
    shim=$(shim_of $pid)
    before=$(n_fds "$shim") muster_before=$(n_fds $pid)
    : >"$WORK/go0"
    job_is_up
    back_to() { [ "$(n_fds "$1")" -le "$2" ]; }
    ok "$level: the shim has no descriptor more than before" wait_until 20 back_to "$shim" $((before + 1))
    ok "$level: nor has muster" wait_until 20 back_to $pid $((muster_before + 2))
    rm -f "$WORK/go"
    ends
    is "$rc" 0 "$level: it ends"
    no_fault "$level"
done

# another user
if can_be_user; then
    start_job -n 1 -- sh -c ': >"$0/up"; until [ -e "$0/go" ]; do sleep 0.05; done' "$WORK"
    job_is_up
    chmod 755 "$WORK" "$XDG_RUNTIME_DIR" # were it so
    cat >"$WORK/other.py" <<'PYTHON'
import socket, sys
for name, kind in (("agent.sock", socket.SOCK_SEQPACKET), ("control.sock", socket.SOCK_STREAM)):
    s = socket.socket(socket.AF_UNIX, kind)
    try:
        s.connect(sys.argv[1] + "/" + name)
        s.send(b"x" * 8)
        print(name, "connected", s.recv(100))
    except OSError as e:
        print(name, type(e).__name__)
PYTHON
    cp "$WORK/other.py" /tmp/"${WORK##*/}-other.py"
    is "$(setpriv --reuid="$USER_ID" --clear-groups /usr/bin/python3 /tmp/"${WORK##*/}-other.py" "$XDG_RUNTIME_DIR/muster/$id" | tr '\n' ' ')" \
        "agent.sock PermissionError control.sock PermissionError " "another user: neither socket is in reach"
    rm -f /tmp/"${WORK##*/}-other.py"
    : >"$WORK/go"
    ends
    is "$rc" 0 "another user: the job ends"
    rm -f "$WORK/go"
else
    skip "needs root and user namespaces" 2
fi
done_testing
