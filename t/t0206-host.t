#!/bin/sh
# t0206-host.t - muster-shim around a worker of the operator, and the rsh agent of its launcher.
#
# In a network namespace: the port is always the same.
. "${0%/*}/lib.sh"

unshare -rn true 2>/dev/null || skip_all "no user namespaces with a network of their own"
SHIM=${MUSTER%/*}/muster-shim-pod
cd "$WORK" || exit
head -c 32 /dev/urandom >key
head -c 32 /dev/urandom >other-key

# Everything in one namespace; what it says is looked at afterwards.
cat >inside.sh <<'EOF'
ip link set lo up 2>/dev/null || ifconfig lo up
export FROM_POD=pod
"$SHIM" host key -- sh -c 'trap "echo ended; exit 7" TERM; echo begins; while :; do sleep 0.1; done' >worker.out 2>&1 &
worker=$!
run() { "$SHIM" kubexec key no.such.domain 127.0.0.1 "$@"; }
run 'echo $FROM_POD; echo to stderr >&2; pwd; exit 3' >run.out 2>run.err </dev/null; echo $? >run.code
"$SHIM" kubexec key d -x -l root 127.0.0.1 echo two words >options.out 2>&1
run 'kill -9 $$' >/dev/null 2>&1; echo $? >signal.code
run 'cat; echo no stdin' <key >stdin.out
run 'head -c 3000000 /dev/zero' | wc -c >much.out
"$SHIM" kubexec other-key d 127.0.0.1 'touch was-here' >wrong.out 2>&1; echo $? >wrong.code
# a command ends with its connection, a daemon does not
"$SHIM" kubexec key no.such.domain 127.0.0.1 'echo $$ >pid; setsid sh -c "echo \$\$ >daemon; exec sleep 1000" >/dev/null 2>&1 </dev/null & sleep 1000' &
client=$!
for i in $(seq 100); do [ -s pid ] && [ -s daemon ] && break; sleep 0.1; done
kill -9 $client
for i in $(seq 100); do kill -0 "$(cat pid)" 2>/dev/null || break; sleep 0.1; done
kill -0 "$(cat pid)" 2>/dev/null || echo gone >killed.out
kill -0 "$(cat daemon)" 2>/dev/null && echo stays >>killed.out
kill "$(cat daemon)"
kill $worker
wait $worker; echo $? >worker.code
EOF
SHIM=$SHIM timeout 60 unshare -rn sh inside.sh

is "$(cat run.out)" "pod
$PWD" "a command has the container's variables and directory"
is "$(cat run.err)" "to stderr" "its stderr is apart"
is "$(cat run.code)" 3 "its exit status is passed on"
is "$(cat options.out)" "two words" "options of rsh are skipped"
is "$(cat signal.code)" 137 "an end by a signal is told as a shell does"
is "$(cat stdin.out)" "no stdin" "it has no stdin, as with kubectl exec"
is "$(tr -d ' ' <much.out)" 3000000 "much output comes in full"
is "$(cat wrong.code)" 255 "without the job's key nothing runs"
ok "indeed" test ! -e was-here
like "$(cat wrong.out)" "it does not know this run's key" "and it is told why"
is "$(cat killed.out)" "gone
stays" "a command ends with its connection; a daemon stays"
is "$(cat worker.code)" 7 "the worker's own command gets SIGTERM, and its status is the container's"
is "$(cat worker.out)" "begins
ended" "it runs beside all that"

# --- mpirun starts its daemons through it: two workers and a launcher, each with a network of its own ---
cat >hosts.sh <<'EOF'
ip link add br0 type bridge && ip link set br0 up && ip link set lo up || exit 9
for i in 1 2 3; do
    unshare -nu sh -c "hostname host$i; exec sleep 60" &
    eval "p$i=$!"
    for n in $(seq 50); do [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/self/ns/net)" ] && break; sleep 0.1; done
    ip link add "v$i" type veth peer name eth0 netns $! && ip link set "v$i" master br0 up || exit 9
    nsenter -n -t $! sh -c "ip link set lo up; ip addr add 10.9.0.$i/24 dev eth0; ip link set eth0 up" || exit 9
done
nsenter -n -u -t "$p1" "$SHIM" host key -- sleep 365d &
w1=$!
nsenter -n -u -t "$p2" "$SHIM" host key -- sleep 365d &
w2=$!
printf '10.9.0.%d slots=2\n' 1 2 >hostfile
printf '#!/bin/sh\nexec "%s" kubexec "%s/key" no.domain "$@"\n' "$SHIM" "$PWD" >kubexec.sh
chmod 755 kubexec.sh
nsenter -n -u -t "$p3" env OMPI_MCA_plm_rsh_agent="$PWD/kubexec.sh" OMPI_MCA_orte_default_hostfile="$PWD/hostfile" \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    mpirun -np 4 sh -c 'echo rank $OMPI_COMM_WORLD_RANK on $(hostname)' >mpirun.out 2>mpirun.err
echo $? >mpirun.code
kill "$w1" "$w2" "$p1" "$p2" "$p3"
EOF
if have_mpi openmpi && command -v ip >/dev/null; then
    SHIM=$SHIM timeout 60 unshare -rn sh hosts.sh
    if [ $? -eq 9 ]; then
        skip "no bridge in a network namespace here" 2
    else
        is "$(cat mpirun.code)" 0 "mpirun runs through kubexec.sh"
        is "$(sort mpirun.out)" "rank 0 on host1
rank 1 on host1
rank 2 on host2
rank 3 on host2" "its ranks on the workers"
    fi
else
    skip "no Open MPI, or no ip" 2
fi

# Its port is also that of other tests that run at the same time.
apart()
{
    if unshare -rn true 2>/dev/null; then unshare -rn "$@"; else "$@"; fi
}
apart "$SHIM" host key -- /no/such/program 2>none.err
is $? 127 "a command that is not found is 127"
like "$(cat none.err)" 'cannot run /no/such/program: No such file' "and named"
apart "$SHIM" host no-key -- true 2>none.err
is $? 125 "without a key it does not start"
done_testing
