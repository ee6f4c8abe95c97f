#!/bin/sh
# muster generate: the ksonnet prototypes, compared as documents, and what users do with them.
. "${0%/*}/lib.sh"

python3 -c 'import yaml' 2>/dev/null || skip_all "no python3 with yaml"

for golden in "$TOP"/t/generate/*.yaml ${MUSTER_CORPUS:+"$MUSTER_CORPUS"/kubeflow-mpi-v1alpha1/ksonnet-*.yaml}; do
    ok "2.8: ${golden##*/} is what generate writes" \
        python3 "$TOP/t/lib/generate.py" "$MUSTER" "$golden"
done
[ -n "${MUSTER_CORPUS:-}" ] || skip "MUSTER_CORPUS is not set: ksonnet's own documents"

run_muster generate --list
is "$rc $(awk '{ print $1 }' "$out" | tr '\n' ' ')" "0 mpi-operator mpi-job-simple mpi-job-custom " \
    "2.1: --list shows the three prototypes"
run_muster generate mpi-operator mpi-operator -o json
is "$(json items.# "$out") $(json items.0.kind "$out") $(json items.4.kind "$out")" \
    "5 CustomResourceDefinition Deployment" "2.5: the operator is a List of five objects"
is "$(json items.4.spec.template.spec.containers.0.args "$out")" \
    '["-alsologtostderr", "--gpus-per-node", "8", "--kubectl-delivery-image", "mpioperator/kubectl-delivery:latest"]' \
    "2.5: with the defaults of upstream"
run_muster generate mpi-job-simple --help
like "$(cat "$out")" '--gpus N .*default: 1' "2.9: a prototype's help has the defaults"

run_muster generate mpi-job-simple tensorflow-benchmark-16 --gpus 16
cp "$out" "$WORK/simple.yaml"
run_muster generate io.ksonnet.pkg.mpi-job-simple --gpus=16 --name tensorflow-benchmark-16
ok "2.3: --gpus 16, --gpus=16, --name and full names" cmp "$out" "$WORK/simple.yaml"
run_muster validate "$WORK/simple.yaml"
is "$rc" 0 "what generate writes is accepted"
like "$(cat "$out")" 'launcher 1, worker 2 x 8 slots' "2.10: 16 GPUs on nodes of 8"

run_muster generate mpi-job-simple x --command null --args null -o json
is "$(json spec.template.spec.containers.0 "$out")" \
    '{"name": "x", "image": "mpioperator/tensorflow-benchmarks:latest"}' "2.6: null means absent"
run_muster generate mpi-job-custom x --pvcName claim -o json
like "$(json spec.template.spec.volumes "$out")" '^no ' "2.7: no volume without both of its parameters"

refused() # WORDS NAME ARG…
{
    words=$1 name=$2
    shift 2
    run_muster generate "$@"
    is "$rc" 2 "$name: exit 2"
    like "$(cat "$err")" "$words" "$name: says why"
}
refused 'did you mean --gpus' "2.3: an unknown option" mpi-job-simple x --gpuz 16
refused 'did you mean mpi-job-simple' "an unknown prototype" mpi-job-simpel x
refused 'must be a number' "2.6: no number" mpi-job-simple x --gpus many
refused '1, 2, 4 or a multiple of 8' "2.6: a count the CRD refuses" mpi-job-simple x --gpus 12
refused 'must be a number' "2.7: no number of replicas" mpi-job-custom x --replicas 0
refused 'a NAME is required' "no name" mpi-job-simple
refused 'a PROTOTYPE is required' "no prototype"
done_testing
