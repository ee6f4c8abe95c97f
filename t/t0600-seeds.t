#!/bin/sh
# Every example of the documents Muster grew from runs here, unchanged: the programs find all their
# peers by their dialect's own variables and talk to each of them, where the plan said they would be.
#
# Files that call horovodrun have a stand-in of that name here; torch.distributed.launch has one among the
# examples. All files
# run at level names; at the other levels and as an ordinary user one of each dialect (make soak: all).
# shellcheck disable=SC2016 # what is in single quotes is for the shells of jobs
. "${0%/*}/lib.sh"
LIMIT=100

EXAMPLES=$TOP/examples
export PATH="$TOP/t/standins:$PATH" PYTHONPATH="$TOP/t/standins/python" PYTHONDONTWRITEBYTECODE=1

have_mpi openmpi || skip_all "no Open MPI here"
ok "the files are the documents' own" sh -c "cd '$TOP' && sha256sum -c --quiet t/seeds.sha256"

# --- what runs -----------------------------------------------------------------------------------

mkdir "$WORK/kube"
cp "$EXAMPLES/azureml/src/train.py" "$WORK/kube"
"$MUSTER" generate mpi-job-simple simple --gpus 4 >"$WORK/kube/simple.yaml"
"$MUSTER" generate mpi-job-custom custom --replicas 2 --gpusPerReplica 3 >"$WORK/kube/custom.yaml"

# file, ranks and replicas that speak, in every dialect's own words; * marks one of each dialect
cat >"$WORK/files" <<FILES
$EXAMPLES/azureml/mpi-amlcompute.yaml    16 4
$EXAMPLES/azureml/mpi-horovodrun.yaml    16 4
$EXAMPLES/azureml/mpi-k8s.yaml           16 4
$EXAMPLES/azureml/pytorch.yaml           16 4
$EXAMPLES/azureml/pytorch-k8s.yaml       4 4
$EXAMPLES/azureml/tf-multiworker.yaml    4 4
$EXAMPLES/azureml/tf-ps.yaml             6 6 *
$EXAMPLES/azureml/tf-ps-k8s.yaml         6 6
$EXAMPLES/openpai/ddp.yaml               4 4 *
$EXAMPLES/openpai/horovod-job-mpi.json   2 2 *
$WORK/kube/simple.yaml                   4 1 *
$WORK/kube/custom.yaml                   6 2
FILES

this_user()
{
    "$@"
}

