#!/bin/sh
# A job that somebody looks into: debugged instead of run, paused in the middle and resumed with what
# its file has for that, held after a failure. The numbers are rows of the seed's rules.
# shellcheck disable=SC2016 # variables are for the job's own shell
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1

job_pid='' id=''
begin() # [NAME=VALUE…] ARG…: a run in the background, its id in $id
{
    rm -f "$WORK/go" "$REPORT"
    program=$MUSTER
    case $1 in MUSTER_FAULT=*) program=$MUSTER_FAULTY ;; esac
    fault=
    case $1 in MUSTER_FAULT=*) fault=$1 && shift ;; esac
    # A shell starts what is in the background with SIGINT ignored, and so it would stay.
    # shellcheck disable=SC2086 # nothing or one word
    env --default-signal=INT $fault "$program" run --report "$REPORT" --grace 60s "$@" >run.out 2>run.err </dev/null &
    job_pid=$!
    wait_until 30 is_listed
    id=$("$MUSTER" list --running --quiet)
}

is_listed()
{
    [ -n "$(our_runs -r)" ]
}

has_state() # STATE
{
    "$MUSTER" list -r | grep -q " $1 "
}

has_phase() # WORD: as the platform would say it
{
    "$MUSTER" show "$id" -o yaml | grep -q "^phase: $1\$"
}

end() # waits for the run; sets $rc
{
    wait "$job_pid"
    rc=$?
}

# --- debug, any dialect --------------------------------------------------------------------------

begin --debug -n 2 --hosts 2 -- sh -c 'echo trained; exit 5'
ok "4.23: --debug: the job is debugged" wait_until 20 has_state debugging
like "$(cat run.err)" "\`[^ ]*muster exec $id worker-0 -- sh\`.*\`[^ ]*muster resume $id\` starts the job" "4.23: how to get in is told"
run_muster exec worker-1 -- sh -c 'echo "$(hostname) $RANK $WORLD_SIZE $MASTER_PORT"'
like "$rc:$(cat "$out")" '^0:worker-1 1 2 [0-9]+$' "4.23: its environment is there"
run_muster show -o json
is "$(json attempts.0.replicas.1.logs "$out")" "[]" "4.23: nothing of it writes"
has_shape report "$out" "4.23: the report so far"
run_muster pause
wait_until 20 has_state paused
run_muster resume
ok "4.25: after a pause it is still debugged" wait_until 20 has_state debugging
is "$(cat run.out)" "" "4.23: no training was started"
run_muster resume
end
is "$rc $(cut -d' ' -f2 run.out | sort -u)" "5 trained" "4.23: resume starts the job, and its end is as ever"
is "$(report attempts.#) $(report attempts.2.outcome) $(report attempts.0.outcome)" "3 failed stopped" "4.23: as a further attempt"
has_shape report "$REPORT" "4.23: its report"

begin --debug -n 1 -- true
wait_until 20 has_state debugging
kill -INT "$job_pid"
end
is "$rc $(report outcome)" "130 cancelled" "4.23: Ctrl-C ends it"
begin --isolate none --debug -n 1 -- true
wait_until 20 has_state debugging
run_muster exec worker-0 -- true
is "$rc" 0 "4.23: exec at isolation level none"
run_muster cancel
end
is "$rc" 143 "4.23: cancel, too"

cat >tasks.yaml <<YAML
protocolVersion: 2
name: tasks
type: job
jobRetryCount: 1
prerequisites:
  - {name: image, type: dockerimage, uri: none}
taskRoles:
  head:
    instances: 1
    completion: {minFailedInstances: 1, minSucceededInstances: 1}
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 256, gpu: 0}
    commands: ["echo head; until [ -e $WORK/go ]; do sleep 0.05; done; test \$MUSTER_ATTEMPT = 2 || exit 3"]
  hand:
    instances: 2
    completion: {minFailedInstances: 1, minSucceededInstances: -1}
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 256, gpu: 0}
    commands: ["echo hand; exec sleep 1000"]
YAML
begin --debug=hand tasks.yaml
ok "4.23: --debug=ROLE" wait_until 20 has_state debugging
ok "4.23: the other roles run" wait_until 20 grep -q '^\[head-0\] head$' run.out
run_muster exec hand-1 -- sh -c 'echo $PAI_CURRENT_TASK_ROLE_NAME'
is "$(cat "$out")" hand "4.23: that one is for whoever gets in"
unlike "$(cat run.out)" hand "4.23: and does not run"
run_muster cancel
end
run_muster explain --debug=hand -o json tasks.yaml
is "$(json jobs.0.processes.1.shell "$out")" null "4.23: explain shows that it only waits"
run_muster run --debug=handd tasks.yaml
is "$rc" 125 "4.23: a role that is not there"
like "$(cat "$err")" 'did you mean "hand"' "4.23: has a nearest"

