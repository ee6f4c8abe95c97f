#!/bin/sh
# records.t - how ranks end, on a real cluster: by ssh (v2beta1), by the shim (v1), and with MPICH; jobs that are debugged.
#
# about: src/operator src/shim deploy/base
# shellcheck disable=SC2016 # shells in pods expand
. "${0%/*}/lib.sh"
need_cluster

python3 "$TOP/t/lib/deploy.py" role "$TOP/deploy/base/rbac.yaml" >role.yaml
kubectl get crd mpijobs.kubeflow.org >/dev/null 2>&1 || kubectl apply -f "$TOP/deploy/base/crds.yaml" >/dev/null
OPERATOR=${MUSTER%/*}/muster-operator
KUBECONFIG=$(tester role.yaml) "$OPERATOR" --namespace "$NS" 2>>operator.log &
operator=$!
MPI=mpijobs.kubeflow.org

is_in() # NAME CONDITION: does it hold?
{
    kube get $MPI "$1" -o "jsonpath={.status.conditions[?(@.type==\"$2\")].status}" | grep -q True
}
message() # NAME CONDITION
{
    kube get $MPI "$1" -o "jsonpath={.status.conditions[?(@.type==\"$2\")].message}"
}

mpijob() # VERSION NAME COMMAND [ANNOTATION]
{
    user='securityContext: {runAsUser: 1000}'
    case $1 in
    v2beta1) more='sshAuthMountPath: /home/mpiuser/.ssh' sshd=', command: [/usr/sbin/sshd, -De, -f, /home/mpiuser/.sshd_config]' ;;
    *) more='' sshd='' ;;
    esac
    cat <<EOF
apiVersion: kubeflow.org/$1
kind: MPIJob
metadata: {name: $2, annotations: {${4:-a: b}}}
spec:
  slotsPerWorker: 2
  runPolicy: {cleanPodPolicy: Running, backoffLimit: 0}
  ${more:-# by the shim}
  mpiReplicaSpecs:
    Launcher: {replicas: 1, restartPolicy: Never, template: {spec: {containers: [{name: l, image: "local.test/sshd:1", $user, command: $3}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: w, image: "local.test/sshd:1", $user$sshd}]}}}
EOF
}

# The last rank is on another node than the launcher, or at least in another pod.
for version in v2beta1 v1; do
    mpijob $version "bad-$version" '[mpirun, -np, "4", sh, -c, "sleep 2; [ $OMPI_COMM_WORLD_RANK != 3 ] || exit 7; sleep 30"]' | kube apply -f - >/dev/null
    ok "$version: a job with a rank that fails has failed" wait_until 180 is_in "bad-$version" Failed
    like "$(message "bad-$version" Failed)" 'First failure: rank 3 on worker-1 exited with status 7' "the rank and its worker are named"
done
mpijob v2beta1 hidden '[sh, -c, "mpirun -np 4 sh -c '"'"'kill -SEGV $$$$'"'"'; exit 0"]' | kube apply -f - >/dev/null
ok "a launcher that ends with 0 has succeeded" wait_until 180 is_in hidden Succeeded
like "$(message hidden Succeeded)" 'However, rank [0-3] on worker-[01] was killed by SIGSEGV' "and its status tells the rank that failed"
is "$(kube get $MPI hidden -o 'jsonpath={.metadata.annotations.muster\.internal/exit-code}')" 139 "so does its exit code"
ok "a warning is sent" wait_until 20 sh -c "kubectl -n $NS get events | grep -q 'Warning.*MPIJobSucceeded.*mpijob/hidden.*SIGSEGV'"

mpijob v2beta1 fine '[mpirun, -np, "4", sh, -c, "echo rank $OMPI_COMM_WORLD_RANK"]' | kube apply -f - >/dev/null
ok "a job whose ranks end with 0" wait_until 180 is_in fine Succeeded
is "$(message fine Succeeded)" "MPIJob $NS/fine successfully completed." "is told in upstream's words"
is "$(kube logs job/fine-launcher | sort | tr '\n' ' ')" "rank 0 rank 1 rank 2 rank 3 " "its output is that of its ranks alone"
like "$(kube get pods -l training.kubeflow.org/job-name=fine -o 'jsonpath={.items[*].status.containerStatuses[0].state.terminated.message}')" \
    'muster-ranks: .*"ok":4' "the launcher's message counts them"
mpijob v2beta1 plain '[mpirun, -np, "4", "false"]' 'muster.internal/rank-records: "false"' | kube apply -f - >/dev/null
ok "a job that does not want records fails" wait_until 180 is_in plain Failed
like "$(message plain Failed)" 'First failure: launcher-0 exited with status 1' "as upstream's would"

# --- debugging ---
mpijob v2beta1 look '[mpirun, -np, "4", hostname]' 'muster.internal/debug: "true"' | kube apply -f - >/dev/null
running() { kube get pods -l training.kubeflow.org/job-name=look -o 'jsonpath={.items[*].status.phase}' | grep -qx 'Running Running Running'; }
ok "a job that is debugged has all its pods" wait_until 180 running
launcher=$(kube get pods -l training.kubeflow.org/job-name=look,training.kubeflow.org/job-role=launcher -o name)
is "$(kube exec "$launcher" -- mpirun -np 4 hostname 2>&1 | sort -u | tr '\n' ' ')" "look-worker-0 look-worker-1 " "mpirun by hand reaches its workers"
kube annotate $MPI look muster.internal/debug- >/dev/null
ok "then it runs to its end" wait_until 180 is_in look Succeeded
is "$(kube logs job/look-launcher | sort | uniq -c | tr -s ' \n' ' ')" " 2 look-worker-0 2 look-worker-1 " "in new pods, with its own command"

is "$(refused)" "" "nothing was refused to the operator"
kill $operator
wait $operator
is $? 0 "it ends when it is told to"
done_testing
