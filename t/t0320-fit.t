#!/bin/sh
# Options that change a job for this machine, as a user tries them: what runs, what is told, and what
# is said of wrong ones.
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1
cp "$TOP/examples/mpi-example.yaml" job.yaml
echo '{cpus: 4, memory: 8Gi}' >four.yaml

notes() # of the last explain -o json
{
    json jobs.0.notes "$out"
}

roles()
{
    json jobs.0.roles "$out" | tr -d '"{} ' |
        sed 's/name://g; s/replicas://g; s/slots://g; s/,mounts:\[[^]]*\]//g'
}

refused() # MESSAGE NAME ARG…: by explain with 2 and by run with 125
{
    message=$1 name=$2
    shift 2
    run_muster explain "$@"
    is "$rc" 2 "explain: $name"
    like "$(cat "$err")" "$message" "says why"
    run_muster run "$@"
    is "$rc" 125 "run: $name"
    like "$(cat "$err")" "$message" "says why"
}

knows() # DIALECT: is it in this build?
{
    ! "$MUSTER" validate --dialect "$1" job.yaml 2>&1 | grep -q "unknown dialect"
}

# --- --set ---------------------------------------------------------------------------------------

run_muster explain -o json --set spec.worker.replicas=2 --set '.spec.worker.extraMPIArgs[1]="1"' job.yaml
is "$rc" 0 "--set"
is "$(roles)" "[launcher,1,1,worker,2,1]" "changes the document before it is lowered"
run_muster validate --set spec.worker.replicas=2 job.yaml
like "$(cat "$out")" "worker 2 x 3 slots" "validate takes it too"
run_muster validate --set spec.worker.replicas=0 job.yaml
is "$rc" 2 "a value that the dialect refuses"
like "$(cat "$err")" "job.yaml:7:15: error\[E[0-9]+\].*set by --set spec.worker.replicas" "is told at its place, with its origin"
run_muster validate --set spec.worker.replica=3 job.yaml
like "$(cat "$err")" "job.yaml:6:3: error\[E0101\]: unknown key .replica. .*set by --set" "so is a key that there is not"
like "$(cat "$err")" "did you mean .replicas" "with the nearest"
run_muster explain -o json --set spec.mpiHome=null --set 'metadata.name="other"' job.yaml
is "$(json jobs.0.name "$out")" other "a quoted value"
unlike "$(notes)" "/usr/local/bin" "null removes"
printf 'kind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\n---\n' | cat - job.yaml >two.yaml
run_muster explain -o json --set metadata.name=x two.yaml
is "$(json jobs.0.name "$out")" x "a document that is no job is left alone"
cat job.yaml >both.yaml && echo --- >>both.yaml && sed 's/^  name: .*/  name: second/' job.yaml >>both.yaml
run_muster explain -o json --set spec.worker.replicas=1 both.yaml
is "$(json jobs.1.roles.1.replicas "$out")" 1 "every job of the file is changed"
run_muster validate --set new.x=1 both.yaml
like "$(cat "$err")" "none of the 2 jobs in the file has a key .new" "unless none is meant"

refused "must be PATH=VALUE" "--set without a value" --set spec.worker.replicas job.yaml
refused "missing key at character 6" "--set with an empty key" --set spec..replicas=1 job.yaml
refused ".spec.worker.replicas is an integer, not a mapping" "--set through a number" --set spec.worker.replicas.x=1 job.yaml
refused "has 4 items; index \[9\] is out of range" "--set beyond a list" --set 'spec.worker.cmd[9]=1' job.yaml
refused "cannot remove .replica.: not found in .spec.worker" "--set that removes nothing" --set spec.worker.replica=null job.yaml
refused "the value:" "--set of half a list" --set 'spec.worker.cmd=[a, b' job.yaml
run_muster run --set 'a[=s3cret' job.yaml
unlike "$(cat "$err")" s3cret "a value is not repeated in an error"

# --- --scale, --nproc, --fit ---------------------------------------------------------------------

