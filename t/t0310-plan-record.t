#!/bin/sh
# plan.json: what a run leaves behind says what was run: the environments in it are those that the
# processes had.
. "${0%/*}/lib.sh"

plan() # of the last run
{
    echo "$(report run_dir)/plan.json"
}

# A dump of `env -0` is the environment that plan.json has for the process.
same_env() # DUMP REPLICA RANK|null
{
    python3 - "$(plan)" "$@" <<'PYTHON'
import json, sys
path, dump, replica, rank = sys.argv[1:]
own = {'_', 'PWD', 'OLDPWD', 'SHLVL',  # of a shell in between
       'MUSTER_FORWARD', 'MUSTER_LAUNCH'}  # of what an agent starts
seen = dict(v.split('=', 1) for v in open(dump, newline='').read().split('\0') if '=' in v)
planned = [p['env'] for j in json.load(open(path))['jobs'] for p in j['processes']
           if p['replica'] == replica and p['rank'] == json.loads(rank)]
assert len(planned) == 1, f'{len(planned)} processes are {replica}, rank {rank}'
for name in sorted((set(seen) | set(planned[0])) - own):
    a, b = seen.get(name), planned[0].get(name)
    assert a == b or b == '***', f'{name}: the process has {a!r}, the plan says {b!r}'
PYTHON
}

# --- a command -----------------------------------------------------------------------------------

export LANG=C.UTF-8 SOMETHING=else
cd "$WORK" || exit 1
run_job -n 4 --hosts 2 -- env -0
is "$rc" 0 "four processes on two hosts"
ok "plan.json is there" test -f "$(plan)"
is "$(stat -c %a "$(plan)")" 600 "for its owner only"
has_shape explain "$(plan)" "it has the shape of explain -o json"
like "$(cat "$(plan)")" "\"MUSTER_RUN_ID\": \"$(run_id)\"" "with the run's own id"
unlike "$(cat "$(plan)")" RUN_ID/ "and no stand-in for it"
logs=$(report run_dir)/logs
for rank in 0 1 2 3; do
    ok "rank $rank had the environment that was planned" \
        same_env "$logs/worker-$((rank / 2)).rank-$rank.log" "worker-$((rank / 2))" $rank
done
is "$(json jobs.0.processes.3.workdir "$(plan)")" "$WORK" "the working directory"
is "$(json jobs.0.processes.3.argv "$(plan)")" '["env", "-0"]' "the command"

cp "$logs/worker-0.rank-0.log" dump
sed -i 's/"HOME": "/"HOME": "x/' "$(plan)"
if same_env dump worker-0 0 >/dev/null 2>&1; then seen=0; else seen=1; fi
is $seen 1 "a plan that says something else is noticed"

# --- a plan that would be large -------------------------------------------------------------------

BIG=$(head -c 100000 /dev/zero | tr '\0' x)
export BIG
run_job -n 64 -- true
unset BIG
is "$rc" 0 "64 processes with 100 kB of environment each"
is "$(($(stat -c %s "$(plan)") / 1000000))" 4 "the plan ends with its limit"
has_shape explain "$(plan)" "it still has the shape of explain -o json"
is "$(json jobs.0.processes.0.env.BIG "$(plan)" | wc -c) $(json jobs.0.processes.# "$(plan)") $(json jobs.0.processes.63.env "$(plan)")" \
    "100001 64 {}" "the first processes have their environments, and all are there"
like "$(json jobs.0.notes "$(plan)")" "the environments of the last [0-9]+ processes are left out" "a note says so"

# --- T9k -----------------------------------------------------------------------------------------

# Something that is taken for Open MPI and shows what it was given.
mkdir -p "$WORK/mpi/bin" "$WORK/seen"
cat >"$WORK/mpi/bin/orterun" <<EOT
#!/bin/sh
env -0 >"$WORK/seen/launcher"
for i in 0 1; do
    ssh mpi-example-worker-\$i env -0 >"$WORK/seen/worker-\$i"
