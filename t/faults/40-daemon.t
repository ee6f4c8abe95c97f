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

# --- the rows below have a daemon each
serve() # [VARIABLE=VALUE…] - starts $MUSTER serve and waits until it is ready
{
    env "$@" "${SERVE:-$MUSTER}" serve --cpus 4 2>>serve.log &
    daemon=$!
    wait_until 20 python3 ready.py "$MUSTER_HOME/run/daemon/control.sock"
}
stop()
{
    kill "$daemon"
    wait "$daemon"
}
fresh() # NAME - a home of its own
{
    export MUSTER_HOME="$WORK/$1"
    mkdir -m 700 "$MUSTER_HOME"
}
running() # ID
{
    "$MUSTER" list -q --state running | grep -q "$1"
}

# --- a newer database
fresh newer
serve
stop
python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("PRAGMA user_version=99")' "$MUSTER_HOME/daemon/jobs.db"
before=$(cksum <"$MUSTER_HOME/daemon/jobs.db")
run_muster serve
is "$rc" 1 "a newer database is refused"
like "$(cat "$err")" 'has version 99, this muster supports up to' "with its version"
is "$(cksum <"$MUSTER_HOME/daemon/jobs.db")" "$before" "and left as it is"

# --- 10,000 jobs that wait
fresh many
printf '%s\n' 'queues: [{name: default}, {name: shut, closed: true}]' >"$MUSTER_HOME/config.yaml"
serve
array=$("$MUSTER" submit --queue shut --array-id --count 10000 -n 1 -- sh -c 'exit 3')
rss=$(awk '/VmRSS/ { print $2 }' "/proc/$daemon/status")
ok "with 10,000 jobs its memory is bounded ($rss KiB)" test "$rss" -lt $((3 * most / 2))
is "$("$MUSTER" list -q --state waiting | wc -l)" 10000 "all of them wait"
run_muster wait "$("$MUSTER" submit -n 1 -- sh -c 'exit 4')"
is "$rc" 4 "a job of another queue runs"
sleep 1 # its supervisor ends
switches=$(awk '/^voluntary/ { print $2 }' "/proc/$daemon/status")
sleep 2
is "$(awk '/^voluntary/ { print $2 }' "/proc/$daemon/status")" "$switches" "it does not wake up while nothing happens"
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
serve
is "$("$MUSTER" list -q --state waiting | wc -l)" 10000 "none is lost when it is killed"
last=$("$MUSTER" list -q "$array" | tail -n 1)
run_muster cancel "$last"
run_muster wait "$last"
is "$rc" 143 "one is cancelled"
is "$("$MUSTER" list -q --state waiting | wc -l)" 9999 "and the others are not"
stop
is "$?" 0 "it ends"

# --- a client that announces a submission and never sends it, one that never reads a long reply
serve
cat >unread.py <<'PY'
import socket, struct, sys, time
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(sys.argv[1])
    return s
text = b'{"version":1,"request":"list"}'
never = [connect() for _ in range(50)]
for s in never:  # each reply has a line for each of the 9,999 jobs
    s.sendall(struct.pack("II", len(text), 0) + text)
half = connect()
half.sendall(struct.pack("II", 1 << 20, 0) + b'{"version":1,')
print("sent", flush=True)
time.sleep(60)
PY
python3 unread.py "$MUSTER_HOME/run/daemon/control.sock" >unread.out &
unread=$!
wait_until 30 grep -q sent unread.out
run_muster wait "$("$MUSTER" submit -n 1 -- sh -c 'exit 5')"
is "$rc" 5 "clients that never read delay nobody"
rss=$(awk '/VmRSS/ { print $2 }' "/proc/$daemon/status")
ok "and its memory is bounded ($rss KiB)" test "$rss" -lt $((8 * most))
kill "$unread"
wait "$unread" 2>/dev/null
stop

# --- the pid of a supervisor that is gone belongs to somebody else
fresh pids
serve
id=$("$MUSTER" submit -n 1 -- sleep 600)
wait_until 20 running "$id"
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
noted=$(find "$MUSTER_HOME/run/$id/" -name shim.pid)
shim=$(cut -d' ' -f1 "$noted")
kill -9 "$shim"
sleep 600 &
innocent=$!
sed -i "s/^[0-9]*/$innocent/" "$noted"
serve
run_muster wait "$id"
is "$rc" 125 "a job whose supervisor is gone is lost"
ok "whoever has its pid now is left alone" kill -0 "$innocent"
kill "$innocent"
wait "$innocent" 2>/dev/null
stop

# --- the clock is set by an hour, forward and back, while jobs run and wait
fresh clock
SERVE=$MUSTER_FAULTY
if [ -x "${MUSTER_FAULTY%/*}/muster-serve" ]; then
    for shift in 3600 -3600; do
        rm -f shifted clock.go
        serve "MUSTER_FAULT=clock:$WORK/shifted"
        id=$("$MUSTER" submit --max-duration 30m -n 1 -- sh -c 'until [ -e clock.go ]; do sleep 0.05; done; exit 6')
        after=$("$MUSTER" submit --after "$id:any" --max-duration 30m -n 1 -- sh -c 'exit 7')
        wait_until 20 running "$id"
        echo "$shift" >shifted
        run_muster wait "$("$MUSTER" submit --max-duration 30m -n 1 -- sh -c 'exit 8')"
        is "$rc" 8 "clock $shift s: a job that is submitted afterwards runs"
        ok "the one that runs is not ended" running "$id"
        kill -9 "$daemon"
        wait "$daemon" 2>/dev/null
        serve "MUSTER_FAULT=clock:$WORK/shifted"
        ok "nor by another daemon" running "$id"
        touch clock.go
        run_muster wait "$id"
        is "$rc" 6 "it ends with its code"
        run_muster wait "$after"
        is "$rc" 7 "and so does the one after it"
        stop
    done