run_muster explain -o json --scale worker=3 --nproc worker=2 job.yaml
is "$(roles)" "[launcher,1,1,worker,3,2]" "--scale and --nproc"
like "$(notes)" "worker: 3 replicas instead of 5 \(--scale\)" "replicas are told"
like "$(notes)" "the mpirun line: -N 2 instead of 3" "so is what follows in the line"
like "$(json jobs.0.processes.0.argv "$out")" '"-N", "2"' "which is so"
run_muster explain -o json --fit --inventory four.yaml job.yaml
is "$(roles)" "[launcher,1,1,worker,2,2]" "--fit on four processors"
run_muster explain -o json --fit --gpus 8 job.yaml
is "$(roles)" "[launcher,1,1,worker,4,2]" "--fit on eight pretended GPUs"
run_muster explain -o json --fit --gpus 15 job.yaml
like "$(notes)" "fits this machine as it is" "--fit where all fits"
run_muster explain --fit --inventory four.yaml job.yaml
like "$(cat "$out")" "note: worker: 2 replicas instead of 5 \(--fit\)" "the page tells it"

if have_mpi openmpi && [ "$(basename "$(realpath "$(command -v mpirun)")")" = orterun ]; then
    cp "$PROGRAMS/openmpi/random_walk" .
    run_job --fit --inventory four.yaml --set 'spec.worker.template.spec.containers[0].resources=null' job.yaml
    is "$rc" 0 "a job of 15 ranks, fitted, runs"
    is "$(report attempts.0.ranks.#)" 4 "with four"
    like "$(cat "$err")" "muster: note: worker: 2 slots in each instead of 3 \(--fit\)" "run tells it"
    rm random_walk
else
    skip "Open MPI is not the mpirun here" 3
fi

refused 'role "wroker" not found; did you mean "worker"' "--scale of a role with a slip" --scale wroker=2 job.yaml
refused "must be ROLE=N" "--scale without a number" --scale worker job.yaml
refused '"0" is not a number from 1 to 8192' "--scale to nothing" --scale worker=0 job.yaml
refused "a launcher is always a single process" "--scale of a launcher" --scale launcher=2 job.yaml
refused '"x" is not a number from 1 to 4096' "--nproc of no number" --nproc worker=x job.yaml
refused "did you mean --scale" "an option with a slip" --scael worker=2 job.yaml
echo '{cpu: 4}' >bad.yaml
refused "bad.yaml:1:2: error\[E0101\]: unknown key .cpu" "--inventory with a wrong key" --inventory bad.yaml job.yaml
echo '{cpus: 0}' >bad.yaml
refused "error\[E" "--inventory without a processor" --inventory bad.yaml job.yaml
echo '{memory: lots}' >bad.yaml
refused "memory must be a quantity" "--inventory with a wrong quantity" --inventory bad.yaml job.yaml
refused "missing.yaml" "--inventory of no file" --inventory missing.yaml job.yaml
refused "must be a number ≥ 0" "--gpus of less than none" --gpus -1 job.yaml
refused "cannot be used together" "--gpus with --require-gpus" --gpus 1 --require-gpus job.yaml
run_muster run --scale worker=2 -n 2 -- true
is "$rc" 125 "--scale with -n"
like "$(cat "$err")" "--scale requires a job FILE" "is refused"
run_muster validate --scale worker=2 job.yaml
is "$rc" 2 "validate changes nothing"

# --- --entrypoint --------------------------------------------------------------------------------

