#!/bin/sh
# SIGKILL of muster at random moments: afterwards show, events, list and wait agree with what the journal
# holds, and nothing is invented. ROUNDS says how often, MUSTER_TEST_SEED repeats the moments.
. "${0%/*}/lib.sh"

ROUNDS=${ROUNDS:-20}
[ -z "$SOAK" ] || ROUNDS=100
SEED=${MUSTER_TEST_SEED:-$(date +%s)}
diag "seed $SEED, $ROUNDS rounds"
cd "$WORK" || exit 1

# Two replicas: one fails twice and is tried again as a whole.
cat >attempts.yaml <<'YAML'
protocolVersion: 2
name: attempts
type: job
jobRetryCount: 2
prerequisites:
  - {name: image, type: dockerimage, uri: none}
taskRoles:
  worker:
    instances: 2
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}
    commands:
      - sleep 0.1; test $MUSTER_INDEX = 0 || exec sleep 0.3; exit 3
YAML
# Restarts in place: the first at once, the second after ten seconds.
cat >restarts.yaml <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: restarts}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
      template: {spec: {containers: [{name: pytorch, image: none, command: [sh, -c, "sleep 0.2; exit 5"]}]}}
    Worker:
      replicas: 2
      restartPolicy: Never
      template: {spec: {containers: [{name: pytorch, image: none, command: [sleep, "100"]}]}}
YAML

# Starts a job, kills its muster when its journal has so many lines or after so long; prints the run directory.
cat >round.py <<'PYTHON'
import os, random, subprocess, sys, time
muster, rounds, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = random.Random(int(sys.argv[4]) * 1000 + number)
home = os.path.abspath(f'{rounds}/{number}')


def run_dir():
    return next((e.path for e in os.scandir(f'{home}/muster/runs') if e.is_dir()), '') \
        if os.path.isdir(f'{home}/muster/runs') else ''


jobs = [['-n', '3', '--hosts', '3', '--', 'sh', '-c', 'sleep 0.$((RANK + 1)); exit $RANK'],
        ['attempts.yaml'], ['restarts.yaml']]
job = subprocess.Popen([muster, 'run', *rng.choice(jobs)], env={**os.environ, 'XDG_STATE_HOME': home},
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
lines = rng.choice([None, rng.randrange(1, 25)])
until = time.monotonic() + (rng.uniform(0, 0.8) if lines is None else 1.5)
while time.monotonic() < until and job.poll() is None:
    if lines is not None:
        try:
            if open(f'{run_dir()}/journal.jsonl', 'rb').read().count(b'\n') >= lines:
                break
        except FileNotFoundError:
            pass
    time.sleep(0.001)
job.kill()
job.wait()
print(run_dir())
PYTHON

mkdir rounds
round() # NUMBER
{
    dir=$(python3 round.py "$MUSTER" rounds "$1" "$SEED") || return 1
    [ -n "$dir" ] || { moment=none && return 0; }
    wait_until 10 flock -n "$dir" true # whatever held it, the run is over
    moment=$(XDG_STATE_HOME=$PWD/rounds/$1 python3 "$TOP/t/killed_show.py" "$MUSTER" "$dir" 2>&1) || {
        printf '%s\n' "$moment"
        cat "$dir/journal.jsonl"
        return 1
    }
}

i=0 seen=
while [ $i -lt "$ROUNDS" ]; do
    i=$((i + 1))
    ok "round $i: what is told is what the journal holds" round $i
    seen="$seen $moment"
done
# shellcheck disable=SC2086 # words
diag "moments:$(printf '%s\n' $seen | sort | uniq -c | tr '\n' ' ')"
ok "some were killed while something was running" test "${seen#* running}" != "$seen"

# A last line that was being written is left out; nothing is told of what it says.
run_muster run --run-dir "$WORK/whole" -n 1 -- sh -c 'exit 3'
rm whole/report.json
cp -a whole torn
is "$("$MUSTER" show -o json "$WORK/whole" | grep -c '^  "outcome": "failed"')" 1 "without a report, the journal's end is told"
is "$("$MUSTER" wait "$WORK/whole"; echo $?)" 3 "wait has the exit code from it"
truncate -s -2 torn/journal.jsonl
like "$("$MUSTER" show "$WORK/torn")" 'lost: the muster process was killed while 0 of 1 processes were running and 1 had ended' \
    "the end is torn: it is not known"
like "$("$MUSTER" show "$WORK/torn")" 'worker-0 +failed, exit code 3' "but how the replica ended is"
is "$("$MUSTER" events "$WORK/torn" | grep -c ended)" 0 "events leave it out"
is "$("$MUSTER" events -o json "$WORK/torn" | tail -c 1 | od -An -c | tr -d ' ')" '\n' "as JSON too"
"$MUSTER" show -o json "$WORK/torn" >torn.json
has_shape report torn.json "what is known has the shape of a report"
# Of a simulated run, too: where it ran is recorded.
MUSTER_SIM_DURATION=10ms run_muster run --on sim --run-dir "$WORK/simulated" -n 1 -- true
rm simulated/report.json
is "$("$MUSTER" show -o json "$WORK/simulated" | grep '"engine"')" '  "engine": "sim",' "and the engine"
# The records of another run.
cp whole/job.jsonl torn/job.jsonl
run_muster show -o json "$WORK/torn"
is "$rc" 0 "the same record is the same"
sed -i 's/"exit 3"/"exit 4"/' torn/job.jsonl
run_muster show -o json "$WORK/torn"
is "$rc" 1 "that of another job is refused"
like "$(cat "$err")" 'job.jsonl is not of the job of journal.jsonl' "and that is said"
done_testing