done
EOT
chmod +x "$WORK/mpi/bin/orterun"
ln -s orterun "$WORK/mpi/bin/mpirun"
ln -s /bin/true random_walk # what it would run is there
sed "s,^  mpiHome: .*,  mpiHome: $WORK/mpi," "$TOP/examples/mpi-example.yaml" >job.yaml
run_job --scale worker=2 --set 'spec.worker.template.spec.containers[0].env=[{name: A, value: b c}]' job.yaml
is "$rc" 0 "a T9k job"
ok "its launcher had the environment that was planned" same_env "$WORK/seen/launcher" launcher-0 null
for i in 0 1; do
    ok "so has what is reached in worker $i" same_env "$WORK/seen/worker-$i" worker-$i null
done
is "$(json jobs.0.processes.0.env.A "$(plan)")" "b c" "what --set put there is in it"
like "$(json jobs.0.notes "$(plan)")" "worker: 2 replicas instead of 5" "and what options changed"
like "$(json jobs.0.notes "$(plan)")" "job.yaml:[0-9]+:[0-9]+: |there is no directory" "and what is different here"

# --- the other platforms -------------------------------------------------------------------------

cat >pai.yaml <<'EOT'
protocolVersion: 2
name: sample
type: job
prerequisites:
  - {type: dockerimage, name: img, uri: some/image}
taskRoles:
  worker:
    instances: 2
    dockerImage: img
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0, ports: {http: 2}}
    commands: [exec env -0]
EOT
run_job pai.yaml
is "$rc" 0 "an OpenPAI job"
for i in 0 1; do
    ok "its task $i had the environment that was planned" \
        same_env "$(report run_dir)/logs/worker-$i.log" worker-$i null
done
like "$(json jobs.0.processes.1.env.PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX "$(plan)")" 1 "the task's index is in it"

cat >azure.yaml <<'EOT'
name: sample
type: PytorchJob
compute: {target: azureml:gpu, type: AmlCompute, instance_count: 2}
worker:
  spec:
    command: exec env -0
    environment: azureml:pytorch:1
EOT
run_job azure.yaml
is "$rc" 0 "an Azure ML job"
for i in 0 1; do
    ok "its node $i had the environment that was planned" \
        same_env "$(report run_dir)/logs/worker-$i.log" worker-$i null
done
is "$(json jobs.0.processes.1.env.NODE_RANK "$(plan)")" 1 "NODE_RANK is in it"

mkdir -m 700 secrets secrets/token
(umask 077 && printf t0kenvalue >secrets/token/key)
run_job --scale worker=2 --secrets secrets --set 'spec.worker.template.spec.containers[0].env=[{name: TOKEN, valueFrom: {secretKeyRef: {name: token, key: key}}}]' job.yaml
is "$rc" 0 "a T9k job with a secret in its environment"
ok "its launcher had all but that as it was planned" same_env "$WORK/seen/launcher" launcher-0 null
like "$(tr '\0' '\n' <"$WORK/seen/launcher")" "^TOKEN=t0kenvalue" "the launcher had the secret itself"
is "$(json jobs.0.processes.0.env.TOKEN "$(plan)")" "***" "the plan does not say it"
is "$(grep -rl t0kenvalue "$(report run_dir)")" "" "nor does any file of the run"

# --- a secret in a command -----------------------------------------------------------------------

sed -e "s/^taskRoles:/secrets: {key: s3cretvalue}\n&/" \
    -e "s/^    commands:.*/    commands: [\"key='<% \$secrets.key %>'\", 'echo it has \${#key} letters']/" pai.yaml >secret.yaml
run_job secret.yaml
is "$rc" 0 "an OpenPAI job with a secret in its command"
like "$(cat "$out")" "it has 11 letters" "runs that command, with the secret"
like "$(json jobs.0.processes.0.shell "$(plan)")" "key='\*\*\*'" "the plan does not say it"
is "$(grep -rl s3cretvalue "$(report run_dir)")" "" "nor does any file of the run"

# --- explain -------------------------------------------------------------------------------------

# explain says the same but for what only a run knows.
run_job --scale worker=2 --set 'spec.worker.template.spec.containers[0].env=[{name: A, value: b c}]' job.yaml
run_muster explain -o json --scale worker=2 --set 'spec.worker.template.spec.containers[0].env=[{name: A, value: b c}]' job.yaml
sed "s/$(run_id)/RUN_ID/g" "$(plan)" >run.json
ok "explain shows the same plan" cmp run.json "$out"

done_testing
