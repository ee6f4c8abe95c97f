#!/bin/sh
# Real training in a cluster: torch's DistributedDataParallel between pods on three nodes. What was learnt is in files on a volume,
# and is judged by t/frameworks/check.py: the same on all ranks, right, and to the last bit what one machine learns.
#
# about: src/engine/kubernetes src/engine/frames src/shim src/kube src/plan examples/frameworks t/frameworks/check.py
. "${0%/*}/lib.sh"
need_cluster
/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip_all "no numpy here"
LIMIT=300
admin=$KUBECONFIG
export PYTHONDONTWRITEBYTECODE=1

# --- a volume that this machine sees, too --------------------------------------------------------

mkdir claim
cp "$TOP/examples/frameworks/train_ddp.py" "$TOP/examples/frameworks/problem.py" claim
cat >volume.yaml <<YAML
apiVersion: v1
kind: PersistentVolume
metadata: {name: $NS}
spec:
  capacity: {storage: 1Mi}
  accessModes: [ReadWriteMany]
  storageClassName: ""
  hostPath: {path: $WORK/claim}
  claimRef: {namespace: $NS, name: code}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: code, namespace: $NS}
spec: {accessModes: [ReadWriteMany], storageClassName: "", resources: {requests: {storage: 1Mi}}, volumeName: $NS}
YAML
kube apply -f volume.yaml >/dev/null
KUBECONFIG=$(tester "$TOP/doc/kubernetes-role.yaml") && export KUBECONFIG

judge() # NAME RANKS
{
    ok "$1: the ranks have learnt the same, and it is right" /usr/bin/python3 "$TOP/t/frameworks/check.py" claim/weights "$2"
    rm -rf "$1"
    mv claim/weights "$1"
}

train() # NAME RANKS FILE [OPTION…]
{
    name=$1 ranks=$2 file=$3
    shift 3
    rm -rf claim/weights
    run_job --on kubernetes --namespace "$NS" --image '*=local.test/torch:1' --code-volume code "$@" "$file"
    is "$rc" 0 "$name: ends with 0" || diag "$(tail -n 20 "$err")"
    judge "$name" "$ranks"
}

equal() # NAME NAME: to the last bit
{
    /usr/bin/python3 - "$1/0.npz" "$2/0.npz" <<'PYTHON'
import sys
import numpy as np
a, b = map(np.load, sys.argv[1:])
for name in "w1", "b1", "w2", "b2":
    if a[name].tobytes() != b[name].tobytes():
        sys.exit(f"{name} differs by {np.abs(a[name] - b[name]).max()}")
PYTHON
}

# --- four ranks ----------------------------------------------------------------------------------

train two-pods 4 "$TOP/examples/frameworks/ddp.yaml"
train one-pod 4 "$TOP/examples/frameworks/ddp.yaml" --set roles.worker.replicas=1 --set roles.worker.slots=4
ok "two pods learn what one does" equal two-pods one-pod

# --- three nodes ---------------------------------------------------------------------------------

# pods that share no node: it can only run on three
spread='      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {muster.internal/job: ddp}}}]}}'
sed "s|^          containers:|    $spread\n&|" "$TOP/examples/frameworks/pytorchjob.yaml" >spread.yaml
train three-nodes 3 spread.yaml
train one-node 3 "$TOP/examples/frameworks/ddp.yaml" --set roles.worker.replicas=1 --set roles.worker.slots=3
ok "three nodes learn what one does" equal three-nodes one-node

is "$(KUBECONFIG=$admin refused)" "" "with the least Role nothing was refused"
KUBECONFIG=$admin kube delete -f volume.yaml --wait=false >/dev/null 2>&1
done_testing
