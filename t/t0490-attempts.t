#!/bin/sh
# Attempts and restarts as they are seen from outside: numbers, logs, the report, the journal; and that
# nothing of one attempt reaches the next. How they end is in endings.tsv.
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1

pai() # NAME RETRIES COMMAND EXTRA: an OpenPAI file of two workers
{
    cat >"$1.yaml" <<YAML
protocolVersion: 2
name: $1
type: job
jobRetryCount: $2
prerequisites:
  - {name: image, type: dockerimage, uri: none}
taskRoles:
  worker:
    instances: 2
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}
    ${4:-}
    commands:
      - |
        $3
YAML
}

logs() # of a replica of an attempt
{
    report "attempts.$1.replicas.$2.logs"
}

# --- another attempt -----------------------------------------------------------------------------

# shellcheck disable=SC2016 # the job's own variables
pai twice 3 'echo "attempt $MUSTER_ATTEMPT, retry $FC_FRAMEWORK_ATTEMPT_ID"; (trap "" TERM; exec sleep 300) & test $MUSTER_ATTEMPT = 3 || exit 3'
run_job twice.yaml
is "$rc" 0 "1.5: the third attempt succeeds"
has_shape report "$REPORT" "the report of a retried job"
is "$(report attempts.#) $(report attempts.0.outcome) $(report attempts.1.outcome) $(report attempts.2.outcome)" \
    "3 failed failed succeeded" "each attempt has its outcome"
is "$(report attempts.1.number) $(report attempts.1.cause.exit_code) $(report cause)" "2 3 null" \
    "and its cause; the job has none"
is "$(report attempts.0.cause.log_tail.0) / $(report attempts.1.cause.log_tail.0)" "attempt 1, retry 0 / attempt 2, retry 1" \
    "with the last lines of its log"
like "$(report verdict)" '^succeeded at attempt 3: attempt 2 failed because worker-[01] exited with status 3$' "the verdict"
is "$(logs 0 0) $(logs 2 0)" '["worker-0.log"] ["worker-0.attempt-3.log"]' "logs have names of their own"
is "$(cat "$(report run_dir)/logs/worker-0.attempt-3.log")" "attempt 3, retry 2" "MUSTER_ATTEMPT, and OpenPAI's own number"
is "$(report status.state) $(report status.retries) $(report status.retryDetails.user)" "SUCCEEDED 2 2" \
    "1.5: OpenPAI's status counts the user's retries"
like "$(cat "$err")" 'note: attempt 1 failed because worker-[01] exited with status 3; attempt 2 begins' "told while it runs"
"$MUSTER" run twice.yaml >"$out" 2>&1
is "$(sed '1,/^muster: note: attempt 1 failed/d' "$out" | grep -c 'attempt 1, retry 0')" 0 "after all output of that attempt"
is "$(grep -c '"event":"attempt"' "$(report run_dir)/journal.jsonl")" 2 "in the journal"
is "$(survivors "$(run_id)")" "" "nothing is left of any attempt"

# The second attempt is there long enough to be seen before all is over.
# shellcheck disable=SC2016
pai last 1 'test $MUSTER_INDEX = 0 || exec sleep 300; echo "begins $MUSTER_ATTEMPT"; test $MUSTER_ATTEMPT = 1 || sleep 0.5; printf "ends $MUSTER_ATTEMPT"; exit 3'
run_job last.yaml
is "$(cat "$out")" "[worker-0] begins 1
[worker-0] ends 1
[worker-0] begins 2
[worker-0] ends 2" "the live view: last words of an attempt before the next one"

# shellcheck disable=SC2016
pai clean 1 'test $MUSTER_INDEX = 0 || exit 0; grep -qsx sleep /proc/[0-9]*/comm && exit 9; (trap "" TERM; exec sleep 300) & test $MUSTER_ATTEMPT = 2 || exit 3'
run_job clean.yaml
is "$rc" 0 "nothing of the first attempt is there in the second"

# shellcheck disable=SC2016
pai killed 0 'test $MUSTER_INDEX = 1 || kill -KILL $$; sleep 60'
run_job killed.yaml
is "$rc $(report attempts.#) $(report status.retries)" "137 4 3" "1.5: a transient failure is tried three times more"
is "$(report status.retryDetails.user) $(report status.retryDetails.platform)" "0 3" "1.5: the platform's retries, apart"

# --- back-off ------------------------------------------------------------------------------------

