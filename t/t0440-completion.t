#!/bin/sh
# When a job of several roles is over, by the counts of its file; the gate of a gang; what the status
# and the verdict say of it; secrets in the last lines. (Single-role endings: endings.tsv.)
# shellcheck disable=SC2016 # variables are for the job's own shell
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1

begin() # NAME
{
    cat <<YAML
protocolVersion: 2
name: $1
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: none}
taskRoles:
YAML
}

role() # NAME INSTANCES MINFAILED MINSUCCEEDED COMMAND…
{
    cat <<YAML
  $1:
    instances: $2
    completion: {minFailedInstances: $3, minSucceededInstances: $4}
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 256, gpu: 0}
    commands:
YAML
    shift 4
    for command; do
        python3 -c 'import json, sys; print("      - " + json.dumps(sys.argv[1]))' "$command"
    done
}

replicas() # "name=outcome" of each
{
    python3 - "$REPORT" <<'PYTHON'
import json, sys
attempt = json.load(open(sys.argv[1]))['attempts'][0]
print(' '.join('%(name)s=%(outcome)s' % r for r in attempt['replicas']))
PYTHON
}

tasks() # "role/index=state:code" of each
{
    python3 - "$REPORT" <<'PYTHON'
import json, sys
roles = json.load(open(sys.argv[1]))['status']['taskRoles']
print(' '.join('%s/%d=%s:%s' % (r, t['taskIndex'], t['taskState'], t['containerExitCode'])
               for r in roles for t in roles[r]['taskStatuses']))
PYTHON
}

# --- the seed's own job: its master ends, its worker never would ---------------------------------

cat >seed.json <<'JSON'
{"jobName": "horovod-job", "image": "your/images/url", "virtualCluster": "default",
 "taskRoles": [
  {"name": "master", "taskNumber": 1, "cpuNumber": 2, "memoryMB": 256, "shmMB": 64, "gpuNumber": 0,
   "minFailedTaskCount": 1, "minSucceededTaskCount": 1, "command": "echo trained"},
  {"name": "worker", "taskNumber": 1, "cpuNumber": 2, "memoryMB": 256, "shmMB": 64, "gpuNumber": 0,
   "minFailedTaskCount": 1, "minSucceededTaskCount": 1, "command": "sleep infinity"}]}
JSON
run_job seed.json
is "$rc" 0 "3.7: the master ends with 0, and so does the job"
has_shape report "$REPORT" "3.7: the report's shape"
is "$(replicas)" "master-0=succeeded worker-0=stopped" "3.7: the sleeping worker was stopped, it did not fail"
is "$(report attempts.0.replicas.1.stopped_because_of)" master-0 "3.7: because of the master"
is "$(report status.state) $(tasks)" "SUCCEEDED master/0=SUCCEEDED:0 worker/0=STOPPED:-220" \
    "3.7: in OpenPAI's words"
is "$(report status.jobStatus.appExitTriggerMessage)" \
    "SucceededTaskCount 1 has reached MinSucceededTaskCount 1 in the TaskRole" "3.7: and why"
like "$(cat "$err")" 'succeeded by its completion policy: master-0 exited with status 0' "3.7: told"
like "$(cat "$err")" '^  stopped: worker-0$' "3.7: who was stopped is told"
is "$(survivors "$(run_id)")" "" "3.7: nothing is left"

# Each comes to its next command well after the one before it has ended.
in_turn='until test $MUSTER_INDEX = 0 || test -e $MUSTER_JOB-$((MUSTER_INDEX - 1)); do sleep 0.1; done; test $MUSTER_INDEX = 0 || sleep 0.5; touch $MUSTER_JOB-$MUSTER_INDEX'

# --- counts over roles ---------------------------------------------------------------------------

{
    begin mixed
    role master 1 1 1 'until test -e mixed-1; do sleep 0.1; done; sleep 0.5'
    role worker 3 3 -1 'test $MUSTER_INDEX != 2 || sleep infinity' "$in_turn" 'exit $((MUSTER_INDEX + 4))'
} >mixed.yaml
run_job mixed.yaml
is "$rc $(report outcome) $(report cause)" "0 succeeded null" "1.6: failures below the count are tolerated"
like "$(report verdict)" '^succeeded by its completion policy although 2 of 4 replicas failed, first worker-0 exited with status 4$' \
    "1.6: and mentioned"
