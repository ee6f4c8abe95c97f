#!/bin/sh
# A job that puts pipes, links and directories where Muster keeps its records: nothing is waited for, nothing is followed, and the
# job ends as it would have ended.
. "${0%/*}/lib.sh"

runs=${XDG_STATE_HOME:-$HOME/.local/state}/muster/runs

# retried NAME: the first attempt puts a pipe in the place of NAME, which the second one opens
retried()
{
    cat >planted.yaml <<YAML
protocolVersion: 2
name: planted
type: job
jobRetryCount: 1
prerequisites: [{name: image, type: dockerimage, uri: none}]
taskRoles:
  a:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands:
      - 'cd "$runs/\$MUSTER_RUN_ID" && rm -f $1 && mkfifo $1; echo said; exit 7'
YAML
    start_job planted.yaml
    ends 30
    is "$rc $(report cause.kind) $(report attempts.1.number)" "7 exit 2" "$1 is a pipe: both attempts end" ||
        diag "$(cat "$err")"
    is "$(grep -c said "$out")" 2 "$1 is a pipe: the output of both is shown"
}
for name in exits marks logs/a-0.attempt-2.log logs/.empty plan.json journal.jsonl; do retried $name; done

# what Muster looks for in logs
if have_mpi mpich; then
    cat >mpi.yaml <<YAML
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: planted}
spec:
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: l, image: none, command: [mpiexec.hydra, -n, "2", sh, $WORK/rank.sh]}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: w, image: none}]}}}
YAML
    cat >rank.sh <<SH2
cd "$runs/\$MUSTER_RUN_ID/logs" || exit 1
rm -f ./*.rank-\$PMI_RANK.log
mkfifo worker-0.rank-\$PMI_RANK.log worker-1.rank-\$PMI_RANK.log
exec "$PROGRAMS/mpich/fault" abort9 1
SH2
    start_job mpi.yaml
    ends 30
    like "$rc $(report outcome)" '^[1-9][0-9]* failed$' "logs of ranks are pipes: it ends" || diag "$(cat "$err")"
else
    skip "no MPICH here" 1
fi

# a log that leads elsewhere
echo secret >elsewhere
# shellcheck disable=SC2016 # the job's
start_job -n 1 -- sh -c 'cd "$0/$MUSTER_RUN_ID/logs" && echo said && sleep 0.2 && ln -sf "$1" worker-0.rank-0.log; exit 3' "$runs" "$WORK/elsewhere"
ends 30
is "$rc" 3 "a log is a link: it ends" || diag "$(cat "$err")"
unlike "$("$MUSTER" logs 2>&1; cat "$REPORT" "$err")" secret "a log is a link: it is not followed"
done_testing
