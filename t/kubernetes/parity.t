#!/bin/sh
# parity.t - the same job files give the same objects as with the operators that users know, but for listed differences
# (parity/*.allowed). etcd and API server alone; mpi-operator and training-operator are built from their published modules.
#
# about: src/operator src/job src/dialect/kubeflow src/plan
. "${0%/*}/lib.sh"
HERE=$top/t/kubernetes/parity
missing=$("$top/tools/kubernetes" --cached mpi-operator training-operator) ||
    skip_all "$(printf '%s\n' "$missing" | sed -n 's/^SKIP //p' | head -n 1) mpi-operator training-operator"
need_api
part() { for d in "$MUSTER_KUBERNETES/$1"-*/made; do echo "${d%/made}"; done | tail -n 1; }
OURS=$NS-ours THEIRS=$NS-theirs
kubectl create namespace "$OURS" >/dev/null
kubectl create namespace "$THEIRS" >/dev/null
pids=
trap 'kill $pids 2>/dev/null; kubectl --kubeconfig "$ADMIN" delete namespace "$NS" "$OURS" "$THEIRS" --wait=false >/dev/null 2>&1; rm -rf "$WORK"' EXIT

established() # CRD…
{
    # kubectl fails at once if there are no conditions yet
    for crd; do wait_until 60 kubectl wait --for=condition=Established --timeout=60s "crd/$crd" || return; done
}

compare() # OPERATOR FILE…
{
    "${MUSTER%/*}/muster-operator" --namespace "$OURS" 2>ours.log &
    ours=$! pids="$ours $theirs"
    # shellcheck disable=SC2086 # a list
    python3 "$HERE/parity.py" "$OURS" "$THEIRS" "$HERE/$1.allowed" $files >"$1.tap" 2>"$1.err"
    rc=$?
    cat "$1.tap" >&2
    is $rc 0 "$1: its objects and ours are there"
    [ $rc -eq 0 ] || tail -n 5 "$1.err" ours.log theirs.log >&2
    while read -r result _ _ name; do
        case $result in
        ok) ok "$1: $name" true ;;
        not) ok "$1: ${name#- }" false ;;
        esac
    done <<EOF
$(grep -E '^(ok|not ok) ' "$1.tap")
EOF
    kill $ours $theirs
    wait $ours $theirs 2>/dev/null
    # nobody collects what they own: another job of the same name would find it
    for namespace in "$OURS" "$THEIRS"; do
        kubectl -n "$namespace" delete mpijobs,pytorchjobs,tfjobs --all >/dev/null 2>&1
        kubectl -n "$namespace" delete pods,jobs,services,configmaps,secrets,roles,rolebindings,serviceaccounts --all --force >/dev/null 2>&1
    done
}

# --- mpi-operator: v2beta1 ---
dir=$(part mpi-operator)
kubectl apply --server-side --force-conflicts -f "$dir/kubeflow.org_mpijobs.yaml" >/dev/null
ok "mpi-operator's CRD is there" established mpijobs.kubeflow.org
"$dir/mpi-operator" -namespace "$THEIRS" -lock-namespace "$THEIRS" 2>theirs.log &
theirs=$!
files="$top/examples/kubeflow/mpi-v2beta1.yaml $top/t/operator/mpi-openmpi.yaml $top/t/operator/mpi-intel.yaml $top/t/operator/mpi-mpich.yaml
    $HERE/pi-user.yaml $HERE/benchmarks.yaml $HERE/as-worker.yaml $HERE/alone.yaml $HERE/suspended.yaml $HERE/network.yaml"
compare mpi-operator
kubectl delete crd mpijobs.kubeflow.org >/dev/null

# --- training-operator: PyTorchJob, TFJob, MPIJob v1 ---
dir=$(part training-operator)
kubectl apply --server-side --force-conflicts -f "$dir" >/dev/null 2>&1
ok "training-operator's CRDs are there" established mpijobs.kubeflow.org pytorchjobs.kubeflow.org tfjobs.kubeflow.org
# It waits for a certificate of its webhook, which it makes itself, as files in /tmp, where a pod would have them. Nobody calls it.
kubectl -n "$THEIRS" create secret generic training-operator-webhook-cert >/dev/null
kubectl apply -f - >/dev/null <<'YAML'
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: validator.training-operator.kubeflow.org}, webhooks: []}
YAML
mkdir -p certs/k8s-webhook-server/serving-certs
# shellcheck disable=SC2016 # the inner shell expands
MY_POD_NAMESPACE=$THEIRS unshare -rm sh -c 'mount --bind "$0" /tmp && exec "$@"' "$PWD/certs" "$dir/training-operator" --namespace "$THEIRS" --metrics-bind-address=127.0.0.1:0 \
    --health-probe-bind-address=127.0.0.1:0 --webhook-server-port=0 >theirs.log 2>&1 &
theirs=$!
cert() { kubectl -n "$THEIRS" get secret training-operator-webhook-cert -o "jsonpath={.data.${1%.*}\\.${1#*.}}" | base64 -d; }
has_cert() { [ -n "$(cert tls.crt)" ]; }
ok "it has made its certificate" wait_until 60 has_cert
for f in ca.crt ca.key tls.crt tls.key; do cert $f >"certs/k8s-webhook-server/serving-certs/$f"; done
files="$top/examples/kubeflow/pytorch.yaml $top/examples/kubeflow/tf.yaml $top/examples/kubeflow/mpi-v1.yaml $top/t/operator/pytorch-master.yaml
    $top/t/operator/pytorch-elastic.yaml $top/t/operator/pytorch-nproc.yaml $top/t/operator/tf-chief.yaml $top/t/operator/tf-dynamic.yaml
    $top/t/operator/tf-single.yaml $top/t/operator/mpi-v1.yaml $HERE/pytorch-simple.yaml $HERE/pytorch-imagenet.yaml $HERE/tf-mnist.yaml
    $HERE/tf-exit-code.yaml $HERE/mpi-v1-horovod.yaml"
compare training-operator
kubectl delete crd mpijobs.kubeflow.org pytorchjobs.kubeflow.org tfjobs.kubeflow.org >/dev/null
kubectl delete validatingwebhookconfiguration validator.training-operator.kubeflow.org >/dev/null
done_testing
