#!/bin/sh
# What processes of the other dialects are told: as explain shows it, and as they see it themselves.
# shellcheck disable=SC2016 # what is quoted is for the job's shell
. "${0%/*}/lib.sh"

# --- OpenPAI -------------------------------------------------------------------------------------

pai=$WORK/pai.yaml
cat >"$pai" <<'YAML'
protocolVersion: 2
name: pai_job
type: job
prerequisites:
  - {type: dockerimage, name: img, uri: some/image}
taskRoles:
  ps_Server:
    instances: 1
    dockerImage: img
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0, ports: {SynPort: 2}}
    commands:
      - ssh ps_Server-0 hostname
      - ssh psserver-0 hostname
      - getent hosts ps_Server-0 psserver-0 worker-1 | cut -d ' ' -f 1
      - test "$PAI_PORT_LIST_ps_Server_0_SynPort" = "$PAI_psserver_0_SynPort_PORT"
      - ssh worker-1 'echo $PAI_CURRENT_TASK_ROLE_NAME $PAI_TASK_INDEX $PAI_HOST_IP_worker_1'
      - echo "list $PAI_TASK_ROLE_worker_HOST_LIST"
      - kill $$
  worker:
    instances: 2
    dockerImage: img
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}
    commands:
      - sleep 600
YAML

run_muster explain -o json "$pai"
is "$rc" 0 "1.3: an OpenPAI job is explained"
has_shape explain "$out" "its JSON has the promised shape"
is "$(json jobs.0.processes.0.argv "$out")" null "a text for a shell is no argv"
like "$(json jobs.0.processes.0.shell "$out")" "^ssh ps_Server-0 hostname" "it is the text"
is "$(json jobs.0.processes.0.host "$out")" psserver-0 "3.13: a host's name has a host's letters"
is "$(json jobs.0.processes.0.replica "$out")" ps_Server-0 "3.13: a replica's is the role's"
is "$(json jobs.0.processes.0.env.PAI_PORT_LIST_ps_Server_0_SynPort "$out")" \
    "$(json jobs.0.processes.0.ports.SynPort "$out" | tr -d '[] ')" "1.11: ports are those of the replica"
is "$(json jobs.0.processes.0.env_origin.PAI_HOST_IP_worker_1 "$out")" dialect "whose variables they are"
run_muster explain "$pai"
like "$(cat "$out")" "psserver-0  SynPort [0-9]+ [0-9]+, ssh [0-9]+, http [0-9]+|psserver-0  .*SynPort [0-9]+ [0-9]+" "the page shows ports"
like "$(cat "$out")" "^  bash -o errexit -o nounset -o pipefail -c$" "0.7: and the shell"

run_job "$pai"
is "$rc" 143 "0.7: the shell is the command: it ends itself"
log=$(cat "$(report run_dir)/logs/ps_Server-0.log")
is "$(echo "$log" | sed -n 1,2p)" "psserver-0
psserver-0" "3.13: ssh finds a replica by both names"
is "$(echo "$log" | sed -n 3,5p)" "127.1.0.1
127.1.0.1
127.1.0.3" "3.13: both names resolve"
is "$(echo "$log" | sed -n 6p)" "worker 1 127.1.0.3" "1.4: a command over ssh sees the task's environment"
like "$(echo "$log" | sed -n 7p)" "^list 127.1.0.2:[0-9]+,127.1.0.3:[0-9]+$" "1.3: peers with their ports"

cat >"$WORK/slips.yaml" <<'YAML'
protocolVersion: 2
name: slips
type: job
prerequisites:
  - {type: dockerimage, name: img, uri: some/image}
taskRoles:
  worker:
    instances: 1
    dockerImage: img
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0, ports: {SynPort: 1}}
    commands:
      - export MASTER_PORT=5000 GLOO_SOCKET_IFNAME=nosuch0
      - echo before
      - echo $PAI_PORT_LIST_work_0_SyncPort
      - echo after
YAML
run_muster explain "$WORK/slips.yaml"
like "$(cat "$out")" "warning: worker: the command uses .PAI_PORT_LIST_work_0_SyncPort, which is not set; did you mean .PAI_PORT_LIST_worker_0_SynPort.$" "1.12: a slip"
like "$(cat "$out")" 'note: worker hard-codes port 5000.*\$PAI_PORT_LIST_worker_0_SynPort' "1.10: a fixed port"
run_job "$WORK/slips.yaml"
is "$rc" 1 "0.7: an unset variable ends the command"
like "$(cat "$out")" "before" "0.7: where it is used"
unlike "$(cat "$out")" "after" "0.7: and not later"

cat >"$WORK/v1.json" <<'JSON'
{"jobName": "v1", "image": "i", "taskRoles": [{"name": "main",
  "command": "false; echo \"$0 $UNSET goes on\"; [ -n \"$PAI_CONTAINER_HOST_http_PORT_LIST\" ]"}]}
JSON
run_job "$WORK/v1.json"
is "$rc" 0 "0.7: the first generation goes on after a failure"
like "$(cat "$out")" "bash  goes on" "0.7: in bash"

# --- Azure ML ------------------------------------------------------------------------------------

cat >"$WORK/tf.yaml" <<'YAML'
name: tf
type: TensorflowJob
experiment_name: trial
worker:
  num_replicas: 2
  spec:
    command: echo "$AZUREML_ARM_PROJECT_NAME $TF_CONFIG"
    environment: azureml:tensorflow-2.3:1
parameter_server:
  num_replicas: 1
  spec:
    command: "true"
    environment: azureml:tensorflow-2.3:1
compute: {type: AmlCompute, target: gpu-cluster}
YAML
run_job "$WORK/tf.yaml"
is "$rc" 0 "0.28: a TensorflowJob runs"
sed -n 's/^trial //p' "$(report run_dir)/logs/worker-1.log" >"$WORK/tf_config"
ok "0.28: TF_CONFIG names the peers' own ports" python3 - "$WORK/tf_config" "$(report run_dir)/peers.json" <<'PYTHON'
import json, sys
config, peers = (json.load(open(path)) for path in sys.argv[1:])
def of(role):
    return ['%s:%d' % (p['host'], p['ports']['TF_CONFIG']) for p in peers if p['role'] == role]
assert config == {'cluster': {'ps': of('parameter_server'), 'worker': of('worker')},
                  'task': {'type': 'worker', 'index': 1}, 'environment': 'cloud'}, config
PYTHON

# --- Kubernetes ----------------------------------------------------------------------------------

cat >"$WORK/argv.yaml" <<'YAML'
apiVersion: kubeflow.org/v1alpha1
kind: MPIJob
metadata: {name: argv}
spec:
  replicas: 1
  template:
    spec:
      containers:
        - name: main
          image: i
          command: [printf, "%s\n"]
          args: ["$(N) $$(N) $(NOBODY) $(M)", "$HOME"]
          env: [{name: N, value: "5"}, {name: M, value: "$(N)0"}]
YAML
run_job "$WORK/argv.yaml"
is "$rc" 0 "0.7: an argv of Kubernetes runs"
is "$(cat "$(report run_dir)/logs/launcher-0.log")" '5 $(N) $(NOBODY) 50
$HOME' "0.7: expanded as the kubelet does, by no shell"

done_testing
