#!/bin/sh
# MPI between pods, without sshd: Open MPI and MPICH, real MPI programs over the pods' network, T9k's own example as it
# is, and mpiruns that use different pods.
#
# about: src/engine/kubernetes src/engine/frames src/shim src/plan src/kube
. "${0%/*}/lib.sh"
need_cluster
LIMIT=300

on_cluster() # FILE [OPTION…]
{
    file=$1
    shift
    run_job --on kubernetes --namespace "$NS" "$@" "$file"
}

ranks() # "LAUNCH RANK REPLICA" of each rank that was started
{
    "$MUSTER" events -o json "$(run_id)" | python3 -c '
import json, sys
for line in sys.stdin:
    e = json.loads(line)
    if e.get("event") == "rank-started":
        print(e["launch"], e["rank"], e["who"].split("/")[0])' | sort
}

up()
{
    [ "$(grep -c '\] up' "$out")" -ge 4 ]
}

run_until_up() # FILE: in the background
{
    timeout -k 5 "$LIMIT" "$MUSTER" run --on kubernetes --namespace "$NS" --report "$REPORT" "$1" >"$out" 2>"$err" </dev/null &
    waiter=$!
    wait_until 120 up
}

# Programs travel in an image: those of the tests, for each MPI.
with_programs() # NAME FROM MPI DIR PROGRAM…
{
    made=$1 from=$2 kind=$3 root=$WORK/root-${1##*/}
    dir=$root/$4
    shift 4
    mkdir -p "$dir"
    for program in "$@"; do
        cp "$PROGRAMS/$kind/$program" "$dir" || return
    done
    "$KUBE" image "$made" "$from" "$root" >"$WORK/image" 2>&1
}

job() # NAME IMPLEMENTATION IMAGE WORKERS SLOTS; the launcher's script from stdin
{
    cat <<YAML
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: $1}
spec:
  slotsPerWorker: $5
  mpiImplementation: $2
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
            - name: l
              image: $3
              env: [{name: UCX_TLS, value: "tcp,self"}] # the nodes share a kernel, which UCX takes for one host
              command: [sh, -c]
              args:
                - |
$(sed 's/^/                  /')
    Worker:
      replicas: $4
      template: {spec: {containers: [{name: w, image: "$3"}]}}
YAML
}

# --- T9k's example, byte for byte ----------------------------------------------------------------

have_mpi openmpi || skip_all "no Open MPI here"
ok "the image of the example" with_programs t9kpublic/mpi-tutorial:2021022-2 local.test/openmpi:4 openmpi usr/local/code random_walk
on_cluster "$TOP/examples/mpi-example.yaml"
is "$rc" 0 "T9k's MPIJob: 5 x 3 ranks" || diag "$(tail -n 20 "$err")"
is "$(sed -nE 's/^\[(worker-[0-9])\/([0-9]+)\] rank ([0-9]+) of 15 on .*/\1 \2 \3/p' "$out" | sort -V | tr '\n' ' ')" \
    "worker-0 0 0 worker-0 1 1 worker-0 2 2 worker-1 3 3 worker-1 4 4 worker-1 5 5 worker-2 6 6 worker-2 7 7 worker-2 8 8 worker-3 9 9 worker-3 10 10 worker-3 11 11 worker-4 12 12 worker-4 13 13 worker-4 14 14 " \
    "each is where it belongs"
like "$(report verdict)" '15 ranks on 5 (hosts|workers) exited with status 0' "the verdict"

# --- each implementation -------------------------------------------------------------------------

