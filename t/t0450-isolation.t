#!/bin/sh
# The levels of isolation other than `names`: MPI jobs and run -n at `network` and `none`, as root and
# as an ordinary user; what each level promises; what is left afterwards; what cannot be had.
# shellcheck disable=SC2016 # what is in single quotes is for the shell of a job
. "${0%/*}/lib.sh"

have_network() # WHO…: the level can be had here
{
    "$@" run --isolate network -n 1 -- true >"$out" 2>"$err" </dev/null
}

# --- whole MPI jobs ------------------------------------------------------------------------------

job_dir() # DIR IMPLEMENTATION: the example without its cpu limit, which costs ten times the time
{
    mkdir -p "$1"
    cp "$PROGRAMS/$2/random_walk" "$1"
    sed -e '/limits:/d' -e '/cpu: 100m/d' "$TOP/examples/mpi-example.yaml" >"$1/job.yaml"
    [ "$2" = mpich ] || return 0
    mkdir -p "$1/home/bin"
    ln -s "$(command -v mpiexec.hydra)" "$1/home/bin/mpirun"
    sed -i -e '/--enable-recovery/d' -e '/--max-restarts/d' -e '/"100"/d' -e '/--allow-run-as-root/d' \
        -e '/mca:/d' -e '/btl:/d' -e "s,mpiHome:.*,mpiHome: $1/home," "$1/job.yaml"
}

placed() # OUTPUT: "rank replica host" of what each rank printed, where both say the same rank
{
    sed -nE 's/^\[(worker-[0-9]+)\/([0-9]+)\] rank ([0-9]+) of [0-9]+ on ([^:]+):.*/\2 \3 \1 \4/p' "$1" |
        awk '$1 == $2 { print $2, $3, $4 }' | sort -n
}

planned() # LEVEL
{
    i=0
    while [ $i -lt 15 ]; do
        host=mpi-example-worker-$((i / 3))
        [ "$1" = network ] || host=$(hostname)
        echo "$i worker-$((i / 3)) $host"
        i=$((i + 1))
    done
}

mpi_job() # LEVEL IMPLEMENTATION WHO DIR COMMAND…
{
    level=$1 mpi=$2 who=$3 dir=$4
    shift 4
    "$@" timeout -k 5 90 "$run_as" run --isolate "$level" --report "$dir/report" "$dir/job.yaml" >"$out" 2>"$err" </dev/null
    rc=$?
    is "$rc" 0 "$level, $mpi, $who: ends with 0" || diag "$(tail -n 20 "$err")"
    is "$(placed "$out")" "$(planned "$level")" "$level, $mpi, $who: each rank in its replica"
    is "$(json isolation "$dir/report")" "$level" "$level, $mpi, $who: the report says the level"
    is "$(json attempts.0.ranks.# "$dir/report")" 15 "$level, $mpi, $who: every rank is in the report"
    is "$(survivors "$(json job.run_id "$dir/report")")" "" "$level, $mpi, $who: nothing is left"
}

for level in network none; do
    for mpi in openmpi mpich; do
        if ! have_mpi $mpi; then
            skip "no $mpi here" 10
            continue
        fi
        if [ "$level" = none ] || have_network "$MUSTER"; then
            job_dir "$WORK/$level.$mpi" "$mpi"
            run_as=$MUSTER
            mpi_job "$level" "$mpi" "this user" "$WORK/$level.$mpi" env
        else
            skip "no level network here: $(cat "$err")" 5
        fi
        if can_be_user && user_copy && { [ "$level" = none ] || have_network as_user "$USER_DIR/muster"; }; then
            job_dir "$USER_DIR/$level.$mpi" "$mpi"
            chown -R "$USER_ID" "$USER_DIR/$level.$mpi"
            run_as=$USER_DIR/muster
            mpi_job "$level" "$mpi" "an ordinary user" "$USER_DIR/$level.$mpi" as_user
        else
            skip "no ordinary user here that may have level $level" 5
        fi
    done
done

# --- network -------------------------------------------------------------------------------------

if have_network "$MUSTER"; then
    run_job --isolate network -n 3 --hosts 3 -- python3 -c '
import fcntl, os, socket, struct
s = socket.socket()
print(socket.inet_ntoa(fcntl.ioctl(s, 0x8915, struct.pack("256s", b"eth0"))[20:24]), # SIOCGIFADDR
      socket.gethostbyname(socket.gethostname()), sorted(n for _, n in socket.if_nameindex()), os.environ["MASTER_ADDR"])'
    # 10.77.0.0, or another network where the machine has that one already
    net=$(sed -nE 's/^[^ ]* (10\.[0-9]+\.0)\..*/\1/p' "$out" | head -n 1)
    is "$rc $(sed 's/^[^ ]* //' "$out" | sort)" "0 $net.1 $net.1 ['eth0', 'lo'] worker-0
