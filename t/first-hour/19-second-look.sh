# shellcheck shell=sh disable=SC2154 # its variables are those of lib.sh
# What a second new user stumbled over.

on_terminal() # OPTION… COMMAND…
{
    timeout 60 env TERM=xterm-256color python3 "$TOP/t/lib/terminal.py" --columns 200 "$@" >"$out" </dev/null
    rc=$?
}

# The warning that matters is not hidden behind smaller ones, and roles share a sentence.
cat >weights.yaml <<'YAML'
protocolVersion: 2
name: weights
type: job
prerequisites: [{name: i, type: dockerimage, uri: img}]
taskRoles:
  ps:
    dockerImage: i
    resourcePerInstance: {cpu: 4000, memoryMB: 99999999, gpu: 1}
    commands: [rm -rf /opt/nothing-of-this-name, pip install --help]
  worker:
    instances: 2
    dockerImage: i
    resourcePerInstance: {cpu: 4000, memoryMB: 99999999, gpu: 1}
    commands: [git clone nowhere, exit 3]
YAML
if [ "$(id -u)" -eq 0 ]; then
    run_muster explain --require-gpus weights.yaml
    like "$(grep -m 1 warning: "$out")" "warning: the job changes this machine" "changes to the machine come first"
else
    skip "only root can change the machine" 1
fi
# neither need be installed here
mkdir -p stand-ins
ln -sf /bin/true stand-ins/git
ln -sf /bin/true stand-ins/pip
PATH=$PWD/stand-ins:$PATH run_job --overlay weights.yaml
[ "$rc" -eq 125 ] && PATH=$PWD/stand-ins:$PATH run_job --isolate none weights.yaml
# shellcheck disable=SC2016 # the quotes of the message
like "$(grep -m 1 "git clone" "$err")" 'all 2 replicas of worker run `git clone`.*--private-workdir' "what cannot succeed is shown"
like "$(cat "$err")" "ps, worker: requests 1 GPU" "equal sentences of several roles are one"

# --private-workdir: replicas that write the same files do not get into each other's way.
mkdir private
cd private || exit 1
echo lower >lower
if "$MUSTER" run --overlay -n 1 -- true >"$out" 2>&1; then
    run_job --private-workdir -n 2 --hosts 2 -- sh -c 'mkdir once && cat lower && echo mine >lower'
    is "$rc $(grep -c lower "$out")" "0 2" "private-workdir: each replica has its own"
    is "$(ls) $(cat lower)" "lower lower" "private-workdir: the real one is as it was"
    run_job --private-workdir --keep-overlay ../private-kept -n 2 --hosts 2 -- mkdir once
    is "$rc $(find ../private-kept -name once | wc -l)" "0 2" "private-workdir: kept on request" || diag "$(cat "$err")"
    run_muster explain --private-workdir ../weights.yaml
    unlike "$(cat "$out")" "only the first can succeed" "private-workdir: the warning is gone"
else
    skip "no overlay can be mounted here: $(head -1 "$out")" 4
fi
cd "$WORK" || exit 1

# A container that has arguments only.
cat >args.yaml <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: args}
spec:
  pytorchReplicaSpecs:
    Master: {template: {spec: {containers: [{name: pytorch, image: i, args: [--backend, gloo]}]}}}
    Worker: {template: {spec: {containers: [{name: pytorch, image: i, args: [--backend, gloo]}]}}}
YAML
run_job args.yaml
like "$(cat "$err")" "args \"--backend gloo\" are appended; try --entrypoint 'python3 train.py'" "entry point: the arguments are shown"
unlike "$(cat "$err")" "exec" "entry point: an option is no command"

# --fit does not claim to have fitted what it cannot read.
cat >heredoc.yaml <<'YAML'
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: heredoc}
spec:
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
            - name: l
              image: i
              command:
                - sh
                - -c
                - |
                  /bin/bash << 'EOF'
                  mpirun -np 320000 \
                    hostname
                  EOF
YAML
run_muster explain --fit heredoc.yaml
like "$(cat "$out")" "warning: -np 320000 in the script of launcher is not changed; this machine has [0-9]+ core" "--fit: a number in a here-document"
unlike "$(cat "$out")" "fits this machine" "--fit: nothing is claimed then"

# explain: what is different comes first, and no screen of variables follows.
is "$(grep -nx -m 1 Notes "$out" | cut -d : -f 1)" 4 "explain: notes are behind the header"
like "$(cat "$out")" "[0-9]+ variables added; use --env" "explain: variables are counted"
unlike "$(cat "$out")" "^    [A-Z_]+=" "explain: and not listed"

# pause says that it ends processes.
run_muster pause --help
like "$(tr "\n" " " <"$out")" "restarts every process from the beginning" "pause: what becomes of the processes"

