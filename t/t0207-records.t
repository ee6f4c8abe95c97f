#!/bin/sh
# t0207-records.t - how ranks end, as the launcher of a job of the operator writes it into its termination message:
# muster-records around its command and around each rank, with a real mpirun and hosts that have networks and names of
# their own. What starts daemons there gives them no variable, as sshd does.
# shellcheck disable=SC2016 # shells of launchers expand
. "${0%/*}/lib.sh"

SHIM=${MUSTER%/*}/muster-records
cd "$WORK" || exit
mkdir agent
cp "$SHIM" agent/muster-shim
cp "$SHIM" agent/muster-record
head -c 32 /dev/urandom >agent/key

# --- without an MPI: a rank is whoever has the variables of one -----------------------------------
launch() # [--option…] -- COMMAND…; $code, message
{
    : >message
    env MUSTER_ADDRESS=127.0.0.1 agent/muster-shim launch "$PWD/agent" --message "$PWD/message" "$@"
    code=$?
}
field() # KEY: of what the message says
{
    grep '^muster-ranks: ' message | sed 's/^muster-ranks: //' >message.json
    json "$1" message.json
}
cat >rank.sh <<'EOF'
rank() # NUMBER SIZE COMMAND [LAUNCH]
{
    OMPI_COMM_WORLD_RANK=$1 OMPI_COMM_WORLD_SIZE=$2 PMIX_NAMESPACE=${4:-one} "$OMPI_MCA_orte_fork_agent" sh -c "$3"
}
EOF
launch -- sh -c '. ./rank.sh; rank 0 2 "exit 0" & rank 1 2 "exit 7"; echo $? >rank.code; wait; exit 3'
is "$code" 3 "the command's own status is that of the container"
is "$(cat rank.code)" 7 "and a rank's that of its wrapper"
is "$(field launches.0.size) $(field launches.0.ok) $(field launches.0.failed)" "2 1 1" "one of two ranks failed"
is "$(field launches.0.first.0.rank) $(field launches.0.first.0.code)" "1 7" "the one that did, and how"
is "$(field launches.0.first.0.host)" "$(uname -n | cut -d. -f1)" "and where"
launch -- sh -c '. ./rank.sh; rank 0 1 "kill -SEGV \$\$"; true'
is "$code $(field launches.0.first.0.signal)" "0 11" "a launcher that ends with 0 over a rank that a signal has ended"
launch -- sh -c '. ./rank.sh; rank 0 1 "exit 0"'
is "$code $(field launches.0.ok) $(field launches.0.first.#)" "0 1 0" "nothing has failed"
printf '#!/bin/sh\nexit "$1"\n' >train
chmod 755 train
launch -- sh -c 'for i in 5 0; do OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMIX_NAMESPACE=$i "$OMPI_MCA_orte_fork_agent" ./train $i; done'
is "$(field launches.#) $(field launches.0.ok)" "1 1" "an mpirun that was tried again does not count"
launch -- sh -c '. ./rank.sh; cp /bin/false f; PATH=.:$PATH
    OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMIX_NAMESPACE=a "$OMPI_MCA_orte_fork_agent" f; rank 0 1 "exit 0" two'
is "$(field launches.0.failed) $(field launches.1.ok)" "1 1" "one that was followed by another program does"
launch -- sh -c 'echo mine >>"$PWD/message"; printf more >>"$PWD/message"; . ./rank.sh; rank 0 1 "exit 5"'
is "$(head -n 2 message)" "mine
more" "what the command wrote there stays"
is "$(field launches.0.first.0.code)" 5 "and the line follows it"
launch -- true
is "$(wc -c <message)" 0 "without ranks nothing is written"
launch -- sh -c 'echo "$MUSTER_ADDRESS"; kill -TERM $$' >own.out
is "$code" 143 "an end by a signal, as a shell tells it"
is "$(cat own.out)" "" "the command does not see what was meant for us"
launch -- /no/such/program 2>none.err
is "$code" 127 "a command that is not found"
like "$(cat none.err)" 'cannot execute /no/such/program' "is named"
launch -- sh -c '. ./rank.sh; printf "%032d" 0 >agent/key2; cp -r agent other; cp agent/key2 other/key
    OMPI_MCA_orte_fork_agent=$PWD/other/muster-record; rank 0 1 "exit 5"; echo $? >rank.code'
is "$(cat rank.code) $(wc -c <message)" "5 0" "a rank with another key runs, and is not recorded"
env MUSTER_ADDRESS=127.0.0.1 agent/muster-shim launch "$PWD" -- sh -c 'echo "${OMPI_MCA_orte_fork_agent:-none}"; exit 4' >no-key.out
is "$? $(cat no-key.out)" "4 none" "without a key the command simply runs"
OMPI_MCA_muster_records=1@127.0.0.1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 "$PWD/agent/muster-record" sh -c 'exit 6'
is $? 6 "so does a rank whose launcher is not there"
launch -- sh -c 'trap "exit 9" TERM; kill -TERM $PPID; while :; do sleep 0.1; done'
is "$code" 9 "a signal for the container is the command's"

# --- with mpirun ----------------------------------------------------------------------------------
cat >hosts.sh <<'EOF'
printf '127.0.0.1 localhost\n' >etc-hosts
printf '10.9.0.%d host%d\n' 1 1 2 2 3 3 >>etc-hosts
mount --bind etc-hosts /etc/hosts && ip link add br0 type bridge && ip link set br0 up && ip link set lo up || exit 9
for i in 1 2 3; do
    unshare -nu sh -c "hostname host$i; exec sleep 120" &
    eval "p$i=$!"; echo $! >"pid.10.9.0.$i"
    for n in $(seq 50); do [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/self/ns/net)" ] && break; sleep 0.1; done
    ip link add "v$i" type veth peer name eth0 netns $! && ip link set "v$i" master br0 up || exit 9
    nsenter -n -t $! sh -c "ip link set lo up; ip addr add 10.9.0.$i/24 dev eth0; ip link set eth0 up" || exit 9
done
cat >rsh.sh <<'E'
#!/bin/sh
while :; do case $1 in -*) shift;; *) break;; esac; done
host=$1; shift
exec nsenter -n -u -t "$(cat "${0%/*}/pid.$host")" env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root sh -c "cd /; $*"
E
chmod 755 rsh.sh
printf '10.9.0.%d slots=2\n' 1 2 >hostfile.openmpi
printf '10.9.0.%d:2\n' 1 2 >hostfile.mpich
run() # NAME [OPTION] -- COMMAND…
{
    name=$1; shift
    : >"$name.message"
    nsenter -n -u -t "$p3" env MUSTER_ADDRESS=10.9.0.3 OMPI_MCA_plm_rsh_agent="$PWD/rsh.sh" OMPI_MCA_orte_default_hostfile="$PWD/hostfile.openmpi" \
        HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC="$PWD/rsh.sh" HYDRA_HOST_FILE="$PWD/hostfile.mpich" \
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        timeout 30 agent/muster-shim launch "$PWD/agent" --message "$PWD/$name.message" "$@" >"$name.out" 2>&1
    echo $? >"$name.code"
}
if [ "$MPI" = openmpi ]; then
    run fine -- mpirun -np 4 sh -c 'echo rank $OMPI_COMM_WORLD_RANK on $(hostname)'
    run fails -- mpirun -np 4 "$PROGRAMS/openmpi/fault" exit7 3
    run hidden -- sh -c "mpirun -np 4 $PROGRAMS/openmpi/fault segv 2; exit 0"
    run recovers -- mpirun --enable-recovery -np 4 sh -c 'exit $((OMPI_COMM_WORLD_RANK == 1 ? 4 : 0))'
else
    run fine --hydra -- mpiexec.hydra -n 4 sh -c 'echo rank $PMI_RANK on $(hostname)'
    run fails --hydra -- mpiexec.hydra -n 4 "$PROGRAMS/mpich/fault" exit7 3
    run hidden --hydra -- sh -c "mpiexec.hydra -n 4 $PROGRAMS/mpich/fault segv 2; exit 0"
fi
kill "$p1" "$p2" "$p3"
EOF
with_mpi() # openmpi|mpich
{
    rm -f ./*.message
    MPI=$1 PROGRAMS=$PROGRAMS timeout 150 unshare -rnm sh hosts.sh
    [ $? -eq 9 ] && { skip "no bridge or mount in a namespace here"; return; }
    is "$(sort fine.out)" "rank 0 on host1
rank 1 on host1
rank 2 on host2
rank 3 on host2" "$1: ranks run, and their output is what it was"
    mv fine.message message
    is "$(cat fine.code) $(field launches.0.size) $(field launches.0.ok)" "0 4 4" "$1: all four ended with 0"
    mv fails.message message
    is "$(field launches.0.first.0.rank) $(field launches.0.first.0.host) $(field launches.0.first.0.code)" "3 host2 7" \
        "$1: the first failure, of another host"
    is "$(field launches.0.failed)" 1 "$1: and no other: those that mpirun ended did not fail"
    mv hidden.message message
    is "$(cat hidden.code) $(field launches.0.first.0.rank) $(field launches.0.first.0.signal)" "0 2 11" "$1: a launcher that ends with 0"
    if [ -e recovers.message ]; then
        mv recovers.message message
        is "$(field launches.0.first.0.rank) $(field launches.0.first.0.code) $(field launches.0.ok)" "1 4 3" "$1: mpirun itself ends with 0"
    fi
}
if ! unshare -rn true 2>/dev/null || ! command -v ip >/dev/null; then
    skip "no user namespaces with a network of their own, or no ip" 2
else
    for mpi in openmpi mpich; do
        if have_mpi $mpi; then with_mpi $mpi; else skip "no $mpi"; fi
    done
fi
done_testing
