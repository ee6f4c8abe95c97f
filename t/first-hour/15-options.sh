# shellcheck shell=sh disable=SC2154,SC2016 # $out and $err are those of lib.sh; what is in single quotes is a job's
# What options change is told, what they cannot change is refused, and nothing that they made untrue is said.

cat >job.yaml <<'END'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: two}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          terminationGracePeriodSeconds: 60
          containers: [{name: pytorch, image: i, command: [sh, -c, 'trap "echo master ends; exit 0" TERM; touch started.m; while :; do sleep 0.1; [ ! -e worker.gone ] || exit 0; done']}]
    Worker:
      template:
        spec:
          terminationGracePeriodSeconds: 0
          containers: [{name: pytorch, image: i, command: [sh, -c, 'trap "" TERM; touch started.w; while :; do sleep 0.1; done']}]
END

# --- --set ---------------------------------------------------------------------------------------

worker=spec.pytorchReplicaSpecs.Worker
run_muster validate --set $worker.replicas=3 job.yaml
like "$(cat "$err")" "note.N0140.: set $worker.replicas = 3\$" "--set: what was set is told"
run_muster validate --set "$worker.template.spec.terminationGracePeriodSeconds=5" job.yaml
like "$(cat "$err")" "note.N0140.: set .*terminationGracePeriodSeconds = 5 \\(was 0\\)\$" "--set: and what was there"
run_muster validate --set "$worker.template.spec.containers[0].env=[{name: TOKEN, value: geheim}]" job.yaml
unlike "$(cat "$err")" geheim "--set: a value that may be secret is not shown"
run_muster validate --set "$worker.template.spec.containers[0].imagePulPolicy=x" job.yaml
is "$rc" 2 "--set: a key that the dialect does not know is an error, also where the file may have such"
like "$(cat "$err")" "E0101.*imagePulPolicy.*set by --set" "--set: the option is named"
like "$(cat "$err")" "did you mean .imagePullPolicy" "--set: with the nearest"
run_muster validate --set inputs.epohcs=5 "$TOP/examples/azureml-ga/pytorch.yaml"
like "$rc $(cat "$err")" "^2 .*E0147.*the job has no input .epohcs" "--set: an input that there is not"
like "$(cat "$err")" "did you mean .epochs" "--set: the nearest input"

# --- notes ---------------------------------------------------------------------------------------

cat >input.yaml <<'END'
command: cat ${{inputs.data}}
environment: azureml:e:1
inputs: {data: {path: azureml:data:1}}
END
echo here >here.txt
run_muster explain input.yaml
like "$(cat "$out")" 'note: .*input `data` is not available locally' "notes: an input elsewhere"
like "$(cat "$out")" '^    hint: use --map' "notes: explain has validate's hints"
run_muster explain --map "azureml:data:1=here.txt" input.yaml
unlike "$(cat "$out")" 'not on this machine' "notes: not once --map says where it is"

# --- --grace -------------------------------------------------------------------------------------

# The worker ignores SIGTERM and has no time at all: it is killed at once, while the master still has a minute.
grace() # OPTION…
{
    rm -f started.?
    "$MUSTER" run "$@" job.yaml >"$out" 2>"$err" &
    pid=$!
    wait_until 20 test -e started.m && wait_until 20 test -e started.w
    kill -TERM $pid # not INT: a shell starts what is in the background with that ignored
    wait $pid
    rc=$?
    "$MUSTER" events >"$WORK/events" 2>&1
}
grace
is "$rc" 143 "--grace: cancelled"
like "$(cat "$WORK/events" "$WORK"/state/muster/runs/*/journal.jsonl)" 'kill-role.*worker' "--grace: each role has its own"
like "$(cat "$out")" "master ends" "--grace: the other had time to say so"
rm -rf "$WORK"/state/muster/runs
grace --grace 0s
unlike "$(cat "$WORK"/state/muster/runs/*/journal.jsonl)" 'kill-role' "--grace: the option is for all of them"
like "$(cat "$WORK"/state/muster/runs/*/journal.jsonl)" '"kill"' "--grace: and kills all"
rm -f started.?
