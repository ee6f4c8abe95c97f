#!/bin/sh
# operator-faults.t - muster-operator on a real cluster in which something breaks: jobs end as they do without the fault,
# no replica ever has two pods at the same time, and what is in the way is told.
#
# $MUSTER_ROUNDS jobs (10) are disturbed in turn, MPIJobs and PyTorchJobs, all at the same time and each at a random moment
# of its life, so that one fault meets many phases. MUSTER_TEST_SEED sets the moments. Faults of the whole cluster (nodes, API
# server) only with MUSTER_DISTURB=1: others may use it.
#
# about: src/operator
# shellcheck disable=SC2016 # shells in pods expand
. "${0%/*}/lib.sh"
need_cluster

ROUNDS=${MUSTER_ROUNDS:-10}
seed=${MUSTER_TEST_SEED:-$(date +%s)}
diag "MUSTER_TEST_SEED=$seed, $ROUNDS rounds"
[ $((ROUNDS % 2)) -eq 0 ] || ROUNDS=$((ROUNDS + 1))

draw() # SECONDS: a random time below that, in $drawn
{
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    drawn=$(awk "BEGIN { print $1 * $((seed / 65536)) / 32768 }")
}

python3 "$TOP/t/lib/deploy.py" role "$TOP/deploy/base/rbac.yaml" >role.yaml
for crd in mpijobs.kubeflow.org pytorchjobs.kubeflow.org; do
    kubectl get crd "$crd" >/dev/null 2>&1 || kubectl apply -f "$TOP/deploy/base/crds.yaml" >/dev/null
