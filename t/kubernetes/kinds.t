#!/bin/sh
# One job file of every kind, byte for byte, in a cluster: its programs find all their peers by the dialect's own variables and
# talk to each of them, where the plan said they would be. What seeds.t and mpi.t have is not here again.
#
# about: src/engine/kubernetes src/engine/frames src/shim src/kube src/plan src/dialect examples
. "${0%/*}/lib.sh"
need_cluster
have_mpi openmpi || skip_all "no Open MPI here"
EXAMPLES=$TOP/examples LIMIT=240

# Nodes that say they have GPUs, as the files ask for them: nothing here uses one.
for node in $(kubectl get nodes -o name); do
    kubectl patch "$node" --subresource=status --type=merge -p \
        '{"status": {"capacity": {"nvidia.com/gpu": "32"}, "allocatable": {"nvidia.com/gpu": "32"}}}' >/dev/null
done

# Open MPI with a python that has json, and the programs where files without code of their own look for them: in /.
mkdir -p root/usr/bin root/usr/lib/python3.11 root/usr/local/bin
ln -s python3 root/usr/bin/python
cp -RL "$(python3 -c 'import json; print(json.__path__[0])')" root/usr/lib/python3.11/json
rm -rf root/usr/lib/python3.11/json/__pycache__
cp "$TOP/t/standins/horovodrun" root/usr/local/bin
cp "$EXAMPLES/azureml/src/train.py" "$EXAMPLES/openpai/peers.py" "$PROGRAMS/openmpi/random_walk" root
image=test.local/kinds:$$
ok "an image with Open MPI and the programs" "$KUBE" image "$image" local.test/openmpi:4 "$WORK/root"
KUBECONFIG=$(tester "$TOP/doc/kubernetes-role.yaml") && export KUBECONFIG

ends_well() # FILE OPTION…
{
    file=$1 name=${1##*/}
    shift
    set -- --on kubernetes --namespace "$NS" --image "*=$image" "$@" "$file"
    "$MUSTER" explain -o json "$@" >explain.json 2>"$err"
    run_job "$@"
    is "$rc $(report engine)" "0 kubernetes" "$name: ends with 0" || diag "$(tail -n 20 "$err")"
}

meet() # FILE RANKS REPLICAS [OPTION…]
{
    file=$1 want="$2 on $3"
    shift 3
    ends_well "$file" "$@"
    is "$(python3 "$TOP/t/lib/check_peers.py" explain.json "$out" names 2>&1)" "$want" "$name: everyone met everyone, where explain said" ||
        diag "$(tail -n 20 "$err")"
}

walk() # FILE WORKER…: their names, in the order of ranks
{
    file=$1
    shift
    ends_well "$file"
    is "$(sed -nE 's/^\[(worker-[0-9])\/([0-9])\] rank ([0-9]) of 4 .*/\1 \2 \3/p' "$out" | sort | tr '\n' ' ')" \
        "worker-0 0 0 worker-0 1 1 worker-1 2 2 worker-1 3 3 " "$name: ranks where they belong, in one world"
}

# --- MPIJob of each version ----------------------------------------------------------------------

"$MUSTER" generate mpi-job-simple simple --gpus 4 >simple.yaml
"$MUSTER" generate mpi-job-custom custom --replicas 2 --gpusPerReplica 3 >custom.yaml
like "$(cat simple.yaml)" 'kubeflow.org/v1alpha1' "the ksonnet packages make the first version"
meet simple.yaml 4 1 --entrypoint 'mpirun --allow-run-as-root --oversubscribe python3 train.py'
meet custom.yaml 6 2 --entrypoint 'mpirun --allow-run-as-root --oversubscribe python3 train.py'
walk "$EXAMPLES/kubeflow/mpi-v1alpha2.yaml"
walk "$EXAMPLES/kubeflow/mpi-v1.yaml"
walk "$EXAMPLES/kubeflow/mpi-v2beta1.yaml"

# --- OpenPAI, Azure ML, muster/v1 ----------------------------------------------------------------

meet "$EXAMPLES/openpai/horovod-job-mpi.json" 2 2
meet "$EXAMPLES/azureml/mpi-amlcompute.yaml" 16 4
meet "$EXAMPLES/azureml/mpi-horovodrun.yaml" 16 4
meet "$EXAMPLES/azureml/mpi-k8s.yaml" 16 4
meet "$EXAMPLES/azureml/pytorch.yaml" 16 4
meet "$EXAMPLES/azureml-ga/pytorch.yaml" 4 2
meet "$EXAMPLES/azureml-ga/mpi.yaml" 4 2
meet "$EXAMPLES/azureml-ga/tensorflow.yaml" 6 2
meet "$EXAMPLES/muster/pytorch.yaml" 4 2
meet "$EXAMPLES/muster/tensorflow.yaml" 3 3
walk "$EXAMPLES/muster/mpi.yaml"
is "$(refused)" "" "with the least Role nothing was refused"
done_testing