is "$(replicas)" "master-0=succeeded worker-0=failed worker-1=failed worker-2=stopped" "1.6: each as it was"
is "$(tasks)" "master/0=SUCCEEDED:0 worker/0=FAILED:4 worker/1=FAILED:5 worker/2=STOPPED:-220" "1.6: in OpenPAI's words"

{
    begin ps
    role ps 1 1 -1 'sleep infinity'
    role worker 2 1 2 true
} >ps.yaml
run_job ps.yaml
is "$rc $(replicas)" "0 ps-0=stopped worker-0=succeeded worker-1=succeeded" \
    "0.32: parameter servers are stopped when all workers have ended"

{
    begin third
    role master 1 1 1 'sleep infinity'
    role worker 3 3 -1 "$in_turn" 'exit 1$MUSTER_INDEX'
} >third.yaml
run_job third.yaml
is "$rc $(report cause.replica)" "10 worker-0" "1.6: the cause is the first failure"
is "$(report status.appExitCode) $(report status.jobStatus.appExitTriggerTaskIndex)" "12 2" \
    "1.6: OpenPAI's code is that of the task that made the count full"
is "$(report attempts.0.replicas.0.stopped_because_of)" worker-2 "1.6: which is why the others were stopped"
like "$(cat "$err")" 'first failure: worker-0 exited with status 10, at .*; the completion policy ended the job when worker-2 failed' \
    "1.6: both are told"

# --- Azure ML ------------------------------------------------------------------------------------

azure() # TYPE WORKERS COMMAND, then lines of the file
{
    cat <<YAML
name: azure
type: $1
experiment_name: endings
worker:
  num_replicas: $2
  spec:
    command: $(python3 -c 'import json, sys; print(json.dumps(sys.argv[1]))' "$3")
    environment: azureml:none:1
compute:
  type: AmlCompute
  target: cluster
  instance_count: $2
YAML
}

{
    azure TensorflowJob 2 true
    printf 'parameter_server:\n  num_replicas: 1\n  spec:\n    command: sleep infinity\n    environment: azureml:none:1\n'
} >tf.yaml
run_job tf.yaml
is "$rc $(report status.status)" "0 Completed" "0.32: a TensorflowJob is over when all workers have ended"
like "$(replicas)" '(ps|parameter_server)-0=stopped' "0.32: its parameter server was stopped, it did not fail"

azure PytorchJob 2 'test $MUSTER_INDEX = 1 && exit 6; sleep infinity' >torch.yaml
run_job torch.yaml
is "$rc $(report status.status) $(report status.error.code)" "6 Failed UserError" "0.32: the first node that fails ends a PytorchJob"
is "$(replicas)" "worker-0=stopped worker-1=failed" "0.32: and stops the others"

azure PytorchJob 2 'sleep 0.$MUSTER_INDEX' >torch.yaml
run_job torch.yaml
is "$rc $(replicas)" "0 worker-0=succeeded worker-1=succeeded" "0.32: it succeeds when all nodes have ended"

if command -v horovodrun >/dev/null; then
    skip "0.15: there is a horovodrun here" 2
elif ! have_mpi openmpi; then
    skip "0.15: no Open MPI here" 2
else
    cat >horovod.yaml <<'YAML'
name: azure
type: MpiJob
experiment_name: endings
launcher:
  spec:
    command: horovodrun -np 2 --hostfile AZUREML_MPI_HOSTFILE python train.py
    environment: azureml:none:1
worker:
  spec:
    environment: azureml:none:1
compute:
  type: AmlCompute
  target: cluster
  instance_count: 2
YAML
    run_job horovod.yaml
    is "$rc" 127 "0.15: horovodrun is not installed"
    like "$(report verdict)" 'the equivalent with mpirun: mpirun -np 2 --hostfile .*-bind-to none -map-by slot .* python3? train.py$' \
        "0.15: the verdict has the mpirun line"
fi

# --- Kubeflow ------------------------------------------------------------------------------------