else
    skip "no muster-serve with fault points" 10
fi
SERVE=

# --- writes that write only a part
fresh short
cat >short.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real)
        real = (ssize_t(*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    return real(fd, p, n > 1 ? n / 2 + 1 : n, at);
}
ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return pwrite64(fd, p, n, at);
}
ssize_t write(int fd, const void *p, size_t n)
{
    static ssize_t (*real)(int, const void *, size_t);
    if (!real)
        real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    return real(fd, p, n > 100 ? n / 2 : n);
}
C
if [ -z "${MUSTER_SAN:-}" ] && ${CC:-cc} -shared -fPIC -o short.so short.c -ldl 2>/dev/null; then
    serve "LD_PRELOAD=$WORK/short.so"
    array=$("$MUSTER" submit --array-id --count 20 -n 1 -- sh -c 'echo output; exit 9')
    run_muster wait "$array"
    is "$rc" 9 "with short writes jobs end with their codes"
    kill -9 "$daemon"
    wait "$daemon" 2>/dev/null
    serve
    is "$("$MUSTER" list -q --state failed | wc -l)" 20 "and all of them are in the database"
    is "$(for id in $("$MUSTER" list -q); do "$MUSTER" show -o json "$id" >one.json && json exit_code one.json; done | sort | uniq -c | tr -s ' ')" \
        " 20 9" "and their reports are complete"
    stop
else
    skip "no compiler, or sanitizers" 3
fi

# --- the disk of the database has errors, or becomes read-only, while a job runs
cat >broken.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* Files of the database fail with the error whose number $BROKEN holds. */
static int fails(int fd)
{
    char link[64], path[512], number[16] = "";
    FILE *f = fopen(getenv("BROKEN"), "re");
    ssize_t n;
    if (!f)
        return 0;
    (void)!fgets(number, sizeof(number), f);
    fclose(f);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    path[n < 0 ? 0 : n] = 0;
    errno = atoi(number);
    return errno && strstr(path, "/jobs.db");
}
#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))
ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    return fails(fd) ? -1 : REAL(pwrite64)(fd, p, n, at);
}
ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return pwrite64(fd, p, n, at);
}
int fdatasync(int fd)
{
    return fails(fd) ? -1 : REAL(fdatasync)(fd);
}
int fsync(int fd)
{
    return fails(fd) ? -1 : REAL(fsync)(fd);
}
C
for row in "5 EIO" "30 EROFS"; do
    name=${row#* }
    if [ -n "${MUSTER_SAN:-}" ] || ! ${CC:-cc} -shared -fPIC -o broken.so broken.c -ldl 2>/dev/null; then
        skip "no compiler, or sanitizers" 6
        continue
    fi
    fresh "$name"
    rm -f go
    : >serve.log
    serve "LD_PRELOAD=$WORK/broken.so" "BROKEN=$WORK/broken"
    id=$("$MUSTER" submit -n 1 -- sh -c 'until [ -e go ]; do sleep 0.05; done; exit 6')
    wait_until 20 running "$id"
    echo "${row% *}" >broken
    run_muster submit -n 1 -- true
    is "$rc" 1 "$name: a submission that cannot be stored is refused"
    like "$(cat "$err")" 'cannot write the database: .*; nothing was submitted' "with the reason"
    touch go
    wait_until 20 grep -q 'trying again every second' serve.log
    like "$(cat serve.log)" 'cannot write the database' "the daemon says so"
    rm broken
    run_muster wait "$id"
    is "$rc" 6 "a job that ended meanwhile has its exit code"
    kill -9 "$daemon"
    wait "$daemon" 2>/dev/null
    serve
    run_muster wait "$id"
    is "$rc" 6 "so does the next daemon say"
    run_muster wait "$("$MUSTER" submit -n 1 -- sh -c 'exit 3')"
    is "$rc" 3 "and jobs run again"
    stop
done
rm -f go

# --- its directory is read-only from the beginning
if can_mount; then
    fresh readonly
    serve
    id=$("$MUSTER" submit -n 1 -- sh -c 'exit 6')
    run_muster wait "$id"
    stop
    cat >session <<'SH'
mount --bind "$MUSTER_HOME" "$MUSTER_HOME" && mount -o remount,bind,ro "$MUSTER_HOME" || exit 99
"$MUSTER" serve
echo "serve $?"
"$MUSTER" submit -n 1 -- true
echo "submit $?"
"$MUSTER" list
echo "list $?"
"$MUSTER" show -o json "$1" >"$WORK/one.json"
echo "show $?"
SH
    export WORK MUSTER
    timeout 60 unshare -m sh session "$id" >ro.out 2>ro.err
    like "$(cat ro.out)" '^serve 1' "a read-only directory: serve refuses"
    like "$(cat ro.err)" 'Read-only file system' "with the reason"
    like "$(cat ro.out)" '^submit 1' "so does submit"
    like "$(cat ro.out)" "$id.* failed" "list works"
    is "$(json exit_code one.json)" 6 "and so does show"
else
    skip "no file system can be mounted here" 5
fi
export MUSTER_HOME="$WORK/h"

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