done
mkdir -p init/usr/bin
printf '#!/bin/sh\nexec getent hosts "$1"\n' >init/usr/bin/nslookup
chmod 755 init/usr/bin/nslookup
"$KUBE" image local.test/init-pytorch:2 local.test/debian:12 init >/dev/null
OPERATOR=${MUSTER%/*}/muster-operator
RIGHTS=$(tester role.yaml)

# Its pid is in $operator. The lease is its own namespace's.
operator_begin()
{
    KUBECONFIG=$RIGHTS "$OPERATOR" --namespace "$NS" --lock-namespace "$NS" \
        --pytorch-init-container-image local.test/init-pytorch:2 2>>operator.log &
    operator=$!
}

operator_kill()
{
    kill -9 "$operator"
    wait "$operator" 2>/dev/null || :
}

# --- the jobs ------------------------------------------------------------------------------------

IMAGE=local.test/sshd:1 SMALL=local.test/busybox:1 SELECTOR='{}'
mpi_job() # NAME
{
    cat <<EOF
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: $1}
spec:
  slotsPerWorker: 1
  runPolicy: {cleanPodPolicy: Running}
  sshAuthMountPath: /home/mpiuser/.ssh
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          terminationGracePeriodSeconds: 1
          containers:
          - {name: l, image: "$IMAGE", securityContext: {runAsUser: 1000}, command: [mpirun, -np, "2", sleep, "8"]}
    Worker:
      replicas: 2
      template:
        spec:
          terminationGracePeriodSeconds: 1
          nodeSelector: $SELECTOR
          containers:
          - {name: w, image: "$IMAGE", securityContext: {runAsUser: 1000}, command: [/usr/sbin/sshd, -De, -f, /home/mpiuser/.sshd_config]}
EOF
}

torch_role() # REPLICAS SECONDS
{
    cat <<EOF
      replicas: $1
      restartPolicy: OnFailure
      template:
        spec:
          terminationGracePeriodSeconds: 1
          nodeSelector: $SELECTOR
          containers: [{name: pytorch, image: "$SMALL", command: [sleep, "$2"]}]
EOF
}

torch_job() # NAME
{
    cat <<EOF
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: $1}
spec:
  runPolicy: {cleanPodPolicy: Running}
  pytorchReplicaSpecs:
    Master:
$(torch_role 1 12)
    Worker:
$(torch_role 2 8)
EOF
}

MPI=mpijobs.kubeflow.org TORCH=pytorchjobs.kubeflow.org
numbers() { seq "$ROUNDS"; }
kind_of() { if [ $(($1 % 2)) -eq 0 ]; then echo $TORCH; else echo $MPI; fi; }
job() { if [ $(($1 % 2)) -eq 0 ]; then torch_job "r$1"; else mpi_job "r$1"; fi; }

# Until the server answers: it may be the one that is being restarted.
create() # NUMBER
{
    until job "$1" | kube apply -f - >/dev/null 2>&1; do sleep 1; done
}

# each SECONDS COMMAND…: creates every job and calls the command with its number after a random time; waits for all.
each()
{
    within=$1
    shift
    pids=
    for i in $(numbers); do
        draw "$within"
        (create "$i" && sleep "$drawn" && "$@" "$i") >>each.log 2>&1 &
        pids="$pids $!"
    done
    for pid in $pids; do wait "$pid"; done
}

# spread SECONDS: creates every job at a random moment; waits for none.
spread()
{
    pids=
    for i in $(numbers); do
        draw "$1"
        (sleep "$drawn" && create "$i") &
        pids="$pids $!"
    done
}

# One line a job: the conditions that hold.
states()
{
    kube get $MPI,$TORCH -o 'jsonpath={range .items[*]}{.metadata.name}{range .status.conditions[?(@.status=="True")]} {.type}{end}{"\n"}{end}' | sort
}

all_ended()
{
    [ "$(kube get $MPI,$TORCH -o 'jsonpath={range .items[*]}{.status.completionTime} {end}' | wc -w)" -eq "$ROUNDS" ]
}

objects() { kube get pods,jobs,configmaps,secrets,services -o name | sort; }
nothing_left() { [ "$(objects)" = "$BEFORE" ]; }

# How it ends: as without a fault; and nothing remains of it.
ends() # FAULT [SECONDS]
{
    ok "$1: all jobs end" wait_until "${2:-240}" all_ended
    is "$(states)" "$WITHOUT" "$1: they end as without it"
    clean "$1"
}

clean() # FAULT
{
    kube delete --all --wait=false $MPI >/dev/null
    kube delete --all --wait=false $TORCH >/dev/null
    ok "$1: nothing remains of the jobs" wait_until 120 nothing_left || diag "$(objects)"
}

told() # ERE: in an event of each job
{
    kube get events -o 'jsonpath={range .items[*]}{.involvedObject.name} {.reason}: {.message}{"\n"}{end}' | grep -E "$1" >told.out
    for i in $(numbers); do grep -q "^r$i " told.out || return 1; done
}

operator_begin
BEFORE=$(objects)
python3 "$TOP/t/lib/pods_alive.py" "$NS" >twice 2>watch.err &
watcher=$!

each 1 true
ok "no fault: all jobs end" wait_until 180 all_ended
WITHOUT=$(states)
is "$(printf '%s\n' "$WITHOUT" | grep -c ' Succeeded')" "$ROUNDS" "no fault: all succeed" || diag "$WITHOUT"
clean "no fault"

# --- what happens to one job ---------------------------------------------------------------------

worker_dies() { kube delete pod "r$1-worker-$(($1 / 2 % 2))" --grace-period=0 --force; }
each 14 worker_dies
ends "worker killed"

launcher_dies()
{
    if [ "$(kind_of "$1")" = $MPI ]; then
        kube delete pod -l "training.kubeflow.org/job-name=r$1,training.kubeflow.org/job-role=launcher" --grace-period=0 --force
    else
        kube delete pod "r$1-master-0" --grace-period=0 --force
    fi
}
each 14 launcher_dies
ends "launcher or master killed"

# What is not of the plan may be changed at any time; the number of workers of an MPIJob, too.
edited()
{
    kube label "$(kind_of "$1")" "r$1" team=a
    kube annotate "$(kind_of "$1")" "r$1" note=b
    [ "$(kind_of "$1")" = $TORCH ] || kube scale $MPI "r$1" --replicas=3
}
each 14 edited
ends "object edited"

deleted() { kube delete "$(kind_of "$1")" "r$1" --wait=false; }
each 14 deleted
ok "object deleted: nothing remains of the jobs" wait_until 120 nothing_left || diag "$(objects)"

# --- what happens to operators -------------------------------------------------------------------

spread 12
for _ in 1 2 3 4 5; do
    draw 4
    sleep "$drawn"
    operator_kill
    operator_begin
done
ends "operator killed five times"

second_begin() { operator_begin && second=$operator; }
first=$operator
second_begin
spread 20
for _ in 1 2; do
    draw 8
    sleep "$drawn"
    operator=$first && operator_kill && operator_begin && first=$operator
    draw 8
    sleep "$drawn"
    operator=$second && operator_kill && second_begin
done
ends "two operators, killed in turn" 300
operator=$second && operator_kill
operator=$first

# --- what keeps a job from running ---------------------------------------------------------------

# Upstream's CRDs have a schema that refuses it.
for i in $(numbers); do job "$i" | sed 's/cleanPodPolicy: Running/cleanPodPolicy: Sometimes/' | kube apply -f - >>each.log 2>&1; done
if grep -q 'Unsupported value: "Sometimes"' each.log; then
    is "$(kube get $MPI,$TORCH -o name)" "" "invalid object: the schema refuses it"
else
    ok "invalid object: it is told" wait_until 30 told 'cleanPodPolicy'
fi
each 2 true
ends "invalid object that is mended"

IMAGE=local.test/late-$$:1 SMALL=local.test/late-$$:1
each 2 true
ok "image missing: it is told with its name" wait_until 60 told "local.test/late-$$:1"
"$KUBE" image "$IMAGE" local.test/sshd:1 >/dev/null
ends "image missing, then there" 400
IMAGE=local.test/sshd:1 SMALL=local.test/busybox:1

SELECTOR="{late-$$: \"yes\"}"
each 2 true
ok "unschedulable: it is told" wait_until 60 told "didn't match Pod's node"
kubectl label node node1 node2 "late-$$=yes" >/dev/null
ends "unschedulable, then not"
kubectl label node node1 node2 "late-$$-" >/dev/null
SELECTOR='{}'

kube create quota few --hard=pods=1 >/dev/null
each 2 true
ok "quota exceeded: it is told" wait_until 60 told 'exceeded quota'
kube delete quota few >/dev/null
ends "quota exceeded, then not" 300

# --- what happens to the cluster -----------------------------------------------------------------

if [ -n "${MUSTER_DISTURB:-}" ]; then
    spread 10
    draw 10
    sleep "$drawn"
    "$KUBE" apiserver restart >/dev/null
    ends "API server restarted"

    spread 12
    draw 12
    sleep "$drawn"
    "$KUBE" node cut 2 >/dev/null
    sleep 45
    "$KUBE" node heal 2 >/dev/null
    ends "node cut off and healed" 400

    spread 12
    draw 12
    sleep "$drawn"
    "$KUBE" node crash 3 >/dev/null
    sleep 45
    "$KUBE" node start 3 >/dev/null
    ends "node crashed and started" 400
else
    skip "faults of the whole cluster: MUSTER_DISTURB is not set" 9
fi

operator_kill
kill "$watcher"
wait "$watcher"
is "$(grep twice twice)" "" "no replica ever had two pods"
ok "which was watched" test "$(sed -n 's/ pods seen//p' twice)" -ge $((ROUNDS * 20))
is "$(refused | grep -v 'create pods ')" "" "nothing was refused to the operator but pods beyond the quota"
done_testing
