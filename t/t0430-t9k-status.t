#!/bin/sh
# The status in T9k's own words: phase, conditions, tasks and aggregate, in both forms of the file,
# for a job that succeeds, one that fails, and one whose mpirun hides the failure.
. "${0%/*}/lib.sh"
have_mpi openmpi || skip_all "no Open MPI here"

cd "$WORK" || exit 1
ln -s "$PROGRAMS/openmpi/fault" fault
mkdir -p lying/bin
printf '#!/bin/sh\nmpirun.openmpi "$@"\nexit 0\n' >lying/bin/mpirun
chmod +x lying/bin/mpirun
args='["-N", "2", "--allow-run-as-root", "--oversubscribe", "-bind-to", "none"]'

m1() # HOW EXTRA
{
    cat >job.yaml <<YAML
apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata: {name: state}
spec:
  worker:
    replicas: 2
    extraMPIArgs: $args
    cmd: ["./fault", "$1"]
    template: {spec: {containers: [{name: mpi-worker}]}}
  $2
YAML
    run_job job.yaml
}

conditions() # "Type=Status/Reason" of each
{
    python3 - "$REPORT" <<'PYTHON'
import json, sys
status = json.load(open(sys.argv[1]))['status']
print(' '.join('%(type)s=%(status)s/%(reason)s' % c for c in status['conditions']))
PYTHON
}

m1 none "runPolicy: {cleanUpWorkers: true}"
is "$rc $(report status.phase)" "0 Succeeded" "success"
is "$(conditions)" \
    "Initialized=True/- Running=False/Finished ReplicaFailure=False/- Completed=True/Succeeded Failed=False/Succeeded" \
    "its conditions"
is "$(report status.aggregate)" \
    '{"creating": 0, "deleted": 2, "failed": 0, "pending": 0, "running": 0, "succeeded": 1, "unknown": 0}' \
    "launcher and workers are counted; cleaned-up workers are deleted"
is "$(report status.tasks.0.type) $(report status.tasks.0.status.0.name)" "launcher state-launcher" "the launcher's name"
is "$(report status.tasks.1.restartCount) $(report status.tasks.1.status.1.name)" "0 state-worker-1" "a worker's name"
like "$(report status.tasks.1.status.1.uid)" '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' "its uid"
is "$(report status.tasks.0.status.0.containers)" \
    '[{"name": "mpi-worker", "state": "Terminated", "exitCode": 0}]' "its container"

m1 exit7 ""
is "$rc $(report status.phase)" "7 Failed" "failure"
is "$(conditions)" \
    "Initialized=True/- Running=False/Finished ReplicaFailure=True/ErrorInPod Completed=True/Failed Failed=True/Failed" \
    "its conditions"
like "$(report status.conditions.2.message)" '^Pod\[state-worker-1\] exited with error code 7 \(rank 3\)$' "who failed"
is "$(report status.aggregate.failed) $(report status.aggregate.succeeded)" "1 2" "the launcher failed"

m1 exit7 "mpiHome: $WORK/lying"
is "$rc $(report status.phase)" "7 Succeeded" "a hidden failure: T9k's word is Succeeded, the exit code is the rank's"
is "$(conditions)" \
    "Initialized=True/- Running=False/Finished ReplicaFailure=True/ErrorInPod Completed=True/Succeeded Failed=False/Succeeded" \
    "its conditions"
like "$(report verdict)" "the launcher still exited with status 0" "and the verdict says so"

cat >job.yaml <<YAML
apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata: {name: state}
spec:
  mpiConfig: {extraArgs: $args, script: ["./fault", "none"]}
  replicaSpecs:
  - {type: worker, replicas: 2, template: {spec: {containers: [{name: worker}]}}}
  - {type: launcher, replicas: 1, template: {}}
YAML
run_job job.yaml
is "$rc $(report status.phase)" "0 Succeeded" "the newer form"
is "$(report status.tasks.1.replicas.0.name)" state-worker-0 "calls its list replicas"
done_testing