"$MUSTER" generate mpi-job-simple bench --gpus 16 >bench.yaml
run_muster explain -o json bench.yaml
is "$rc" 0 "2.4: a job without a command can be explained"
run_muster run bench.yaml
is "$rc" 125 "2.4: but not run"
like "$(cat "$err")" "image mpioperator/tensorflow-benchmarks:latest.*--entrypoint launcher='CMD'" "2.4: the image and the way out are named"
# shellcheck disable=SC2016 # for the job's shell
run_job --entrypoint launcher='echo hello from $MUSTER_ROLE; exit 3' bench.yaml
is "$rc" 3 "2.4: with --entrypoint it runs"
like "$(cat "$out")" "hello from launcher" "2.4: by a shell"
run_job --entrypoint 'echo hello' bench.yaml
is "$rc" 0 "2.4: CMD alone is for the roles that lack one"
run_muster explain -o json --fit --entrypoint 'mpirun -np 16 x -np 16' bench.yaml --inventory four.yaml
like "$(json jobs.0.processes.0.shell "$out")" "mpirun -np 4 x -np 16" "--fit sees a command that was given"
refused "a worker runs no command" "--entrypoint of an MPI worker" --entrypoint worker=x bench.yaml
refused 'did you mean "launcher"' "--entrypoint of a role with a slip" --entrypoint launchr=x bench.yaml
refused "the command of launcher is empty" "--entrypoint of nothing" --entrypoint launcher= bench.yaml
refused "is generated from the file" "--entrypoint for a composed line" --entrypoint launcher=x job.yaml
refused "every role has a command" "--entrypoint that nobody needs" --entrypoint x job.yaml

# --- GPUs ----------------------------------------------------------------------------------------

if [ -z "$(ls -d /dev/nvidia[0-9]* 2>/dev/null)" ]; then
    run_muster run --require-gpus --entrypoint true bench.yaml
    is "$rc" 125 "0.16: --require-gpus without one"
    like "$(cat "$err")" "requests 16 GPUs" "0.16: says how many are missing"
else
    skip "this machine has GPUs" 2
fi

# --- --workdir, --map ----------------------------------------------------------------------------

mkdir code data "data/a b"
echo found >"data/a b/file"
run_muster explain -o json --workdir code job.yaml
is "$(json jobs.0.processes.0.workdir "$out")" "$WORK/code" "--workdir is meant from here"
like "$(notes)" "worker: working directory $WORK/code instead of /usr/local/code" "and told"
run_job --workdir code -n 1 -- pwd
like "$(cat "$out")" "] $WORK/code\$" "--workdir with -n"
run_job --entrypoint 'cd /mnt/data && cat "/mnt/data/file"' --map "/mnt/data=data/a b" bench.yaml
is "$rc" 0 "--map"
like "$(cat "$out")" "] found" "leads a command elsewhere"
like "$(cat "$err")" "the command of launcher: 2 paths replaced" "and tells it"
run_muster explain -o json --map /usr/local/code=code job.yaml
is "$(json jobs.0.processes.0.workdir "$out")" "$WORK/code" "--map of a working directory"
run_muster explain -o json --map /nowhere=code job.yaml
like "$(notes)" "the path does not occur in a working directory" "--map of a path that is not there"
refused "--workdir nowhere: No such file" "--workdir that is not there" --workdir nowhere job.yaml
refused "not a directory" "--workdir that is a file" --workdir job.yaml job.yaml
refused "--secrets nowhere: No such file" "--secrets that is not there" --secrets nowhere job.yaml
refused "not a directory" "--configmaps that is a file" --configmaps job.yaml job.yaml
refused "must be CONTAINER_PATH=HOST_PATH" "--map without a place" --map /mnt job.yaml
refused "the container path must be absolute" "--map of a relative path" --map mnt=data job.yaml
refused "nowhere: No such file" "--map to nowhere" --map /mnt=nowhere job.yaml
refused "/ cannot be mapped" "--map of the root" --map /=data job.yaml

# --- --inherit-env, --clean-env ------------------------------------------------------------------

