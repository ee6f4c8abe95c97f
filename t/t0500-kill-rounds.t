#!/bin/sh
# SIGKILL of muster, the shim, mpirun, an orted, a rank at random moments: muster ends, and no
# process of the run is left. ROUNDS says how often, MUSTER_TEST_SEED repeats a course of events.
. "${0%/*}/lib.sh"
have_mpi openmpi || skip_all "no Open MPI here"

ROUNDS=${ROUNDS:-15}
[ -z "$SOAK" ] || ROUNDS=500
SEED=${MUSTER_TEST_SEED:-$(date +%s)}
diag "seed $SEED, $ROUNDS rounds"

# shellcheck disable=SC2153 # MUSTER comes from lib.sh
# Programs of our own path: what runs them is ours, whatever its environment says.
mkdir "$WORK/bin"
cp "$MUSTER" "${MUSTER%/*}/muster-shim" "$PROGRAMS/openmpi/linger" "$WORK/bin"

cat >"$WORK/linger.yaml" <<YAML
apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata:
  name: kill
spec:
  worker:
    replicas: 2
    extraMPIArgs: ["-npernode", "2", "--allow-run-as-root", "--oversubscribe", "-bind-to", "none"]
    cmd: ["$WORK/bin/linger", "60"]
    template:
      spec:
        containers:
          - name: mpi-worker
            image: none
YAML

pids_of() # PROGRAM: the processes of this run that run it
{
    find /proc/[0-9]* -maxdepth 1 -name exe -lname "*/$1" 2>/dev/null | while IFS=/ read -r _ _ pid _; do
        grep -qsaz "$WORK" "/proc/$pid/environ" "/proc/$pid/maps" && echo "$pid"
    done
}

victims() # ROLE: candidates
{
    case $1 in
    muster) echo "$muster" ;;
    shim) # pid 1 of the job; the others that run it are agents and wrappers of ranks
        for p in $(pids_of muster-shim); do
            grep -qs '^NSpid:.*[[:space:]]1$' "/proc/$p/status" && echo "$p"
        done
        ;;
    mpirun) pids_of orterun ;;
    orted) pids_of orted ;;
    rank) pids_of linger ;;
    esac
}

alive() # PID
{
    case $(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) in
    '' | Z | X) return 1 ;;
    esac
}

exists()
{
    [ -n "$(victims "$1")" ]
}

gone()
{
    ! alive "$1"
}

left()
{
    for p in $(pids_of muster-shim) $(pids_of orterun) $(pids_of orted) $(pids_of linger); do
        alive "$p" && echo "$p $(tr '\0' ' ' <"/proc/$p/cmdline")"
    done
    for run in "$XDG_STATE_HOME"/muster/runs/*; do
        survivors "${run##*/}"
    done
}

none_left()
{
    [ -z "$(left)" ]
}

round() # NUMBER ROLE MILLISECONDS LUCK: one test
{
    what="round $1: $2 killed after $3 ms"
    export XDG_STATE_HOME="$WORK/state/$1"
    "$WORK/bin/muster" run "$WORK/linger.yaml" >"$out" 2>"$err" </dev/null &
    muster=$!
    if ! wait_until 30 exists "$2"; then
        result 1 "$what" "never seen: $(tail -n 20 "$err")"
        kill -KILL $muster
        return
    fi
    sleep "$(printf '0.%03d' "$3")"
    seen=$(left)
    victim=$(victims "$2" | awk -v luck="$4" '{ p[NR] = $1 } END { print p[1 + int(luck * NR)] }')
    if ! alive "$victim" || ! kill -KILL "$victim"; then
        result 1 "$what" "$2 ($victim) was not alive: $(tail -n 20 "$err")"
        kill -KILL $muster
        return
    fi
    # "Nothing left" means something only if the same look found something before.
    if [ "$2" != muster ] && [ "$2" != shim ] && [ -z "$seen" ]; then
        result 1 "$what" "processes of the run were not found while it ran"
        kill -KILL $muster
        return
    fi
    if ! wait_until 40 gone $muster; then
        result 1 "$what" "muster does not end: $(left; tail -n 20 "$err")"
        kill -KILL $muster
        return
    fi
    wait $muster
    rc=$?
    wait_until 10 none_left
    [ $rc -ne 0 ] && none_left
    result $? "$what: $rc, nothing left" "exit code $rc; left: $(left); $(tail -n 20 "$err")"
}

awk -v seed="$SEED" -v rounds="$ROUNDS" 'BEGIN {
    srand(seed)
    split("muster shim mpirun orted rank", role, " ")
    for (i = 1; i <= rounds; i++)
        print i, role[1 + i % 5], int(rand() * 800), rand()
}' >"$WORK/course"
while read -r number role ms luck <&3; do
    round "$number" "$role" "$ms" "$luck"
done 3<"$WORK/course"

done_testing
