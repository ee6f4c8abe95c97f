#!/bin/sh
# Azure ML's command jobs really run: each kind of distribution finds its peers by its own variables,
# inputs and outputs are where the command looks for them, logs have the names that Azure's users know.
# shellcheck disable=SC2016 # what is in single quotes is for the shells of jobs
. "${0%/*}/lib.sh"
have_mpi openmpi || skip_all "no Open MPI here"
export PYTHONDONTWRITEBYTECODE=1

EXAMPLES=$TOP/examples/azureml-ga

run_dir()
{
    report run_dir
}

# --- everyone meets everyone ---------------------------------------------------------------------

try() # LEVEL FILE RANKS REPLICAS
{
    name="${2##*/}, $1"
    "$MUSTER" explain -o json --isolate "$1" "$2" >"$WORK/explain.json" 2>"$err"
    has_shape explain "$WORK/explain.json" "$name: explain's shape"
    run_job --isolate "$1" "$2"
    is "$rc" 0 "$name: ends with 0" || diag "$(tail -n 20 "$err")"
    is "$(python3 "$TOP/t/lib/check_peers.py" "$WORK/explain.json" "$out" "$1" 2>&1)" "$3 on $4" \
        "$name: everyone met everyone, where explain said" || diag "$(tail -n 20 "$err")"
}

logs() # as Azure calls them
{
    (cd "$(run_dir)/user_logs" && for f in *; do printf '%s=%s ' "$f" "$(grep -c ^rank "$f")"; done)
}

try names "$EXAMPLES/mpi.yaml" 4 2
is "$(json jobs.0.roles.0.name "$WORK/explain.json") $(json jobs.0.roles.# "$WORK/explain.json")" "node 1" \
    "mpi: the file's only role"
is "$(report attempts.0.ranks.#) $(report attempts.0.ranks.3.replica)" "4 node-1" "mpi: real ranks"
is "$(logs)" "mpi_log.txt=0 std_log_process_00.txt=1 std_log_process_01.txt=1 std_log_process_02.txt=1 \
std_log_process_03.txt=1 " "mpi: a log for each rank"
is "$(report status.status)" Completed "mpi: Azure's own word"

try names "$EXAMPLES/pytorch.yaml" 4 2
is "$(logs)" "std_log_process_00.txt=1 std_log_process_01.txt=1 std_log_process_02.txt=1 \
std_log_process_03.txt=1 " "pytorch: a log for each rank"
try none "$EXAMPLES/pytorch.yaml" 4 2

try names "$EXAMPLES/tensorflow.yaml" 6 2
is "$(logs)" "std_log_process_00.txt=1 std_log_process_00_ps.txt=1 std_log_process_01.txt=1 \
std_log_process_01_ps.txt=1 std_log_process_02.txt=1 std_log_process_03.txt=1 " "tensorflow: a log for each task"
like "$(report verdict)" 'all 4 worker tasks exited with status 0' "tensorflow: over when the workers are"
like "$(cat "$err")" 'stopped: ps 0, ps 1|stopped: ps 1, ps 0' "tensorflow: the servers are stopped"
try network "$EXAMPLES/tensorflow.yaml" 6 2
"$MUSTER" logs "$(run_id)" node-0 >"$out" 2>"$err"
is "$(grep -c rank= "$out")" 3 "tensorflow: logs of a node are those of its tasks"

# --- inputs and outputs --------------------------------------------------------------------------

run_job "$EXAMPLES/hello.yaml"
is "$rc $(cat "$out")" "0 [node-0] hello, world" "a literal and a variable"
is "$(cat "$(run_dir)/outputs/counted/lines")" "$(wc -l <"$TOP/examples/azureml/src/train.py")" \
    "an input beside the file, an output in the run's directory"
is "$(cat "$(run_dir)/user_logs/std_log.txt")" "hello, world" "the only log"

