#!/bin/sh
# Every command of doc/kubernetes.md and of muster-kubernetes(7) is run on a real cluster and says what they show, with no
# other rights than those of doc/kubernetes-role.yaml. The images they name are the test cluster's own under these names.
#
# about: doc/kubernetes.md doc/kubernetes-role.yaml doc/man/muster-kubernetes.7 src/engine/kubernetes t/examples.py
. "${0%/*}/lib.sh"
need_cluster
KUBECONFIG=$KUBECONFIG kubectl config view --raw >admin.conf
ADMIN_KUBECONFIG=$WORK/admin.conf
kubectl --kubeconfig admin.conf config set-context --current --namespace "$NS" >/dev/null
for pair in library/debian:12=debian:12 library/python:3.12=torch:1 mpioperator/mpi-pi:openmpi=openmpi:4; do
    "$KUBE" image "docker.io/${pair%=*}" "local.test/${pair#*=}" >"$WORK/log" 2>&1 || diag "$(cat "$WORK/log")"
done
# An account without any right; the tour gives it those of the Role.
echo '{apiVersion: v1, kind: ConfigMap, metadata: {name: nothing}}' >none.yaml
KUBECONFIG=$(tester none.yaml) && export KUBECONFIG ADMIN_KUBECONFIG LIMIT

mkdir here build
ln -s "$TOP/examples" "$TOP/doc" here
ln -s "$MUSTER" build/muster
for program in muster-shim muster-shim-pod muster-kubernetes; do ln -s "${MUSTER%/*}/$program" build; done
PATH=$WORK/build:$PATH && export PATH

run_all() # FILE: a test for each of its commands
{
    python3 "$TOP/t/examples.py" here "$1" >examples 2>"$err" || result 1 "$1" "$(tail -n 3 "$err")"
    while IFS=$tab read -r word where command why; do
        [ "$word" = ok ]
        result $? "$where: $command" "$why"
    done <examples
}
tab=$(printf '\t')

# The user of the document is called jane and her namespace training; here it is a service account.
sed "s/--user jane/--serviceaccount $NS:tester/; s/training/$NS/" "$TOP/doc/kubernetes.md" >kubernetes.md
run_all kubernetes.md
ok "there are some" [ "$tests" -ge 10 ]
run_all "$TOP/doc/man/muster-kubernetes.7"

# --- what the page says of pods ------------------------------------------------------------------

KUBECONFIG=$ADMIN_KUBECONFIG kubectl label namespace "$NS" pod-security.kubernetes.io/enforce=restricted >/dev/null 2>&1
restricted() # IMAGE COMMAND: two replicas that the Pod Security level allows, with nothing to write to
{
    cat <<YAML
apiVersion: kubeflow.org/v1
kind: $3
metadata: {name: tight}
spec:
  $4:
    Worker:
      replicas: 2
      template:
        spec:
          securityContext: {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}
          containers:
          - name: $5
            image: $1
            command: [sh, -c, '$2']
            securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
YAML
}
# shellcheck disable=SC2016 # for the shell of the job
meet='id -u; touch /x 2>/dev/null && exit 3; getent hosts "$HOST" >/dev/null || { echo "no $HOST"; exit 4; }'
restricted debian:12 "HOST=tight-worker-0; $meet" PyTorchJob pytorchReplicaSpecs pytorch >tight.yaml
run_job --on kubernetes --no-restart tight.yaml
is "$rc $(sort "$out" | tr '\n' ' ')" "0 [worker-0] 1000 [worker-1] 1000 " "Pod Security restricted, user 1000, a read-only root: names resolve"
# shellcheck disable=SC2016
restricted debian:12 "HOST=\$(echo \$TF_CONFIG | grep -o \"tight-worker-1[a-z0-9.-]*\"); $meet" TFJob tfReplicaSpecs tensorflow >tf.yaml
run_job --on kubernetes --no-restart tf.yaml
is "$rc $(sort "$out" | tr '\n' ' ')" "0 [worker-0] 1000 [worker-1] 1000 " "also those of TF_CONFIG"
cat >own.yaml <<'YAML'
apiVersion: muster/v1
name: own
roles:
  worker: {replicas: 2, image: "debian:12", command: 'getent hosts "$MASTER_ADDR" >/dev/null && echo "$MASTER_ADDR"'}
YAML
KUBECONFIG=$ADMIN_KUBECONFIG kubectl label namespace "$NS" pod-security.kubernetes.io/enforce- >/dev/null
run_job --on kubernetes own.yaml
like "$rc $(cat "$out")" "^0 .* worker-0\.muster-[a-z0-9-]*\.$NS\.svc\$" "names of a job are in its namespace"
is "$(refused)" "" "with the least Role nothing was refused"
done_testing
