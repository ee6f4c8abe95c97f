#!/bin/sh
# The clock is set while a job runs, an hour forward or back: nothing but the shown time of what comes after may
# change. A fault point shifts CLOCK_REALTIME, in muster and in its shim, by the seconds in a file.
# shellcheck disable=SC2016 # scripts for inner shells
. "${0%/*}/lib.sh"
MUSTER=$MUSTER_FAULTY
[ -x "$MUSTER" ] || skip_all "no muster with fault points"
export MUSTER_FAULT="clock:$WORK/shift"

took() # seconds from the first start to the last end, as the report has them
{
    python3 - "$REPORT" <<'PYTHON'
import datetime, json, sys
def at(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
attempts = json.load(open(sys.argv[1]))["attempts"]
print("sane" if 0 <= (at(attempts[-1]["ended"]) - at(attempts[0]["started"])).total_seconds() < 600 else attempts)
PYTHON
}

ordered()
{
    python3 - "$XDG_STATE_HOME/muster/runs/$(run_id)/journal.jsonl" <<'PYTHON'
import json, sys
times = [json.loads(line)["at"] for line in open(sys.argv[1])]
print("ordered" if times == sorted(times) and times[-1] - times[0] < 600 * 10**9 else times)
PYTHON
}

for shift in +3600 -3600; do
    # grace: who ends by itself within it is not killed; who does not, is
    echo 0 >"$WORK/shift"
    start_job --grace 60s -n 1 -- sh -c 'trap "sleep 1; echo bye; exit 0" TERM; : >"$0/up"; while :; do sleep 0.1; done' "$WORK"
    job_is_up
    kill -INT $pid
    wait_until 20 grep -q '"event":"stop"' "$XDG_STATE_HOME/muster/runs/$id/journal.jsonl"
    echo $shift >"$WORK/shift"
    ends
    is "$rc:$(cat "$out")" "130:[worker-0/0] bye" "$shift s within the grace period"
    is "$(took)" sane "$shift s: how long it took"
    is "$(ordered)" ordered "$shift s: times of the journal"

    echo 0 >"$WORK/shift"
    start_job --grace 1s -n 1 -- sh -c 'trap "" TERM; : >"$0/up"; while :; do sleep 0.1; done' "$WORK"
    job_is_up
    kill -INT $pid
    echo $shift >"$WORK/shift"
    ends 40
    is "$rc" 130 "$shift s: the grace period ends"

    # a job that hangs is still noticed, and only one that does
    echo 0 >"$WORK/shift"
    start_job --hang-timeout 3s -n 1 -- sh -c ': >"$0/up"; sleep 300' "$WORK"
    job_is_up
    echo $shift >"$WORK/shift"
    ends
    is "$rc" 124 "$shift s: a job that hangs is ended"
    echo 0 >"$WORK/shift"
    start_job --hang-timeout 60s -n 1 -- sh -c ': >"$0/up"; sleep 3' "$WORK"
    job_is_up
    echo $shift >"$WORK/shift"
    ends
    is "$rc" 0 "$shift s: one that does not is not"

    # deadlines
    for limit in 5 300; do
        cat >"$WORK/deadline.yaml" <<YAML
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: deadline}
spec:
  runPolicy: {activeDeadlineSeconds: $limit}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
            - {name: pytorch, image: none, command: [sh, -c, ": >$WORK/up; sleep $([ $limit = 5 ] && echo 200 || echo 3)"]}
YAML
        echo 0 >"$WORK/shift"
        start_job "$WORK/deadline.yaml"
        job_is_up
        echo $shift >"$WORK/shift"
        ends
        is "$rc" "$([ $limit = 5 ] && echo 124 || echo 0)" "$shift s: a deadline of $limit s" || diag "$(cat "$err")"
    done

    # who failed first, and what a running job says of itself
    echo 0 >"$WORK/shift"
    rm -f "$WORK/go"
    start_job -n 2 -- sh -c 'if [ "$RANK" = 1 ]; then : >"$0/up"; until [ -e "$0/go" ]; do sleep 0.05; done; exit 7; fi; trap "exit 9" TERM; while :; do sleep 0.1; done' "$WORK"
    job_is_up
    echo $shift >"$WORK/shift"
    "$MUSTER" list -r >"$WORK/list" 2>&1
    unlike "$(cut -d' ' -f2- "$WORK/list")" " [0-9]+ ?h|-[0-9]+ ?(s|min)" "$shift s: list shows no hours"
    : >"$WORK/go"
    ends
    is "$rc:$(report cause.rank)" 7:1 "$shift s: who failed first"
    is "$(ordered)" ordered "$shift s: times of its journal"
    like "$(cat "$err")" "took [0-9.]+ (ms|s)" "$shift s: elapsed time"
done
done_testing
