#!/bin/sh
# Queues of the configuration: quotas, priorities, closed queues, maximum durations; preemption; SIGHUP.
. "${0%/*}/lib.sh"
. "${0%/*}/lib/daemon.sh"

cd "$WORK" || exit 1
submit() # sets $id and $rc
{
    run_muster submit --no-autostart --in-place "$@"
    id=$(cat "$out")
}
waits_for() # ID TEXT
{
    state "$1" waiting | grep -q "$2"
}
job() # NAME KEY: VALUE… - a job file
{
    cat >"$1.yaml" <<YAML
apiVersion: muster/v1
name: $1
$2
roles: {worker: {command: 'until [ -e $1.go ]; do sleep 0.05; done', resources: {$3}}}
YAML
}
# runs until DIR/NAME.go is there; each beginning adds a line with its GPUs
holder() # NAME
{
    echo "echo \"begin \$CUDA_VISIBLE_DEVICES\" >>$1.log; until [ -e $1.go ]; do sleep 0.05; done; exit 4"
}

# --- errors of the configuration
cat >h/config.yaml <<'YAML'
queues:
- name: low
  wieght: 2
YAML
run_muster serve
is "$rc" 1 "a configuration with errors is refused"
# shellcheck disable=SC2016 # a text, and a script for an inner shell
like "$(cat "$err")" 'config.yaml:3:3.*unknown key `wieght`' "with the place"

# --- queues
cat >h/config.yaml <<'YAML'
queues:
- {name: low, weight: 1, quota: {cpus: 2}}
- {name: high, priority: 10}
- {name: shut, closed: true}
- {name: short, max-duration: 1s}
preemption: pause
machine: {cpus: 3, gpus: 4}
YAML
ok "the daemon is ready" serve
submit --queue gpu -n 1 -- true
is "$rc" 1 "an unknown queue is refused"
like "$(cat "$err")" 'queue "gpu" not found; configured queues: low, high, shut, short' "with the queues there are"
submit -n 1 -- true
is "$(state "$id" queue)" low "without a queue it is the first one"
job unknown 'queue: gpu' ''
submit unknown.yaml
like "$(cat "$err")" 'queue "gpu" not found' "also a queue of a job file"
cat >large.yaml <<'YAML'
apiVersion: muster/v1
name: large
queue: high
roles: {worker: {command: 'true', resources: {cpu: 4}}}
YAML
submit large.yaml
like "$(cat "$err")" 'needs 4 CPUs, this machine has 3: it can never start' "the machine is that of the configuration"
sed -i 's/high/low/; s/cpu: 4/cpu: 3/' large.yaml
submit large.yaml
like "$(cat "$err")" 'queue "low".*quota' "a quota that can never be met is refused"
submit --queue shut -n 1 -- true
is "$(state "$id" waiting)" 'queue "shut" is closed' "a job of a closed queue waits"
run_muster cancel "$id"
submit --queue short -n 1 -- sleep 60
run_muster wait "$id"
is "$rc" 124 "the maximum duration of a queue ends its jobs"
like "$("$MUSTER" show "$id")" 'exceeded its deadline of 1.0 s' "and says why"
submit -n 2 -- sh -c "$(holder a)"
a=$id
ok "a job within the quota runs" wait_until 20 is_in "$a" running
submit -n 1 --max-duration 9s -- true
waits=$id
is "$(state "$waits" waiting)" 'queue "low": quota of 2 CPUs reached, 2 in use' "the next one waits for the quota"

# --- what other platforms call a queue and a priority
queued_as() # FILE QUEUE PRIORITY
{
    submit "$1"
    is "$(state "$id" queue) $(state "$id" priority)" "$2 $3" "$1: queue and priority"
    run_muster cancel "$id"
}
cat >pai-v1.json <<'JSON'
{"jobName": "pai-v1", "image": "x", "virtualCluster": "high",
 "taskRoles": [{"name": "w", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 1, "gpuNumber": 0, "command": "true"}]}
JSON
cat >pai-v2.yaml <<'YAML'
protocolVersion: 2
name: pai-v2
type: job
prerequisites: [{protocolVersion: 2, name: i, type: dockerimage, uri: x}]
taskRoles: {w: {instances: 1, dockerImage: i, resourcePerInstance: {cpu: 1, memoryMB: 1, gpu: 0}, commands: ['true']}}
defaults: {virtualCluster: high}
extras: {hivedScheduler: {jobPriorityClass: crit}}
YAML
cat >azure.yaml <<'YAML'
command: 'true'
environment: azureml:e@latest
compute: azureml:high
queue_settings: {priority: high}
YAML
cat >torch.yaml <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: torch}
spec:
  runPolicy: {schedulingPolicy: {queue: high, priorityClass: low-priority}}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: {spec: {containers: [{name: pytorch, image: x, command: ['true']}]}}
