#!/bin/sh
# The daemon with a disk that becomes full, a damaged database, many connections, and clients that do not read.
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1
export MUSTER_HOME="$WORK/h"
cat >ready.py <<'PY'
import socket, sys
socket.socket(socket.AF_UNIX).connect(sys.argv[1])
PY

# --- connections
cat >connect.py <<'PY'
import json, resource, socket, struct, subprocess, sys
muster, path = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
silent = []
for i in range(1000):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    silent.append(s)
def send(s, text):
    s.sendall(struct.pack("II", len(text), 0) + text)
for s in silent[:100]:  # asks, and never reads
    send(s, b'{"version":1,"request":"list"}')
for s in silent[100:200]:  # announces more than it sends
    s.sendall(struct.pack("II", 1 << 20, 0) + b"x" * 1000)
for s, text in zip(silent[200:300], [b"", b"{", b"[]", b"null", b'{"version":2}', b'{"version":1}', b"\xff\xfe",
                                     b'{"version":1,"request":"submit"}', b'{"version":1,"request":"wait"}'] * 11):
    send(s, text)
silent[300].sendall(struct.pack("II", 0xffffffff, 0xffffffff))
r = subprocess.run([muster, "submit", "--no-autostart", "-n", "1", "--", "sh", "-c", "exit 4"], capture_output=True, text=True)
print(r.returncode, r.stderr)
r = subprocess.run([muster, "wait", r.stdout.strip()], timeout=60)
print("wait", r.returncode)
PY
"$MUSTER" serve 2>serve.log &
daemon=$!
ok "the daemon is ready" wait_until 20 python3 ready.py "$MUSTER_HOME/run/daemon/control.sock"
python3 connect.py "$MUSTER" "$MUSTER_HOME/run/daemon/control.sock" >connected 2>&1
like "$(cat connected)" '^0 ' "with 1,000 connections it takes a job"
like "$(cat connected)" '^wait 4' "and runs it"
rss=$(awk '/VmRSS/ { print $2 }' "/proc/$daemon/status")
most=65536
[ -z "${MUSTER_SAN:-}" ] || most=1000000
ok "its memory is bounded ($rss KiB)" test "$rss" -lt $most
wait_until 10 sh -c "[ \$(ls /proc/$daemon/fd | wc -l) -lt 40 ]"
ok "connections that end are closed" test "$(find "/proc/$daemon/fd" | wc -l)" -lt 40
kill "$daemon"
wait "$daemon"
is "$?" 0 "it ends"

# --- a damaged database
printf 'no database' | dd of="$MUSTER_HOME/daemon/jobs.db" conv=notrunc 2>/dev/null
run_muster serve
is "$rc" 1 "a damaged database is refused"
like "$(cat "$err")" 'jobs.db.* (is damaged|not a database)' "by name"

# --- a disk that becomes full
if ! can_mount; then
    skip "no file system can be mounted here" 6
    done_testing
    exit
fi
cat >session <<'SH'
mount -t tmpfs -o size=4m,mode=700 none "$WORK/disk" || exit 99
mkdir -m 700 "$WORK/disk/h"
export MUSTER_HOME="$WORK/disk/h"
"$MUSTER" serve 2>"$WORK/full.log" &
daemon=$!
until python3 ready.py "$MUSTER_HOME/run/daemon/control.sock" 2>/dev/null; do sleep 0.05; done
id=$("$MUSTER" submit -n 1 -- sh -c 'until [ -e go ]; do sleep 0.05; done; exit 6')
until "$MUSTER" list | grep -q "$id.* running"; do sleep 0.05; done
dd if=/dev/zero of="$WORK/disk/fill" bs=64k 2>/dev/null
"$MUSTER" submit -n 1 -- true
echo "submit $?"
touch go
sleep 1
rm "$WORK/disk/fill"
"$MUSTER" wait "$id"
echo "wait $?"
"$MUSTER" wait "$("$MUSTER" submit -n 1 -- sh -c 'exit 3')"
echo "next $?"
kill "$daemon"
wait "$daemon"
echo "daemon $?"
SH
mkdir disk
export WORK MUSTER
timeout 120 unshare -m sh session >full.out 2>full.err
like "$(cat full.out)" '^submit 1' "a submission that cannot be stored is refused"
like "$(cat full.err)" 'cannot write the database: .*full; nothing was submitted' "with the reason"
like "$(cat full.log)" 'trying again every second' "the daemon says so"
like "$(cat full.out)" '^wait 6' "a job that ended meanwhile has its exit code"
like "$(cat full.out)" '^next 3' "when there is room again, jobs run again"
like "$(cat full.out)" '^daemon 0' "and the daemon ends as ever"
done_testing