# A module that is missing without a job file.
run_job -n 1 -- python3 -c 'import no_such_module_of_mine.part'
like "$(cat "$err")" "install it \(pip install no_such_module_of_mine\) or activate" "a module that is missing: no --image without a file"
unlike "$(cat "$err")" "--image" "a module that is missing: no option for files"

# logs: by the prefix on the screen, by the replica alone, in the order of time.
# shellcheck disable=SC2016 # the job's variable
run_job --name looked -n 2 -- sh -c 'sleep $((1 - RANK)); echo "line of $RANK"; sleep 0.$((RANK * 9)); sleep $RANK; echo end'
run_muster logs looked worker-0/1
is "$rc $(grep -c . "$out")" "0 2" "logs: the prefix names one rank"
run_muster logs looked '[worker-0/1]'
is "$rc $(head -1 "$out")" "0 line of 1" "logs: with its brackets"
run_muster logs worker-0
is "$rc $(grep -c . "$out")" "0 4" "logs: a replica of the newest run"
run_muster logs worker-7
is "$rc" 2 "logs: neither a run nor a replica"
run_muster logs --timestamps looked
is "$(cut -d ' ' -f 1 "$out" | sort -c 2>&1)$(grep -c . "$out")" 4 "logs: --timestamps is in the order of time"

# A duration without a unit is in seconds; of ranks that hang, the one that waits for nobody comes first.
cat >wait.py <<'PY'
import os, socket, time
server = ("127.0.0.1", int(os.environ["MASTER_PORT"]))
if os.environ["RANK"] == "1":
    listener = socket.create_server(server)
    connections = [listener.accept() for _ in range(1)]
    time.sleep(1000)
while True:
    try:
        client = socket.create_connection(server)
        break
    except OSError:
        time.sleep(0.05)
client.recv(1)
PY
run_job --hang-timeout 3 --grace 1 -n 2 -- python3 wait.py
is "$rc" 124 "a bare number is a duration in seconds"
like "$(grep -m 1 '^  rank ' "$err")" "rank 1 on worker-0" "hang: the culprit is first" || diag "$(cat "$err")"

# A job that ignores SIGTERM: the status line says what comes next.
# shellcheck disable=SC2016 # the job's variable
on_terminal --until "SIGKILL in=$WORK/told" "$MUSTER" run --grace 50 -n 2 -- \
    sh -c '[ $RANK = 0 ] || { until [ -e "$0.trap" ]; do sleep 0.05; done; exit 3; }
        trap "" TERM; : >"$0.trap"; while [ ! -e "$0" ]; do sleep 0.05; done' "$WORK/told"
is "$rc" 3 "status line: a job that ignores SIGTERM"
like "$(tr '\r' '\n' <"$out")" "stopping.*; SIGKILL in [0-9]+ s" "status line: when SIGKILL comes"

# Other files that people have.
printf '#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks: 4\nsrun python3 train.py\n' >batch.slurm
run_job batch.slurm
is "$rc $(cat "$err")" "125 muster: error: batch.slurm: Slurm batch script; #SBATCH options are not read
try: $MUSTER run -n 2 --hosts 2 -- python3 train.py" "a Slurm script is named as one"
printf 'services:\n  web:\n    image: i\n' >compose.yaml
run_job compose.yaml
like "$(cat "$err")" "compose.yaml: not a job file; known kinds: .*PyTorchJob" "another file: what would be a job file"

# What was thrown away is said at the end.
if "$MUSTER" run --overlay -n 1 -- true >"$out" 2>"$err"; then
    like "$(cat "$err")" "changes outside .* were discarded \(use --keep-overlay DIR to keep them\)" "overlay: its end is told"
    run_job --overlay -n 1 -- ./no-such-program
    is "$rc $(grep -c discarded "$err")" "127 0" "overlay: not of a job that was not started"
    run_job -q --overlay -n 1 -- true
    is "$(cat "$err")" "" "overlay: not with --quiet"
else
    skip "no overlay can be mounted here" 3
fi

# Ranges of ranks.
# shellcheck disable=SC2016 # the job's variable
run_job -n 6 -- sh -c '[ $RANK != 2 ] || exit 7; exec sleep 60'
like "$(cat "$err")" "stopped because of it: ranks 0, 1 and 3 to 5" "ranges of ranks"
# shellcheck disable=SC2016 # the job's variable
run_job -n 2 -- sh -c '[ $RANK != 1 ] || exit 7; exec sleep 60'
like "$(cat "$err")" "stopped because of it: rank 0$" "a single rank"

# Words.
run_muster delete
like "$(cat "$err")" "at least one ID is required" "delete without an ID"
run_muster show a b
like "$(cat "$err")" 'unexpected argument "b"' "show with two"
run_muster run --help
like "$(cat "$out")" "set the number of replicas of a role" "help is imperative"