YAML
cat >t9k.yaml <<'YAML'
apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata: {name: t9k}
spec:
  scheduler: {t9kScheduler: {queue: high, priority: 80}}
  worker:
    replicas: 1
    cmd: ['true']
    template: {spec: {containers: [{name: mpi-worker, image: x}]}}
YAML
queued_as pai-v1.json high 50
queued_as pai-v2.yaml high 100
queued_as azure.yaml high 75
queued_as torch.yaml high 25
queued_as t9k.yaml high 80

# --- preemption by pause
submit --queue high -n 2 -- sh -c "$(holder b)"
b=$id
ok "a job of a queue with a higher priority starts" wait_until 20 is_in "$b" running
is "$(state "$a")" paused "the one in its way is paused"
like "$(state "$a" waiting)" '^needs 2 CPUs, ' "and waits"
like "$("$MUSTER" events "$a")" "pause .*preempted by $b" "events has who took its place"
like "$("$MUSTER" show "$a")" '  waiting: needs 2 CPUs' "show has the reason"
run_muster wait "$waits"
is "$rc" 0 "a smaller job of the queue uses what is left"
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
ok "another daemon" serve
is "$(state "$a")" paused "keeps it paused"
touch b.go
run_muster wait "$b"
is "$rc" 4 "the job ends"
ok "the preempted one resumes by itself" wait_until 20 is_in "$a" running
# shellcheck disable=SC2016
ok "from its beginning" wait_until 20 sh -c '[ "$(grep -c begin a.log)" = 4 ]'

# --- a pause by a person releases its resources, too
run_muster pause "$a"
ok "paused" wait_until 20 is_in "$a" paused
submit -n 2 -- sh -c "$(holder c)"
c=$id
ok "another job takes its place" wait_until 20 is_in "$c" running
run_muster resume "$a"
is "$rc" 0 "resume"
ok "waits for the resources" wait_until 20 waits_for "$a" 'quota of 2 CPUs reached'
touch c.go
run_muster wait "$c"
ok "and gets them" wait_until 20 is_in "$a" running
touch a.go
run_muster wait "$a"
is "$rc" 4 "it ends with its exit code"

# --- SIGHUP
submit --queue shut -n 1 -- true
shut=$id
sed -i 's/preemption: pause/preemption: requeue/; s/closed: true/closed: yes please/' h/config.yaml
kill -HUP "$daemon"
ok "SIGHUP with errors" wait_until 20 grep -q 'it stays as it was' serve.log
is "$(state "$shut" waiting)" 'queue "shut" is closed' "keeps the configuration"
sed -i '/name: shut/d' h/config.yaml
kill -HUP "$daemon"
ok "SIGHUP" wait_until 20 grep -q 'configuration reloaded: 3 queues' serve.log
is "$(state "$shut" waiting)" 'queue "shut" is not in the configuration' "jobs of a queue that is gone wait"
sed -i 's/^- {name: short.*/- {name: shut}/' h/config.yaml
kill -HUP "$daemon"
run_muster wait "$shut"
is "$rc" 0 "until it is there again"

# --- preemption by requeue, with GPUs: another two than before
job one 'queue: low' 'gpu: 2'
job two 'queue: low' 'gpu: 2'
sed -i "s/command: .*go ]/command: 'echo begin \$CUDA_VISIBLE_DEVICES >>one.log; until [ -e one.go ]/" one.yaml
submit one.yaml
one=$id
ok "GPUs 0 and 1" wait_until 20 grep -q 'begin 0,1' one.log
submit two.yaml
two=$id
ok "a second job" wait_until 20 is_in "$two" running
cat >urgent.yaml <<'YAML'
apiVersion: muster/v1
name: urgent
queue: high
roles: {worker: {command: 'echo begin $CUDA_VISIBLE_DEVICES >>urgent.log; until [ -e urgent.go ]; do sleep 0.05; done', resources: {gpu: 2}}}
YAML
submit urgent.yaml
urgent=$id
ok "the youngest makes room" wait_until 20 is_in "$urgent" running
is "$(state "$two")" paused "it is paused"
touch one.go
run_muster wait "$one"
is "$rc" 0 "the other one ends"
ok "it continues" wait_until 20 is_in "$two" running
like "$("$MUSTER" show "$two")" 'running' "show"
touch two.go urgent.go
run_muster wait "$two" "$urgent"
is "$rc" 0 "all end"
finish
is "$?" 0 "the daemon ends"
done_testing