kubeflow() # CODE
{
    cat <<YAML
apiVersion: kubeflow.org/v1alpha1
kind: MPIJob
metadata: {name: state}
spec:
  replicas: 2
  template: {spec: {containers: [{name: main, image: none, command: [sh, -c, "exit $1"]}]}}
YAML
}

kubeflow 0 >kubeflow.yaml
run_job kubeflow.yaml
is "$rc $(report status.launcherStatus) $(report status.workerReplicas)" "0 Succeeded 0" "Kubeflow v1alpha1: success"
kubeflow 4 >kubeflow.yaml
run_job kubeflow.yaml
is "$rc $(report status.launcherStatus) $(report status.workerReplicas)" "4 Failed 0" "Kubeflow v1alpha1: failure"

# --- the gate ------------------------------------------------------------------------------------

{
    begin gate
    role master 1 1 1 'for i in 0 1 2 3 4 5 6 7; do ssh worker-$i hostname || exit; done'
    role worker 8 1 -1 'sleep infinity'
} >gate.yaml
run_job gate.yaml
is "$rc" 0 "3.12: every replica can be reached from the first moment"
is "$(grep -c '\[master-0\]' "$out")" 8 "3.12: all eight answer"
journal=$(report run_dir)/journal.jsonl
[ -e "$journal" ] || journal=$(find "$(report run_dir)" -name 'journal*' | head -n 1)
is "$(grep -n '"event":"start"' "$journal" | head -n 1 | cut -d: -f1)" \
    "$(($(grep -n '"event":"opened"' "$journal" | tail -n 1 | cut -d: -f1) + 1))" \
    "3.12: the first command starts after the last replica has answered"

if [ -x "$MUSTER_FAULTY" ]; then
    {
        begin mute
        role master 1 1 1 'touch started-master'
        role worker 2 -1 -1 'touch started-worker'
    } >mute.yaml
    plain=$MUSTER MUSTER=$MUSTER_FAULTY
    MUSTER_FAULT=gate:worker-0
    export MUSTER_FAULT
    run_job --start-timeout 1s mute.yaml
    unset MUSTER_FAULT
    MUSTER=$plain
    is "$rc $(report cause.kind) $(report cause.replica)" "125 not-ready worker-0" \
        "3.12: the gate expires and names the replica, whatever the counts tolerate"
    is "$(ls -d started-* 2>/dev/null)" "" "3.12: no command has started"
    is "$(report status.state) $(report status.appExitCode)" "FAILED 251" "3.12: in OpenPAI's words"
    is "$(replicas)" "master-0=never-started worker-0=never-started worker-1=never-started" "3.12: none of them ran"
else
    skip "no build with fault points" 4
fi

run_job -n 2 --hosts 2 -- true
is "$rc $(grep -c open "$(find "$(report run_dir)" -name 'journal*')")" "0 0" "3.12: run -n has no gate"

# --- what the last lines say ---------------------------------------------------------------------

{
    begin slip
    role worker 2 1 -1 'test $MUSTER_INDEX = 1 || sleep infinity' \
        'python3 -c "import os; print(os.environ[chr(80) + \"AI_HOST_IP_work_0\"])"'
} >slip.yaml
run_job slip.yaml
is "$rc" 1 "1.12: a KeyError"
like "$(report verdict)" 'worker-1 exited with status 1.*; PAI_HOST_IP_work_0 is not set in this job; closest match: PAI_HOST_IP_worker_0$' \
    "1.12: the verdict has the nearest name"
like "$(cat "$err")" '^  hint: PAI_HOST_IP_work_0 is not set' "1.12: told"

{
    begin secret
    role worker 1 1 -1 'echo the password is <% $secrets.password %>.; exit 3'
    printf 'secrets:\n  password: s3cr3t-word\n'
} >secret.yaml
run_job secret.yaml
is "$rc" 3 "a job that tells its secret"
is "$(report cause.log_tail.0)" "the password is ***." "the last lines in the report are masked"
unlike "$(cat "$err" "$REPORT")" 's3cr3t-word' "no word of it in verdict and report"
like "$(cat "$out")" 's3cr3t-word' "the job's own output is not altered"
is "$(find "$(report run_dir)" -type f -not -path '*/logs/*' -exec grep -l s3cr3t-word {} +)" "" \
    "no file of the run but the log has it"

done_testing