$net.2 $net.2 ['eth0', 'lo'] worker-0
$net.3 $net.3 ['eth0', 'lo'] worker-0" "network: eth0 has the address of the host's name"
    "$MUSTER" explain --isolate network -o json "$TOP/examples/mpi-example.yaml" >"$out" 2>"$err"
    has_shape explain "$out" "network: what explain says has its shape"
    is "$(json jobs.0.isolation "$out") $(json jobs.0.processes.1.address "$out")" "network $net.2" "network: explain says the address"
    is "$(json jobs.0.processes.0.env.OMPI_MCA_oob_tcp_if_include "$out")" eth0 "network: and MPI is told the interface"
    like "$("$MUSTER" explain --isolate network "$TOP/examples/mpi-example.yaml" 2>&1)" "no route to other networks" "network: a note says that there is no way out"

    # Both hold the port at the same time, or the first could not wait for the second.
    both='
import os, pathlib, socket, sys, time
here, other = (pathlib.Path(p) for p in sys.argv[1:])
port = int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    s = socket.socket(); s.bind(("", port)); s.listen()
    here.touch()
    s.accept()[0].sendall(b"%d" % port)
else:
    while not (here.exists() and other.exists()): time.sleep(.02)
    print(socket.create_connection((os.environ["MASTER_ADDR"], port)).recv(99).decode())'
    timeout 60 "$MUSTER" run --isolate network -n 2 --hosts 2 -- python3 -c "$both" "$WORK/a" "$WORK/b" >"$WORK/out.a" 2>"$err" &
    pid=$!
    run_job --isolate network -n 2 --hosts 2 -- python3 -c "$both" "$WORK/b" "$WORK/a"
    wait $pid
    is "$? $rc $(cat "$WORK/out.a" "$out")" "0 0 [worker-1/1] 29500
[worker-1/1] 29500" "network: two jobs at once have the same port"

    n=$(find /sys/class/net -mindepth 1 | sort)
    run_job --isolate network -n 64 --hosts 64 -- python3 -c '
import os, socket, threading
s = socket.create_server(("", 4000), backlog=128)
n = int(os.environ["WORLD_SIZE"])
def serve():
    for _ in range(n): s.accept()[0].sendall(b"%d" % int(os.environ["RANK"]))
t = threading.Thread(target=serve); t.start()
def ask(i):
    while True:
        try: return socket.create_connection(("worker-%d" % i, 4000)).recv(9)
        except ConnectionRefusedError: pass
assert [int(ask(i)) for i in range(n)] == list(range(n))
t.join()'
    is "$rc" 0 "network: 64 replicas all talk to all"
    is "$(find /sys/class/net -mindepth 1 | sort)" "$n" "network: no interface is left on the machine"
else
    skip "no level network here: $(cat "$err")" 8
fi

# --- none ----------------------------------------------------------------------------------------

run_job --isolate none -n 4 --hosts 2 -- sh -c 'echo "$RANK $MUSTER_ROLE-$MUSTER_INDEX $(hostname) $MASTER_ADDR ${TMPDIR##*/} $(stat -c %a "$TMPDIR")"'
h=$(hostname)
is "$rc $(sed 's/^[^ ]* //' "$out" | sort)" "0 0 worker-0 $h 127.1.0.1 worker-0 700
1 worker-0 $h 127.1.0.1 worker-0 700
2 worker-1 $h 127.1.0.1 worker-1 700
3 worker-1 $h 127.1.0.1 worker-1 700" "none: replicas are told apart, addresses take the place of names"
is "$(report isolation)" none "none: the report says so"
like "$("$MUSTER" explain --isolate none "$TOP/examples/mpi-example.yaml" 2>&1)" "as far as they can be found" "none: a note says what it does not promise"
# rank 1 stays until it was reached
run_job --isolate none -n 2 --hosts 2 -- sh -c '[ $RANK = 1 ] || { ssh worker-1 "echo \$MUSTER_INDEX"; : >"$0"; exit; }; until [ -e "$0" ]; do sleep 0.05; done' "$WORK/reached"
is "$rc $(cat "$out")" "0 [worker-0/0] 1" "none: ssh leads into the replica"

# A job without a launcher: its ranks have no wrapper that would tell them their replica's directory.
if have_mpi openmpi; then
    mkdir "$WORK/pai"
    cp "$PROGRAMS/openmpi/random_walk" "$WORK/pai"
    cat >"$WORK/pai/job.json" <<'JOB'
{"jobName": "walk", "image": "x", "taskRoles": [
 {"name": "master", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 100, "gpuNumber": 0, "minSucceededTaskCount": 1,
  "command": "mpirun -np 6 -H master-0:3,worker-0:3 ./random_walk 20 40 2"},
 {"name": "worker", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 100, "gpuNumber": 0, "command": "sleep infinity"}]}
