#!/bin/sh
# install.t - the operator as people install it: its image, the objects of `muster generate operator`, its own service
# account, and a job by `muster apply`.
#
# It serves this script's namespace only (others use the cluster, too); its own namespace is $NS-system.
#
# about: src/operator deploy tools/image tools/deploy src/cli/generate_operator.c src/cli/apply.c
. "${0%/*}/lib.sh"
need_cluster

OWN=$NS-system
IMAGE=local.test/muster-operator:$$
trap 'kubectl --kubeconfig "$ADMIN" delete --ignore-not-found --wait=false -f "$WORK/operator.yaml" >/dev/null 2>&1
    kubectl --kubeconfig "$ADMIN" delete namespace "$NS" --wait=false >/dev/null 2>&1; rm -rf "$WORK" "$USER_DIR"' EXIT
"$TOP/tools/image" --build "${MUSTER%/*}" --name "$IMAGE" --output image.tar >/dev/null
is "$("$KUBE" load image.tar)" "$IMAGE" "the image is where nodes pull from"

# CRDs that are there already stay as they are.
kubectl get crd mpijobs.kubeflow.org >/dev/null 2>&1 || "$MUSTER" generate crds | kubectl apply --server-side -f - >/dev/null
ok "the API server accepts all objects" sh -c "'$MUSTER' generate operator --image '$IMAGE' --namespace default | kubectl apply --server-side --force-conflicts --dry-run=server -f -"
"$MUSTER" generate operator --no-crds --image "$IMAGE" --namespace "$OWN" -- --namespace "$NS" >operator.yaml
ok "they are applied" kubectl apply --server-side -f operator.yaml
ok "the operator becomes ready" kubectl -n "$OWN" rollout status deployment/muster-operator --timeout=120s
bundle() { [ -n "$(kubectl get validatingwebhookconfiguration muster-operator -o 'jsonpath={.webhooks[0].clientConfig.caBundle}')" ]; }
ok "its webhook is known to the API server" wait_until 60 bundle

cat >job.yaml <<'YAML'
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi}
spec:
  runPolicy: {cleanPodPolicy: Running, backoffLimit: 0}
  sshAuthMountPath: /home/mpiuser/.ssh
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template: {spec: {containers: [{name: l, image: "local.test/sshd:1", securityContext: {runAsUser: 1000}, command: [mpirun, -np, "2", hostname]}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: w, image: "local.test/sshd:1", securityContext: {runAsUser: 1000}, command: [/usr/sbin/sshd, -De, -f, /home/mpiuser/.sshd_config]}]}}
YAML
run_muster apply -f job.yaml -n "$NS" --wait
is "$rc" 0 "a job runs to its end"
like "$(tail -n 1 "$out")" '^mpijob.kubeflow.org/pi Succeeded: ' "and says so"
sed 's/hostname\]/sh, -c, "exit 7"]/; s/name: pi/name: bad/' job.yaml >bad.yaml
run_muster apply -f bad.yaml -n "$NS" --wait
is "$rc" 1 "one that fails: exit 1"
like "$(tail -n 1 "$out")" 'Failed: .*First failure: ' "with the first failure"

denied() { sed 's/replicas: 2/replicas: 0/; s/name: pi/name: none/' job.yaml | kube apply -f - 2>&1 | grep -q 'admission webhook .* denied the request: .*Worker.replicas'; }
ok "kubectl apply of an invalid one is refused" wait_until 30 denied
kubectl get --raw "/api/v1/namespaces/$OWN/services/muster-operator:metrics/proxy/metrics" >metrics
like "$(cat metrics)" '^mpi_operator_jobs_successful_total 1$' "it is counted"
like "$(cat metrics)" '^mpi_operator_jobs_failed_total 1$' "both are"
is "$("$KUBE" audit "system:serviceaccount:$OWN:muster-operator" | grep '^403')" "" "nothing was refused to its service account"
done_testing