for mpi in openmpi mpich; do
    case $mpi in
    openmpi) name=OpenMPI image=local.test/openmpi:4 hosts="cut -d' ' -f1" host=--host ;;
    mpich) name=MPICH image=local.test/mpich:4 hosts="cut -d: -f1" host=-hosts ;;
    esac
    have_mpi $mpi || continue
    ok "$name: the image" with_programs "test.local/$mpi-programs:$$" "$image" "$mpi" opt/code random_walk fault
    image=test.local/$mpi-programs:$$

    echo 'mpirun -np 4 /opt/code/random_walk 20 40 2' | job walk "$name" "$image" 2 2 >walk.yaml
    LIMIT=200
    on_cluster walk.yaml
    # UCX of MPICH 4.0 may wait in MPI_Finalize for a peer that has left: all was said, and nothing ends
    [ "$rc $mpi $(grep -c '\] rank [0-3] of 4 ' "$out")" != "124 mpich 4" ] || on_cluster walk.yaml
    LIMIT=300
    is "$rc $(ranks | tr '\n' ' ')" "0 1 0 worker-0 1 1 worker-0 1 2 worker-1 1 3 worker-1 " "$name: ranks in the pods of the workers" ||
        diag "$(tail -n 20 "$err")"
    is "$(sed -nE 's/^\[worker-[0-9]\/[0-9]\] rank ([0-9]) of 4 .*/\1/p' "$out" | sort | tr -d '\n')" 0123 "$name: they are one world"

    echo 'mpirun -np 4 /opt/code/fault exit7 2' | job fault "$name" "$image" 2 2 >fault.yaml
    on_cluster fault.yaml
    is "$rc $(report cause.rank) $(report cause.replica) $(report cause.exit_code)" "7 2 worker-1 7" "$name: a rank that fails is named" ||
        diag "$(tail -n 20 "$err")"
    is "$(report attempts.0.ranks.2.exit_code)" 7 "$name: with its exit status in the report"
    echo 'mpirun -np 4 /opt/code/fault exit7 3 || true' | job hidden "$name" "$image" 2 2 >hidden.yaml
    on_cluster hidden.yaml
    is "$rc $(report cause.rank) $(report cause.replica)" "7 3 worker-1" "$name: also where the launcher hides it"
    echo 'timeout -s KILL 8 mpirun -np 4 /opt/code/fault stay || true' | job killed "$name" "$image" 2 2 >killed.yaml
    on_cluster killed.yaml
    is "$rc $(report cause.kind) $(report cause.replica)" "137 signal launcher-0" "$name: an mpirun that is killed together with its stand-in"
    like "$(report verdict)" 'mpirun was ended by SIGKILL and stopped 4 ranks; launcher-0 exited with status 0' "$name: is told as that"

    echo 'mpirun -np 4 /opt/code/fault stay' | job taken "$name" "$image" 2 2 >taken.yaml
    ok "$name: four ranks run" run_until_up taken.yaml
    kube delete pod -l muster.internal/role=worker,muster.internal/index=1 --wait=false >"$WORK/deleted"
    rc=0
    wait "$waiter" || rc=$?
    is "$rc $(report cause.kind) $(report cause.replica) $(report cause.signal)" "125 gone worker-1 null" "$name: a worker's pod that somebody deletes"
    like "$(report verdict)" 'failed: worker-1 disappeared: its pod .*-worker-1 was deleted' "$name: is told as that, not as a failure of mpirun"

    # Each pod counts what it has seen: worker-1 has seen two, the others one each.
    job subsets "$name" "$image" 3 1 >subsets.yaml <<JOB
    $hosts /etc/mpi/hostfile >/tmp/hosts
    host() { sed -n "\$1p" /tmp/hosts; }
    mpirun -np 2 $host "\$(host 1),\$(host 2)" /opt/code/fault none && mpirun -np 2 $host "\$(host 2),\$(host 3)" /opt/code/fault exit5 1
JOB
    on_cluster subsets.yaml
    is "$rc $(ranks | tr '\n' ' ')" "5 1 0 worker-0 1 1 worker-1 2 0 worker-1 2 1 worker-2 " "$name: two mpiruns with different pods are two launches" ||
        diag "$(tail -n 20 "$err")"
    is "$(report cause.rank) $(report cause.replica)" "1 worker-2" "$name: the second one's failure"
done

no_pods() { [ -z "$(kube get pod -l muster.internal/run -o name || echo unknown)" ]; }
ok "nothing is left" wait_until 60 no_pods
done_testing
