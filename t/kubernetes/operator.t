#!/bin/sh
# operator.t - muster-operator on a real cluster: the kinds that people apply, run to their end.
#
# It serves this script's namespace only, with the rights of deploy/base/rbac.yaml there.
#
# about: src/operator deploy/base
# shellcheck disable=SC2016 # shells in pods expand
. "${0%/*}/lib.sh"
need_cluster

python3 "$TOP/t/lib/deploy.py" role "$TOP/deploy/base/rbac.yaml" >role.yaml
for crd in mpijobs.kubeflow.org pytorchjobs.kubeflow.org tfjobs.kubeflow.org mpijobs.batch.tensorstack.dev; do
    kubectl get crd "$crd" >/dev/null 2>&1 || missing_crds=yes
done
[ -z "${missing_crds:-}" ] || kubectl apply -f "$TOP/deploy/base/crds.yaml" >/dev/null
# nslookup of this busybox fails if any of the search domains has no such name; that of upstream's image does not.
mkdir -p init/usr/bin
printf '#!/bin/sh\nexec getent hosts "$1"\n' >init/usr/bin/nslookup
chmod 755 init/usr/bin/nslookup
"$KUBE" image local.test/init-pytorch:2 local.test/debian:12 init >/dev/null
OPERATOR=${MUSTER%/*}/muster-operator
RIGHTS=$(tester role.yaml)

begin() # an operator; $! is its pid
{
    KUBECONFIG=$RIGHTS "$OPERATOR" --namespace "$NS" --lock-namespace "$NS" \
        --pytorch-init-container-image local.test/init-pytorch:2 2>>operator.log &
}

holds() # NUMBER: so many operators have had the lease
{
    [ "$(grep -c 'this operator has the lease' operator.log)" -eq "$1" ]
}

is_in() # KIND NAME CONDITION: does it hold?
{
    kube get "$1" "$2" -o "jsonpath={.status.conditions[?(@.type==\"$3\")].status}" | grep -q True
}

message() # KIND NAME CONDITION
{
    kube get "$1" "$2" -o "jsonpath={.status.conditions[?(@.type==\"$3\")].message}"
}

# The log is what the kubelet has; kubectl asks it once more if it was just too early.
says() # POD|job/NAME ERE
{
    kube logs "$1" 2>/dev/null | grep -qE "$2"
}

MPI=mpijobs.kubeflow.org
begin
operator=$!
ok "an operator takes the lease" wait_until 30 holds 1
begin
other=$!

# --- MPIJob v2beta1: ssh between pods, as users know it ---
mpijob() # NAME COMMAND
{
    cat <<EOF
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: $1}
spec:
  slotsPerWorker: 2
  runPolicy: {cleanPodPolicy: Running, backoffLimit: 0}
  sshAuthMountPath: /home/mpiuser/.ssh
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          containers:
          - {name: l, image: "local.test/sshd:1", securityContext: {runAsUser: 1000}, command: $2}
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - {name: w, image: "local.test/sshd:1", securityContext: {runAsUser: 1000}, command: [/usr/sbin/sshd, -De, -f, /home/mpiuser/.sshd_config]}
EOF
}
mpijob pi '[mpirun, -np, "4", sh, -c, "echo rank $OMPI_COMM_WORLD_RANK on $(hostname)"]' | kube apply -f - >/dev/null
ok "an MPIJob runs to its end" wait_until 120 is_in $MPI pi Succeeded
ok "its ranks ran on its workers" wait_until 10 says job/pi-launcher 'rank 3 on pi-worker-1'
is "$(message $MPI pi Succeeded)" "MPIJob $NS/pi successfully completed." "its status says so in upstream's words"
ok "cleanPodPolicy Running: the workers are removed" wait_until 60 sh -c "! kubectl -n $NS get pod pi-worker-0"
ok "the launcher is kept" kube get job pi-launcher

mpijob bad '[mpirun, -np, "4", sh, -c, "exit $((OMPI_COMM_WORLD_RANK * 3))"]' | kube apply -f - >/dev/null
ok "one that fails is failed" wait_until 120 is_in $MPI bad Failed
like "$(message $MPI bad Failed)" 'First failure: rank [123] on worker-[01] exited with' "who failed first is in its status"
like "$(message $MPI bad Failed)" 'Last lines of bad-launcher-' "with the last lines that it wrote"
ok "and in an event" wait_until 10 sh -c "kubectl -n $NS get events | grep -q 'Warning.*mpijob/bad.*First failure'"

# --- MPIJob v1, v1alpha2 and v1alpha1, all at once: workers sleep, and mpirun reaches them by the shim ---
RANKS='[mpirun, -np, "4", sh, -c, "echo rank $OMPI_COMM_WORLD_RANK on $(hostname)"]'
container() # NAME [MORE]
{
    echo "{name: $1, image: 'local.test/sshd:1', securityContext: {runAsUser: 1000}${2:+, $2}}"
}

old() # NAME VERSION
{
    cat <<EOF
apiVersion: kubeflow.org/$2
kind: MPIJob
metadata: {name: $1}
spec:
  slotsPerWorker: 2
  cleanPodPolicy: Running
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {containers: [$(container l "command: $RANKS")]}}}
    Worker: {replicas: 2, template: {spec: {containers: [$(container w)]}}}
EOF
}

oldest() # NAME
{
    cat <<EOF
apiVersion: kubeflow.org/v1alpha1
kind: MPIJob
metadata: {name: $1}
spec:
  replicas: 2
  slotsPerWorker: 2
  template: {spec: {containers: [$(container l "command: $RANKS")]}}
EOF
}
{
    old old-v1 v1
    echo ---
    old old-v1alpha2 v1alpha2
    echo ---
    oldest old-v1alpha1
} | kube apply -f - >/dev/null
ok "an MPIJob v1 runs to its end" wait_until 180 is_in $MPI old-v1 Succeeded
ok "its ranks ran on its workers" wait_until 10 says old-v1-launcher 'rank 3 on old-v1-worker-1'
ok "an MPIJob v1alpha2 runs to its end" wait_until 180 is_in $MPI old-v1alpha2 Succeeded
ok "its ranks ran on its workers" wait_until 10 says job/old-v1alpha2-launcher 'rank 3 on old-v1alpha2-worker-1'
launcher_status() { [ "$(kube get $MPI "$1" -o 'jsonpath={.status.launcherStatus}')" = "$2" ]; }
ok "an MPIJob v1alpha1 runs to its end" wait_until 180 launcher_status old-v1alpha1 Succeeded
ok "its ranks ran on its workers" wait_until 10 says job/old-v1alpha1-launcher 'rank 3 on old-v1alpha1-worker-1'

# --- PyTorchJob and TFJob: a pod and a service for every replica ---
cat <<'EOF' | kube apply -f - >/dev/null
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
          - name: pytorch
            image: local.test/busybox:1
            command: [sh, -c, 'echo "rank $RANK of $WORLD_SIZE, $MASTER_ADDR:$MASTER_PORT"; sleep 20']
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: pytorch
            image: local.test/busybox:1
            command: [sh, -c, 'echo "rank $RANK of $WORLD_SIZE, $MASTER_ADDR:$MASTER_PORT"']
EOF
ok "a PyTorchJob runs to its end" wait_until 180 is_in pytorchjob train Succeeded
ok "with upstream's variables" wait_until 10 says train-worker-1 '^rank 2 of 3, train-master-0:23456$'

cat <<'EOF' | kube apply -f - >/dev/null
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: dist}
spec:
  runPolicy: {cleanPodPolicy: All}
  tfReplicaSpecs:
    PS: {replicas: 1, template: {spec: {containers: [{name: tensorflow, image: "local.test/busybox:1", command: [sleep, "1000"]}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: tensorflow, image: "local.test/busybox:1", command: [sh, -c, 'echo "$TF_CONFIG"; exit 7']}]}}}
EOF
ok "a TFJob whose workers fail has failed" wait_until 120 is_in tfjob dist Failed
ok "cleanPodPolicy All: nothing of it is left" wait_until 90 sh -c "! kubectl -n $NS get pod dist-ps-0"

# --- an operator that is killed: the other one goes on ---
mpijob long '[mpirun, -np, "4", sleep, "40"]' | kube apply -f - >/dev/null
ok "a longer one runs" wait_until 120 is_in $MPI long Running
ok "the other operator waits meanwhile" holds 1
kill -9 "$operator"
wait "$operator" 2>/dev/null
uids=$(kube get pods -o 'jsonpath={.items[*].metadata.uid}')
started=$(kube get $MPI long -o 'jsonpath={.status.startTime}')
ok "the other one takes the lease" wait_until 60 holds 2
ok "and sees the end of the job" wait_until 120 is_in $MPI long Succeeded
is "$(kube get $MPI long -o 'jsonpath={.status.startTime}')" "$started" "and knows when it began"
now=$(kube get pods -o 'jsonpath={.items[*].metadata.uid}')
more=$(for uid in $now; do case " $uids " in *" $uid "*) ;; *) echo "$uid" ;; esac; done)
is "$more" "" "no pod was made a second time"

# --- suspended and resumed ---
mpijob rest '[mpirun, -np, "4", sleep, "15"]' | kube apply -f - >/dev/null
ok "another one runs" wait_until 120 is_in $MPI rest Running
kube patch $MPI rest --type=merge -p '{"spec":{"runPolicy":{"suspend":true}}}' >/dev/null
ok "it can be suspended" wait_until 60 is_in $MPI rest Suspended
no_pods() { [ -z "$(kube get pods -l training.kubeflow.org/job-name=rest -o name || echo unknown)" ]; }
ok "then it has no pods" wait_until 90 no_pods
kube patch $MPI rest --type=merge -p '{"spec":{"runPolicy":{"suspend":false}}}' >/dev/null
ok "and goes on" wait_until 120 is_in $MPI rest Succeeded

# --- suspended from the beginning ---
mpijob later '["true"]' | sed 's/runPolicy: {/runPolicy: {suspend: true, /' | kube apply -f - >/dev/null
ok "a job can be suspended from the beginning" wait_until 60 is_in $MPI later Suspended
suspended() { [ "$(kube get job later-launcher -o 'jsonpath={.spec.suspend}')" = true ]; }
ok "then the Job of its launcher is there, suspended" wait_until 30 suspended
kube patch $MPI later --type=merge -p '{"spec":{"runPolicy":{"suspend":false},"mpiReplicaSpecs":{"Launcher":{"template":{"metadata":{"labels":{"queue":"a"}}}}}}}' >/dev/null
ok "and it runs" wait_until 120 is_in $MPI later Succeeded
is "$(kube get job later-launcher -o 'jsonpath={.spec.template.metadata.labels.queue}')" a "as it was changed meanwhile"

# --- the number of workers ---
hosts() { [ "$(kube get configmap grow-config -o 'jsonpath={.data.discover_hosts\.sh}' | grep -c echo)" -eq "$1" ]; }
mpijob grow '[sleep, "300"]' | kube apply -f - >/dev/null
ok "a job with two workers runs" wait_until 120 is_in $MPI grow Running
ok "discover_hosts.sh has them" wait_until 30 hosts 2
kube patch $MPI grow --type=merge -p '{"spec":{"mpiReplicaSpecs":{"Worker":{"replicas":3}}}}' >/dev/null
ok "a third worker comes" wait_until 60 hosts 3
kube scale $MPI grow --replicas=1 >/dev/null
ok "by its scale it has one" wait_until 60 hosts 1
ok "the others are removed" wait_until 60 sh -c "! kubectl -n $NS get pod grow-worker-1 && ! kubectl -n $NS get pod grow-worker-2"
ok "it still runs" is_in $MPI grow Running
kube delete $MPI grow >/dev/null

# --- time to live ---
mpijob brief '["true"]' | sed 's/runPolicy: {/runPolicy: {ttlSecondsAfterFinished: 3, /' | kube apply -f - >/dev/null
ok "with its time to live an object is deleted" wait_until 120 sh -c "! kubectl -n $NS get $MPI brief"

# --- objects of others ---
kube create configmap taken-config --from-literal=a=b >/dev/null
mpijob taken '["true"]' | kube apply -f - >/dev/null
ok "a name that is taken is told" wait_until 30 sh -c "kubectl -n $NS get events | grep -q 'ErrResourceExists.*mpijob/taken'"
is "$(kube get configmap taken-config -o 'jsonpath={.data.a}')" b "the object is not touched"
kube delete configmap taken-config >/dev/null
ok "without it the job runs" wait_until 180 is_in $MPI taken Succeeded

# --- what is not a job ---
mpijob wrong '[true]' | sed 's/slotsPerWorker: 2/slotsPerWorker: 2\n  noSuchField: 1/; s/replicas: 2/replicas: 0/' | kube apply -f - >/dev/null 2>&1
ok "an invalid one is told as an event" wait_until 30 sh -c "kubectl -n $NS get events | grep -q 'ValidationError.*mpijob/wrong'"

mpijob wrong '["true"]' | kube apply -f - >/dev/null 2>&1
ok "when it is mended, it runs" wait_until 120 is_in $MPI wrong Succeeded

# --- what the cluster refuses ---
kube create quota none --hard=pods=0 >/dev/null
mpijob poor '["true"]' | kube apply -f - >/dev/null
refusals() { kube get events | grep -c 'FailedCreate.*mpijob/poor.*exceeded quota'; }
ok "a refused pod is told" wait_until 30 sh -c "kubectl -n $NS get events | grep -q 'FailedCreate.*mpijob/poor'"
sleep 5
ok "not with every try" test "$(refusals)" -le 2
ok "and it is not tried all the time" test "$("$KUBE" audit "$TESTER" | grep -c '^403 create pods.*poor')" -le 12
kube delete quota none >/dev/null
ok "with room for it, it runs" wait_until 180 is_in $MPI poor Succeeded

kill "$other"
wait "$other"
is $? 0 "it ends when it is told to"
is "$(refused | grep -v 'create pods .*/poor-')" "" "nothing but that was refused"
done_testing