mkdir "$WORK/code"
cat >"$WORK/out.yaml" <<'YAML'
{command: echo made >outputs/model, code: code, environment: {image: i}}
YAML
ln -s "$WORK/state/muster/runs/gone/outputs" "$WORK/code/outputs" # of a run that was killed, and cleared away
run_job "$WORK/out.yaml"
is "$rc $(cat "$(run_dir)/outputs/model")" "0 made" "./outputs is the run's"
is "$(ls "$WORK/code")" "" "and only while it runs"
mkdir "$WORK/code/outputs"
run_job "$WORK/out.yaml"
is "$rc $(cat "$WORK/code/outputs/model")" "0 made" "a directory of that name stays what it is"

cat >"$WORK/far.yaml" <<'YAML'
command: cat ${{inputs.near}} ${{inputs.far}}/x; echo '$A' "$AZURE_ML_INPUT_far" ${{inputs.uri}}
environment: azureml:e:1
inputs:
  near: {path: ./near}
  far: {type: uri_folder, path: "azureml://datastores/d/paths/p"}
  uri: {path: "https://host/x", mode: direct}
  unused: {path: "azureml:other@latest"}
YAML
mkdir "$WORK/d"
echo far >"$WORK/d/x"
run_job --map "azureml://datastores/d/paths/p=$WORK/d" "$WORK/far.yaml"
is "$rc" 125 "an input that is missing: refused"
like "$(cat "$err")" "input near: cannot use $WORK/./near" "and named"
echo near >"$WORK/near"
run_job "$WORK/far.yaml"
is "$rc" 125 "an input that is elsewhere: refused"
like "$(cat "$err")" '--map azureml://datastores/d/paths/p=PATH' "with what helps"
run_muster explain "$WORK/far.yaml"
is "$rc" 0 "explain does not refuse it"
run_job --map "azureml://datastores/d/paths/p=$WORK/d" "$WORK/far.yaml"
is "$rc" 0 "mapped, it runs; what no command names need not be here" || diag "$(cat "$err")"
is "$(cat "$out")" "[node-0] near
[node-0] far
[node-0] \$A $WORK/d https://host/x" "each value in its place"

# --- what the file asks for ----------------------------------------------------------------------

cat >"$WORK/idle.yaml" <<'YAML'
command: sleep 0.2; echo $AZ_BATCHAI_TASK_INDEX
environment: azureml:e:1
resources: {instance_count: 3}
distribution: {type: tensorflow, worker_count: 2}
YAML
run_job "$WORK/idle.yaml"
is "$rc $(sort "$out" | tr '\n' ' ')" "0 [node-0/worker-0] 0 [node-1/worker-1] 1 " "a node without a task waits, and ends with the job"
run_job --scale node=1 "$WORK/idle.yaml"
is "$rc $(sort "$out" | tr '\n' ' ')" "0 [node-0/worker-0] 0 [node-0/worker-1] 1 " "on fewer nodes tasks share one"
run_muster logs node-0/worker-1
is "$rc $(cat "$out")" "0 1" "logs: of one task, by its prefix"
run_muster logs
is "$(sort "$out" | tr '\n' ' ')" "[node-0/worker-0] 0 [node-0/worker-1] 1 " "logs: the same prefixes"
run_job --entrypoint 'node=echo $OMPI_COMM_WORLD_SIZE' "$EXAMPLES/mpi.yaml"
is "$rc $(sort -u "$out" | head -n 1)" "0 [node-0/0] 4" "--entrypoint is what mpirun starts"

# What each process really has is what explain said, variable by variable.
mkdir "$WORK/got"
export ENV_DIR="$WORK/got"
cat >"$WORK/env.yaml" <<'YAML'
command: env -0 >$ENV_DIR/$MUSTER_ROLE.$MUSTER_INDEX.$RANK
environment: azureml:e:1
environment_variables: {A: 1.0, B: "$(A)$$", a-b: true}
inputs: {x: 5, y: {path: .}}
outputs: {z: }
resources: {instance_count: 2}
distribution: {type: pytorch}
YAML
"$MUSTER" explain -o json --inherit-env ENV_DIR "$WORK/env.yaml" >"$WORK/explain.json" 2>"$err"
run_job --inherit-env ENV_DIR "$WORK/env.yaml"
is "$(python3 "$TOP/t/lib/check_env.py" "$WORK/explain.json" "$ENV_DIR" "$(run_id)" 2>&1)" "2 processes" \
    "explain has every process's environment, to the letter"
done_testing