export WANDB_MODE=offline WANDB_DIR=/w OTHER=x PYTHONPATH=/p
printf 'apiVersion: muster/v1\nname: env\nroles: {worker: {command: [env]}}\n' >env.yaml
run_job env.yaml
unlike "$(cat "$out")" "WANDB_|OTHER=" "4.21: other variables of the caller stay behind"
like "$(cat "$out")" "] PYTHONPATH=/p" "4.21: those of the list do not"
run_job --inherit-env 'WANDB_*' env.yaml
like "$(cat "$out")" "] WANDB_MODE=offline" "4.21: --inherit-env by a pattern"
like "$(cat "$out")" "] WANDB_DIR=/w" "4.21: takes all that match"
unlike "$(cat "$out")" "OTHER=" "4.21: and no other"
run_job --clean-env env.yaml
unlike "$(cat "$out")" "PYTHONPATH=" "4.21: --clean-env leaves the list behind"
like "$(cat "$out")" "] HOME=" "4.21: but not what nothing works without"
run_job --clean-env --inherit-env PYTHONPATH env.yaml
like "$(cat "$out")" "] PYTHONPATH=/p" "4.21: both: what is named comes through"
run_muster explain -o json --inherit-env OTHER job.yaml
is "$(json jobs.0.processes.0.env_origin.OTHER "$out")" caller "4.21: explain tells the origin"
refused "must be a name such as WANDB_" "--inherit-env with a value" --inherit-env A=b job.yaml
refused "must be a name such as WANDB_" "--inherit-env of nothing" --inherit-env "" job.yaml
refused "takes no value" "--clean-env with a value" --clean-env=1 job.yaml
refused "did you mean --inherit-env" "--inherit-env with a slip" --inherit-evn A job.yaml
refused "needs a value" "--inherit-env at the end" job.yaml --inherit-env

# --- --dialect, --gpus-per-node ------------------------------------------------------------------

refused 'did you mean "t9k-mpi"' "--dialect with a slip" --dialect t9k-mip job.yaml
refused 'unknown dialect "zzzzzz"' "--dialect of no dialect" --dialect zzzzzz job.yaml
run_muster explain -o json --gpus-per-node 4 bench.yaml
is "$(roles)" "[launcher,1,1,worker,4,4]" "2.10: --gpus-per-node"
refused "must be a number ≥ 1" "--gpus-per-node of none" --gpus-per-node 0 bench.yaml
refused "at most" "--gpus-per-node of very many" --gpus-per-node 99999999999 bench.yaml

# --- Azure ML and OpenPAI ------------------------------------------------------------------------

if knows azureml-preview; then
    cat >azure.yaml <<'EOT'
name: sample
type: PytorchJob
compute:
  target: azureml:gpu
  type: AmlCompute
  instance_count: 4
worker:
  spec:
    command: python -m torch.distributed.launch --nproc_per_node 4 --nnodes 4 --use_env train.py --epochs 4
    environment: azureml:pytorch:1
EOT
    run_muster explain -o json --fit --inventory four.yaml azure.yaml
    is "$rc" 0 "an Azure ML job of 16 processes"
    like "$(roles)" "worker,2,1" "has two nodes"
    like "$(json jobs.0.processes.0.shell "$out")" "--nproc_per_node 2 --nnodes 2 --use_env train.py --epochs 4" "of two processes each"
    run_muster explain -o json --set compute.instance_count=3 azure.yaml
    like "$(roles)" "worker,3," "--set of an Azure ML job"
else
    skip "azureml-preview is not in this build" 4
fi

if knows openpai-v2; then
    cat >pai.yaml <<'EOT'
protocolVersion: 2
name: sample
type: job
prerequisites:
  - {type: dockerimage, name: img, uri: some/image}
taskRoles:
  master:
    instances: 1
    dockerImage: img
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands: ["mpirun -np 8 ./x"]
  worker:
    instances: 7
    dockerImage: img
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands: [sleep infinity]
EOT
    run_muster explain -o json --fit --inventory four.yaml pai.yaml
    is "$rc" 0 "an OpenPAI job of 8 tasks"
    like "$(roles)" "master,1,1,worker,3,1" "has four"
    like "$(json jobs.0.processes.0.shell "$out")" "mpirun -np 4 ./x" "and as many ranks"
    run_muster explain -o json --set 'taskRoles.worker.commands[0]=echo a: b' --scale worker=1 pai.yaml
    like "$(json jobs.0.processes.1.shell "$out")" "echo a: b" "--set of one of its commands"
else
    skip "openpai-v2 is not in this build" 4
fi

done_testing