# --- hold ----------------------------------------------------------------------------------------

begin --hold-on-failure tasks.yaml
wait_until 20 grep -q hand run.out
touch go
ok "hold: after a failure the job is held" wait_until 20 has_state held
like "$(cat run.err)" "held: head-0 exited with status 3.*\`[^ ]*muster exec $id head-0 -- sh\` opens a shell" "hold: how to get in is told"
like "$("$MUSTER" show)" ": held: head-0 exited with status 3; its replicas are kept" "hold: show says why"
for replica in head-0 hand-1; do
    run_muster exec $replica -- sh -c 'echo "$(hostname) $PAI_CURRENT_TASK_ROLE_NAME"'
    is "$rc:$(cat "$out")" "0:$replica ${replica%-*}" "hold: $replica has ended and is still a host"
done
is "$(survivors "$id" | grep -c 'sleep 1000')" 0 "hold: none of its processes runs"
run_muster pause
is "$rc" 1 "hold: it cannot be paused"
rm -f go
run_muster resume
ok "hold: resume: the job is tried again" wait_until 20 grep -q 'attempt 2 begins' run.err
touch go
end
is "$rc $(report attempts.#)" "0 2" "hold: and succeeds"
like "$("$MUSTER" events "$id")" ' held$' "hold: it is in the journal"

for level in none names; do
    begin --isolate $level --hold-on-failure -n 2 --hosts 2 -- sh -c 'test $RANK = 0 || { echo "loss is NaN"; exit 4; }; exec sleep 1000'
    wait_until 20 has_state held
    "$MUSTER" show -o json >held.json
    is "$(json outcome held.json) $(json cause.rank held.json) $(json cause.log_tail.0 held.json)" "null 1 loss is NaN" \
        "hold: show has the cause and its last lines"
    run_muster exec worker-1 -- true
    is "$rc" 0 "hold: exec at isolation level $level"
    run_muster cancel
    end
    is "$rc $(report outcome) $(report cause.rank)" "4 failed 1" "hold: cancel ends it with its failure"
done
is "$(survivors "$id")" "" "hold: nothing is left"

# --- muster/v1 -----------------------------------------------------------------------------------

cat >own.yaml <<'YAML'
apiVersion: muster/v1
name: own
roles: {w: {replicas: 1, command: "exit 1"}}
pause: {roles: {w: {skipInit: true, command: [echo, resumed]}}}
YAML
begin own.yaml
ok "4.25: muster/v1: it starts paused" wait_until 20 has_state paused
sed '/pause:/s/resumed/RESUMED/; /pause:/s/{roles/{enabled: false, roles/; s/skipInit: true/skipInit: false/' own.yaml >changed.yaml
run_muster resume -f changed.yaml
like "$rc:$(cat "$err")" '`pause.roles` cannot be changed .*: command of `w` differs' "4.27: muster/v1: refused in its own words"
like "$(cat "$err")" '^changed.yaml:4:[0-9]+: error\[E0550\].* skipInit of `w`' "4.27: and at the key"
run_muster resume
end
is "$rc $(cat run.out)" "0 [w-0/0] resumed" "4.26: muster/v1: what its file has for that"

# --- T9k -----------------------------------------------------------------------------------------

if ! have_mpi openmpi; then
    skip "no Open MPI here" 29
    done_testing
    exit
fi

t9k() # SCRIPT: 5 × 3 ranks, as the example's; the run mode comes from stdin
{
    cat <<YAML
apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata: {name: mpi-example}
spec:
  worker:
    replicas: 5
    extraMPIArgs: [-N, "3", --enable-recovery, --allow-run-as-root, --oversubscribe]
    cmd: [sh, -c, '$1']
    template: {spec: {containers: [{name: mpi-worker}]}}
  runMode:
YAML
    cat
}

t9k 'echo trained' >debug.yaml <<'YAML'
    debug:
      enabled: true
      replicaSpecs:
      - {type: launcher, command: [sh, -c, "echo notebook of $MUSTER_ROLE"]}
      - {type: worker, command: [/usr/sbin/sshd, -D]}
YAML
begin debug.yaml
ok "4.23: runMode.debug" wait_until 20 has_state debugging
ok "4.24: replicaSpecs: the launcher's command runs" wait_until 20 grep -qx '\[launcher-0\] notebook of launcher' run.out
ok "4.29: a debugged job is Running" has_phase Running
run_muster show -o yaml
like "$(cat "$out")" 'reason: Debugging' "4.28: and its condition tells"
like "$(cat "$out")" '^  running: 6$' "4.33: all six replicas are up"
run_muster exec launcher-0 -- sh -c 'mpirun --allow-run-as-root --oversubscribe -N 3 hostname; mpirun --allow-run-as-root --oversubscribe -N 3 false'
is "$(sort "$out" | grep -c '^mpi-example-worker-[0-4]$')" 15 "4.23: mpirun by hand reaches all workers"
run_muster exec launcher-0 -- true
is "$rc" 0 "4.23: that it failed is nobody's failure"
run_muster resume -f debug.yaml
is "$rc" 2 "4.23: a file that still wants the debugging"
like "$(cat "$err")" '^debug.yaml:[0-9]+:[0-9]+: error\[E0551\]' "4.23: is refused with its place"
run_muster resume
end
is "$rc $(grep -c ' trained$' run.out)" "0 15" "4.23: resume starts the training"

