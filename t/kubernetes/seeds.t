#!/bin/sh
# The examples of the documents Muster grew from, and one of each dialect, unchanged in a cluster: programs find
# all their peers by the dialect's own variables and talk to each of them, where the plan said they would be.
# Those of PyTorch meet through a real torch.distributed.
#
# about: src/engine/kubernetes src/engine/frames src/shim src/kube src/plan src/dialect examples
. "${0%/*}/lib.sh"
need_cluster
EXAMPLES=$TOP/examples

# Nodes that say they have GPUs, as the files ask for them: nothing here uses one.
for node in $(kubectl get nodes -o name); do
    kubectl patch "$node" --subresource=status --type=merge -p \
        '{"status": {"capacity": {"nvidia.com/gpu": "32"}, "allocatable": {"nvidia.com/gpu": "32"}}}' >/dev/null
done
mkdir -p root/usr/bin
ln -s python3 root/usr/bin/python
ok "an image with python and torch" "$KUBE" image local.test/train:2 local.test/torch:1 "$WORK/root"

KUBECONFIG=$(tester "$TOP/doc/kubernetes-role.yaml") && export KUBECONFIG

try() # FILE RANKS REPLICAS [OPTION…]
{
    file=$1 want="$2 on $3" name=${1##*/}
    shift 3
    set -- --on kubernetes --namespace "$NS" --image '*=local.test/train:2' "$@" "$EXAMPLES/$file"
    "$MUSTER" explain -o json "$@" >explain.json 2>"$err"
    run_job "$@"
    is "$rc $(report engine)" "0 kubernetes" "$name: ends with 0" || diag "$(tail -n 20 "$err")"
    is "$(python3 "$TOP/t/lib/check_peers.py" explain.json "$out" names 2>&1)" "$want" \
        "$name: everyone met everyone, where explain said" || diag "$(tail -n 20 "$err")"
}

try azureml/pytorch-k8s.yaml 4 4
try azureml/tf-multiworker.yaml 4 4
try azureml/tf-ps.yaml 6 6
try azureml/tf-ps-k8s.yaml 6 6
try openpai/ddp.yaml 4 4 --code "$EXAMPLES/openpai"
try kubeflow/pytorch.yaml 4 4 --code "$EXAMPLES/kubeflow"
try kubeflow/tf.yaml 4 4 --code "$EXAMPLES/kubeflow"
is "$(refused)" "" "with the least Role nothing was refused"
done_testing