waits() # the job is told to wait for its next attempt
{
    grep -q 'attempt 2 begins in' "$err"
}

pai later 0 'exit 201'
timeout -k 5 60 "$MUSTER" run --report "$REPORT" later.yaml >"$out" 2>"$err" </dev/null &
waiter=$!
ok "1.5: a conflict waits for a while" wait_until 30 waits
muster=$(tr -d " " <"/proc/$waiter/task/$waiter/children")
kill -TERM "$muster"
wait $waiter
is "$? $(report outcome) $(report cause.kind)" "143 cancelled cancelled" "and can be cancelled then"
is "$(report attempts.#) $(report attempts.0.cause.exit_code)" "1 201" "what was not begun is no attempt"

# --- restarts in place ---------------------------------------------------------------------------

# shellcheck disable=SC2016
pai task 0 'echo "try $FC_TASK_ATTEMPT_ID"; test $MUSTER_INDEX = 1 || test $FC_TASK_ATTEMPT_ID = 1 || exit 3; sleep 1' 'taskRetryCount: 1'
echo 'extras: {gangAllocation: false}' >>task.yaml
run_job task.yaml
is "$rc $(report attempts.#)" "0 1" "1.5: a task that is no gang's is retried alone"
is "$(report attempts.0.replicas.0.restarts) $(report attempts.0.replicas.1.restarts)" "1 0" "its restarts"
is "$(logs 0 0)" '["worker-0.log", "worker-0.restart-1.log"]' "its logs"
is "$(cat "$(report run_dir)/logs/worker-0.restart-1.log")" "try 1" "the second try"
like "$(report verdict)" 'worker-0 was restarted once$' "the verdict tells it"
like "$(cat "$err")" 'note: worker-0 exited with status 3 and is restarted' "told while it runs"

# --- a file that starts paused -------------------------------------------------------------------

sed 's,^spec:,spec:\n  runMode: {pause: {enabled: true}},' "$TOP/examples/mpi-example.yaml" >paused.yaml
timeout -k 5 60 "$MUSTER" run --report "$REPORT" paused.yaml >"$out" 2>"$err" </dev/null &
waiter=$!
ok "4.25: pause.enabled: it starts paused" wait_until 30 grep -q 'resume [0-9].*starts it' "$err"
muster=$(tr -d " " <"/proc/$waiter/task/$waiter/children")
kill -TERM "$muster"
wait $waiter
is "$? $(report cause.kind)" "143 cancelled" "4.25: and can be cancelled"
is "$(report attempts.0.replicas.0.outcome) $(cat "$out")" "never-started " "4.25: nothing of it was started"
has_shape report "$REPORT" "4.25: its report"

# --- mpirun --------------------------------------------------------------------------------------

if have_mpi openmpi; then
    # shellcheck disable=SC2016
    pai ranks 1 'test $MUSTER_INDEX = 0 || exec sleep 60; mpirun --allow-run-as-root --oversubscribe -np 2 sh -c "echo rank; test $MUSTER_ATTEMPT = 2 || exit 3"' \
        'completion: {minFailedInstances: 1, minSucceededInstances: 1}'
    run_job ranks.yaml
    is "$rc" 0 "ranks of the second attempt succeed"
    is "$(report attempts.0.ranks.0.log) $(report attempts.1.ranks.0.log)" \
        "worker-0.rank-0.log worker-0.rank-0.attempt-2.log" "each attempt's ranks have logs of their own"
    cat >m2.yaml <<'YAML'
apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata: {name: again}
spec:
  mpiConfig:
    extraArgs: ["--allow-run-as-root", "--oversubscribe"]
    script: [sh, -c, 'test "$OMPI_COMM_WORLD_RANK" != 0 || test -e $MUSTER_RUN_DIR/seen || { touch $MUSTER_RUN_DIR/seen; exit 3; }']
  replicaSpecs:
  - {type: launcher, replicas: 1, restartPolicy: {policy: OnFailure, limit: 2}, template: {}}
  - {type: worker, replicas: 2, template: {spec: {containers: [{name: worker}]}}}
YAML
    run_job m2.yaml
    is "$rc $(report attempts.0.replicas.0.restarts)" "0 1" "T9k: restartPolicy OnFailure starts the launcher again"
    is "$(report status.phase) $(report status.tasks.0.restartCount)" "Succeeded 1" "T9k: its status counts it"
    is "$(survivors "$(run_id)")" "" "T9k: nothing is left"
else
    skip "no Open MPI here" 5
fi
done_testing