t9k "echo trains; until [ -e $WORK/go ]; do sleep 0.05; done" >pause.yaml <<'YAML'
    pause:
      enabled: false
      resumeSpecs:
      - type: launcher
        command: [sh, -c, "echo resumed as $0 $MUSTER_ATTEMPT; until [ -e prepared.0 -a -e prepared.1 -a -e prepared.2 -a -e prepared.3 -a -e prepared.4 ]; do sleep 0.05; done"]
        args: [launcher]
      - type: worker
        skipInitContainer: true
        command: [sh, -c, "echo worker $MUSTER_INDEX prepares; touch prepared.$MUSTER_INDEX"]
YAML
# The job ends with its launcher, so that one waits for the workers.
begin pause.yaml
all_train() { [ "$(grep -c ' trains$' run.out)" -eq 15 ]; }
ok "4.25: 15 ranks train" wait_until 30 all_train
run_muster pause
ok "4.25: paused in the middle" wait_until 20 has_state paused
ok "4.29: Paused" has_phase Paused
is "$(survivors "$id" | grep -c 'sleep 0.05')" 0 "4.25: nothing of it runs"

sed 's/resumed as/RESUMED AS/' pause.yaml >changed.yaml
run_muster resume -f changed.yaml
is "$rc" 2 "4.27: other resumeSpecs are refused"
like "$(cat "$err")" "^changed.yaml:$(grep -n 'RESUMED AS' changed.yaml | cut -d: -f1):[0-9]+: error\\[E0550\\].*\`resumeSpecs\` cannot be changed" "4.27: with their place"
sed '/args: \[launcher\]/d; s/skipInitContainer: true/skipInitContainer: false/' pause.yaml >changed.yaml
run_muster resume -f changed.yaml
is "$(grep -c 'error\[E0550\]' "$err")" 2 "4.27: each change"
sed '/- type: worker/,/prepares/d' pause.yaml >changed.yaml
run_muster resume -f changed.yaml
like "$(cat "$err")" "error\\[E0550\\].* the entry of \`worker\`" "4.27: and an entry that is gone"
run_muster resume -f changed.yaml --set 'spec.runMode.pause.enabled=true'
like "$(cat "$err")" 'error\[E0551\]' "4.25: a file that still wants the pause"
sed 's/name: mpi-example/name: another/' pause.yaml >changed.yaml
run_muster resume -f changed.yaml
like "$rc:$(cat "$err")" '^2:.*job mpi-example of dialect t9k-mpi not found' "4.27: another job's file"
ok "4.27: the job has not noticed" has_state paused
run_muster resume -f pause.yaml
is "$rc" 0 "4.27: the same file resumes it"
end
is "$rc $(grep -c 'resumed as launcher 2$' run.out)" "0 1" "4.26: the launcher's resumeSpecs, command and args"
is "$(grep -c '^\[worker-[0-4]\] worker [0-4] prepares$' run.out)" 5 "4.26: and each worker's, beside its waiting"
is "$(report attempts.1.replicas.1.logs)" '["worker-0.attempt-2.log"]' "4.26: with a log"

sed 's/enabled: false/enabled: true/; s/echo worker .MUSTER_INDEX prepares/exit 6/' pause.yaml >paused.yaml
rm -f prepared.*
begin paused.yaml
wait_until 20 has_state paused
run_muster resume
end
is "$rc $(report cause.replica | cut -d- -f1)" "6 worker" "4.26: a worker's command that fails is a failure"

begin MUSTER_FAULT=gate:worker-3 paused.yaml
wait_until 20 has_state paused
run_muster resume
ok "4.29: Resuming, while a worker does not respond" wait_until 20 has_phase Resuming
run_muster cancel --now
end

begin pause.yaml
wait_until 30 all_train
shim=$(tr ' ' '\n' <"/proc/$job_pid/task/$job_pid/children" | while read -r pid; do
    grep -q muster-shim "/proc/$pid/comm" && echo "$pid"
done)
kill -KILL "$shim"
end
is "$rc $(report cause.kind)" "125 lost" "4.29: the supervisor is killed"
ok "4.29: Unknown, since nobody saw its end" has_phase Unknown
done_testing