JOB
    run_job --isolate none "$WORK/pai/job.json"
    is "$rc $(grep -c 'rank [0-5] of 6' "$out")" "0 6" "none: ranks of one host that believe to be on two"
else
    skip "no Open MPI here"
fi

daemon='setsid sh -c "while :; do sleep 0.2; done" >/dev/null 2>&1 &'
run_job --isolate none -n 2 --hosts 2 -- sh -c "$daemon exit 0"
is "$rc $(survivors "$(run_id)")" "0 " "none: what a replica left behind is gone after the run"
run_job --isolate none -n 1 -- sh -c 'env -i setsid sh -c "while :; do sleep 0.2; done" "$1" >/dev/null 2>&1 & exit 3' sh "left by $WORK"
is "$rc $(grep -als "[l]eft by $WORK" /proc/[0-9]*/cmdline || :)" "3 " "none: even if it has no mark"

up() # a job at level none with a daemon, in the background; sets $pid and $id
{
    rm -f "$REPORT" "$WORK/up"
    "$MUSTER" run --isolate none --report "$REPORT" -n 2 --hosts 2 -- sh -c "$daemon"' echo "$MUSTER_RUN_ID" >>"$1"; sleep 60' sh "$WORK/up" >"$out" 2>"$err" &
    pid=$!
    wait_until 20 sh -c "[ \$(wc -l <'$WORK/up') -eq 2 ]"
    id=$(head -n 1 "$WORK/up")
}
no_survivors()
{
    [ -z "$(survivors "$id")" ]
}
up
kill -TERM $pid
wait $pid
is "$? $(survivors "$id")" "143 " "none: SIGTERM ends all"
up
kill -KILL $pid
wait $pid 2>/dev/null
ok "none: when muster is killed, its shim ends all" wait_until 10 no_survivors
is "$(ls "$XDG_RUNTIME_DIR/muster")" "" "none: and cleans up"
up
kill -KILL "$(cat /proc/$pid/task/$pid/children)"
wait $pid
is "$? $(report cause.kind)" "125 lost" "none: when the shim is killed, the job is lost"
ok "none: and muster ends what is left" no_survivors
sleep 60 &
mine=$!
run_job --isolate none --grace 1s -n 2 -- sh -c 'trap "" TERM; [ $RANK = 1 ] || exit 4; sleep 60'
is "$rc" 4 "none: SIGKILL after the grace period"
ok "none: and nobody else's processes" kill $mine

# --- what cannot be had --------------------------------------------------------------------------

# A user namespace that allows no further ones stands for a kernel that allows none.
forbidden() # ARG…: muster as an ordinary user there
{
    rm -f "$WORK/go"
    mkfifo "$WORK/go"
    cd "$USER_DIR" || return # that user may not be able to reach the source tree
    unshare --user sh -c 'read -r _ <"$1"; shift; exec "$@"' sh "$WORK/go" \
        setpriv --reuid="$USER_ID" --regid="$USER_ID" --clear-groups env HOME="$USER_DIR/home" XDG_STATE_HOME="$USER_DIR/home" \
        XDG_RUNTIME_DIR="$USER_DIR/run" "$USER_DIR/muster" "$@" >"$out" 2>"$err" &
    pid=$!
    wait_until 5 sh -c "[ \$(readlink /proc/self/ns/user) != \$(readlink /proc/$pid/ns/user) ]"
    echo "0 0 10000" >/proc/$pid/uid_map
    echo "0 0 10000" >/proc/$pid/gid_map
    nsenter --user --target $pid sh -c 'echo 0 >/proc/sys/user/max_user_namespaces'
    echo >"$WORK/go"
    wait $pid
    rc=$?
}
if can_be_user; then
    user_copy
    forbidden run --report "$USER_DIR/report" -n 2 --hosts 2 -- sh -c 'echo $MUSTER_HOST'
    is "$rc $(json isolation "$USER_DIR/report")" "0 none" "no namespaces: auto is none"
    like "$(cat "$err")" "using isolation level \`none\`: \`names\` is not available: .*user.max_user_namespaces" "and says why, and what to allow"
    for level in names network; do
        forbidden run --isolate $level -n 1 -- true
        is "$rc" 125 "no namespaces: $level is refused"
        like "$(cat "$err")" "isolation level \`$level\` is not available: .*user.max_user_namespaces" "with the reason and what to allow"
    done
else
    skip "cannot become a user that may have namespaces" 6
fi
done_testing
