#!/bin/sh
# --preflight: the network between replicas is tried before anything starts.
# shellcheck disable=SC2016 # what is in single quotes is for the shell of a job
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1
cat >job.yaml <<'YAML'
apiVersion: muster/v1
name: job
roles:
  worker: {replicas: 3, command: 'echo "$(hostname) works"'}
YAML

run_job --preflight job.yaml
is "$rc $(sort "$out" | tr '\n' ' ')" "0 [worker-0/0] worker-0 works [worker-1/1] worker-1 works [worker-2/2] worker-2 works " "the job runs afterwards"
like "$(cat "$err")" '^muster: preflight: 3 replicas, 6 of 6 connections work$' "every pair was tried in both directions"
is "$(grep -cE '^  worker-[0-2] to worker-[0-2] +[0-9.]+ ms +[0-9.]+ [MG]B/s$' "$err")" 6 "with latency and bandwidth"
run_muster show "$(run_id)"
like "$(cat "$out")" "succeeded" "its record is read back"
run_job --preflight -q job.yaml
unlike "$(cat "$err")" preflight "not with --quiet"

run_job --preflight=only job.yaml
is "$rc $(cat "$out")" "0 " "only: nothing starts"
like "$(report verdict)" '^passed its preflight; no command was started' "the verdict says so"
has_shape report "$REPORT" "the report has its shape"
run_job --preflight=only --scale worker=1 job.yaml
like "$rc $(cat "$err")" 'preflight: one replica, no connection to try' "one replica"
run_job --preflight=only --scale worker=70 job.yaml
like "$rc $(cat "$err")" '^0 ' "70 replicas"
like "$(cat "$err")" 'preflight: 70 replicas, ([0-9]+) of \1 connections work \(beyond 64 replicas: the ring and 4 random rounds, not every pair\)' \
    "not every pair of many, and that is said"
like "$(cat "$err")" '^  latency [0-9.]+ ms to [0-9.]+ ms, median' "a summary"
for level in names network none; do
    run_job --preflight=only --isolate $level job.yaml
    if [ "$rc" = 0 ]; then
        like "$(cat "$err")" '6 of 6 connections work' "--isolate $level"
    else
        skip "--isolate $level cannot be had here"
    fi
done
if have_mpi openmpi; then
    cat >mpi.yaml <<'YAML'
apiVersion: muster/v1
name: mpi
framework: mpi
roles:
  worker: {replicas: 2, slots: 1, command: [hostname]}
YAML
    run_job --preflight mpi.yaml
    is "$rc $(sort "$out" | tr '\n' ' ')" "0 [worker-0/0] worker-0 [worker-1/1] worker-1 " "with a launcher"
    like "$(cat "$err")" 'preflight: 3 replicas, 6 of 6' "which is tried, too"
else
    skip "no Open MPI" 2
fi

# --- what cannot be reached ----------------------------------------------------------------------

MUSTER=$MUSTER_FAULTY
MUSTER_FAULT=deaf:worker-1 run_job --preflight job.yaml
is "$rc $(report cause.kind) $(report cause.replica)" "125 not-ready worker-2" "a replica that nobody reaches"
like "$(report verdict)" '^failed: worker-2 cannot reach worker-1 \(127\.1\.0\.[0-9]+:1\): connection refused; 2 of 6 connections failed' "the pair is named"
like "$(cat "$err")" '^  worker-0 to worker-1 +Connection refused$' "the table has all of them"
is "$(cat "$out")" "" "nothing was started"
has_shape report "$REPORT" "the report has its shape"
MUSTER_FAULT=deaf:worker-1 run_job --preflight=only job.yaml
is "$rc $(report cause.kind)" "125 not-ready" "only: the same"

run_job --preflight=some job.yaml
like "$rc $(cat "$err")" '^125 .*--preflight must have no value or "only", not "some"' "another value"
run_job --preflight --on sim job.yaml
like "$rc $(cat "$err")" '^125 .*--preflight: --on sim has no network' "a simulation"
done_testing