# Runs FILE and compares what its programs say with what explain said before.
try() # this_user|as_user LEVEL FILE RANKS REPLICAS
{
    who=$1 level=$2 file=$3 name="${3##*/}, $2, $1" want="$4 on $5" muster=$MUSTER
    [ "$who" = this_user ] || muster=$USER_DIR/muster
    set -- --isolate "$level"
    case $file in # their image has no command
    */kube/*) set -- "$@" --entrypoint 'mpirun python3 train.py' ;;
    esac
    $who "$muster" explain -o json "$@" "$file" >"$WORK/explain.json" 2>"$err"
    $who timeout -k 5 "$LIMIT" "$muster" run "$@" "$file" >"$out" 2>"$err" </dev/null
    rc=$?
    is "$rc" 0 "$name: ends with 0" || diag "$(tail -n 20 "$err")"
    is "$(python3 "$TOP/t/lib/check_peers.py" "$WORK/explain.json" "$out" "$level" 2>&1)" "$want" \
        "$name: everyone met everyone, where explain said" || diag "$(tail -n 20 "$err")"
}

while read -r file ranks replicas all; do
    try this_user names "$file" "$ranks" "$replicas"
    if [ -n "$all$SOAK" ]; then
        try this_user network "$file" "$ranks" "$replicas"
        try this_user none "$file" "$ranks" "$replicas"
    fi
done <"$WORK/files"

if can_be_user; then
    user_copy
    cp -R "$EXAMPLES" "$WORK/kube" "$TOP/t/standins" "$USER_DIR"
    chown -R "$USER_ID" "$USER_DIR"
    export PATH="$USER_DIR/standins:$PATH" PYTHONPATH="$USER_DIR/standins/python"
    sed "s,$EXAMPLES,$USER_DIR/examples,; s,$WORK/kube,$USER_DIR/kube," "$WORK/files" >"$WORK/files.user"
    while read -r file ranks replicas all; do
        [ -z "$all$SOAK" ] || try as_user names "$file" "$ranks" "$replicas"
        [ -z "$SOAK" ] || try as_user network "$file" "$ranks" "$replicas"
        [ -z "$SOAK" ] || try as_user none "$file" "$ranks" "$replicas"
    done <"$WORK/files.user"
    try as_user network "$USER_DIR/examples/azureml/tf-ps.yaml" 6 6
    try as_user none "$USER_DIR/examples/openpai/ddp.yaml" 4 4
else
    skip "cannot become a user that may have namespaces" 12
fi

# --- the job that cannot run ---------------------------------------------------------------------

# Seed 003's command is a placeholder: after its sleep it is "Your code", and there is no such program.
job=$EXAMPLES/openpai/horovod-job.json
run_job --skip-start-sleep "$job"
is "$rc" 127 "3.8: the placeholder of seed 003 ends with 127, before anything is started"
is "$(report cause.replica) $(report cause.kind) $(report cause.exit_code)" "master-0 exec 127" "3.8: told rightly"
is "$(report attempts.0.replicas.1.outcome)" never-started "3.7: its worker never started"
has_shape report "$REPORT" "the report has its shape"
run_muster explain --skip-start-sleep "$job"
like "$(cat "$out")" 'sleep 1000' "3.8: explain shows what was dropped"
run_muster validate "$job"
is "$rc" 0 "3.8: the file is accepted as it is"
like "$(cat "$err")" 'warning.*sleep' "3.8: with a warning about its sleep"
run_job "$EXAMPLES/openpai/horovod-job-mpi.json"
is "$rc $(report outcome)" "0 succeeded" "3.7: the master ends with 0 and so does the job"
is "$(json attempts.0.replicas.1.name "$REPORT") $(report attempts.0.replicas.1.outcome)" "worker-0 stopped" \
    "3.7: 'sleep infinity' is stopped, not failed"

# An mpirun that a task calls has ranks of its own: the first of them to fail is named.
sed "s/python3 peers.py/sh -c 'exit \$((OMPI_COMM_WORLD_RANK * 5))'/" "$EXAMPLES/openpai/horovod-job-mpi.json" >"$WORK/fails.json"
run_job "$WORK/fails.json"
is "$rc $(report cause.replica) $(report cause.rank)" "5 worker-0 1" "a rank of a task's own mpirun is the first failure"

"$MUSTER" generate mpi-job-simple args --args 'one,two words' >"$WORK/args.yaml"
run_job --entrypoint 'printf "<%s>"' "$WORK/args.yaml"
is "$rc $(cat "$out")" "0 [launcher-0] <one><two words>" "2.4: an entry point gets the file's arguments"
run_job "$WORK/args.yaml"
is "$rc" 125 "2.4: without one the job is refused"
like "$(cat "$err")" "mpioperator/tensorflow-benchmarks:latest.*args .one .two words.. are appended; try --entrypoint" "2.4: the image and the option are named"
like "$(cat "$err")" "--entrypoint exec" "2.4: and what to do if the image has no entry point"
like "$("$MUSTER" explain "$WORK/args.yaml" 2>&1)" "  one 'two words'" "2.4: explain shows the arguments"
"$MUSTER" generate mpi-job-simple args --args 'printf,<%s>,whole command' >"$WORK/args.yaml"
run_job --entrypoint exec "$WORK/args.yaml"
is "$rc $(cat "$out")" "0 [launcher-0] <whole command>" "2.4: then the arguments are the command"

# --- environments --------------------------------------------------------------------------------

# What each process really has is what explain said, variable by variable.
mkdir "$WORK/env" "$WORK/env/got"
dump='env -0 >$ENV_DIR/$MUSTER_ROLE.$MUSTER_INDEX'
export ENV_DIR="$WORK/env/got"
cat >"$WORK/env/azure-mpi.yaml" <<YAML
{name: e, type: MpiJob, launcher: {spec: {command: '$dump', environment: x}}, worker: {spec: {}}, compute: {target: t, instance_count: 2}}
YAML
cat >"$WORK/env/azure-torch.yaml" <<YAML
{name: e, type: PytorchJob, experiment_name: x, worker: {spec: {command: '$dump'}}, compute: {target: t, instance_count: 3}}
YAML
cat >"$WORK/env/azure-tf.yaml" <<YAML
{name: e, type: TensorflowJob, parameter_server: {num_replicas: 1, spec: {command: '$dump'}}, worker: {num_replicas: 2, spec: {command: 'sleep 1; $dump'}}, compute: {target: t}}
YAML
cat >"$WORK/env/pai.json" <<JSON
{"jobName": "e", "image": "i", "jobEnvs": {"A": 1, "b": true}, "taskRoles": [
  {"name": "ps_server", "taskNumber": 1, "command": "$dump", "portList": [{"label": "x", "beginAt": 0, "portNumber": 2}]},
  {"name": "worker", "taskNumber": 2, "command": "$dump"}]}
JSON
cat >"$WORK/env/pai.yaml" <<YAML
protocolVersion: 2
name: e
type: job
prerequisites: [{type: dockerimage, uri: u, name: i}]
taskRoles:
  a: {instances: 2, completion: {minSucceededInstances: null}, dockerImage: i, resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0, ports: {SynPort: 1}}, commands: ['$dump']}
YAML
cat >"$WORK/env/kube.yaml" <<YAML
apiVersion: kubeflow.org/v1alpha1
kind: MPIJob
metadata: {name: e}
spec: {replicas: 2, template: {spec: {containers: [{name: c, image: i, env: [{name: A, value: b}, {name: C, value: '\$(A)c'}], command: [sh, -c, '$dump']}]}}}
YAML
for file in "$WORK"/env/*.yaml "$WORK"/env/*.json; do
    rm -f "$ENV_DIR"/*
    "$MUSTER" explain -o json --inherit-env ENV_DIR "$file" >"$WORK/explain.json" 2>"$err"
    has_shape explain "$WORK/explain.json" "${file##*/}: explain's shape"
    run_job --inherit-env ENV_DIR "$file"
    is "$rc" 0 "${file##*/}: ends with 0" || diag "$(cat "$err")"
    like "$(python3 "$TOP/t/lib/check_env.py" "$WORK/explain.json" "$ENV_DIR" "$(run_id)" 2>&1)" \
        '^[1-9] processes$' "${file##*/}: explain has every process's environment, to the letter"
done
done_testing
