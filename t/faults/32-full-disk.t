#!/bin/sh
# A run directory on a disk that becomes full: the exit code, the report, and what list, show and wait say of the
# run later. What a log lacks is told, whoever wrote it.
. "${0%/*}/lib.sh"
can_mount || skip_all "no file system can be mounted here"

cat >init.yaml <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: full}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          initContainers: [{name: loud, image: none, command: [sh, -c, "seq 100000; exit 4"]}]
          containers: [{name: pytorch, image: none, command: ["true"]}]
YAML
cat >mpi.yaml <<'YAML'
apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: full}
spec:
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {containers: [{name: l, image: i, command: [mpirun, --allow-run-as-root, -np, "1", sh, -c, "seq 100000; exit 4"]}]}}}
    Worker: {replicas: 1, template: {spec: {containers: [{name: w, image: i}]}}}
YAML

# In one mount namespace, for the disk goes with it: the run, then what is said of it. COMMAND… are run's words.
cat >session <<'SH'
#!/bin/sh
export XDG_STATE_HOME="$SMALL/state"
timeout -k 5 60 "$MUSTER" run --report "$REPORT" "$@" >run.out 2>run.err </dev/null
echo "run $?"
"$MUSTER" wait >wait.out 2>&1
echo "wait $?"
"$MUSTER" list >list.out 2>&1
"$MUSTER" show >show.out 2>&1
"$MUSTER" show -o json >show.json 2>show.err
echo "json $?"
cp "$SMALL"/state/muster/runs/*/report.json kept.json 2>/dev/null
SH
chmod +x session
export SMALL MUSTER REPORT

told() # NAME WORDS: of a job that failed with 4
{
    is "$(sed -n 1,2p codes | tr '\n' ' ')" "run 4 wait 4 " "$1: run and wait" || diag "$(tail -n 5 run.err)"
    like "$(cat list.out)" ' failed ' "$1: list knows the outcome"
    unlike "$(cat list.out show.out)" 'lost' "$1: and nobody says that it is lost"
    like "$(cat show.out)" "$2" "$1: show has the verdict"
    is "$(report outcome) $(report exit_code)" "failed 4" "$1: the report elsewhere"
    unlike "$(cat run.err show.out)" 'wrote nothing' "$1: nobody says that it wrote nothing"
}

try() # NAME WORDS ARG…
{
    name=$1 words=$2
    shift 2
    rm -f "$REPORT" kept.json
    in_mounts size=320k ./session "$@" >codes
    told "$name" "$words"
    is "$(json outcome kept.json)" failed "$name: the report in the run directory"
    is "$(json exit_code show.json)" 4 "$name: show -o json"
    like "$(report logs_incomplete.0.reason)" 'No space left on device' "$name: the log is known to be incomplete"
    is "$(find . -name .reserve)" "" "$name: no reserve is left"
}

try "a process" 'rank 0 on worker-0 exited with status 4' -n 1 -- sh -c 'seq 100000; exit 4'
try "an init container" 'init container loud of master-0 exited with status 4' init.yaml
if have_mpi openmpi; then
    try "a rank of mpirun" 'rank 0 on worker-0 exited with status 4' mpi.yaml
else
    skip "no Open MPI here" 10
fi

# A job that takes the reserve too: only the journal is left.
rm -f "$REPORT" kept.json
# shellcheck disable=SC2016 # the job's
in_mounts size=320k ./session -n 1 -- sh -c 'rm -f "$MUSTER_RUN_DIR/.reserve"; seq 100000; exit 4' >codes
told "no report" 'failed: rank 0 on worker-0 exited with status 4 after .*; its report is missing; this is from its journal'
ok "no report: there is none" test ! -e kept.json
is "$(sed -n 3p codes)" "json 0" "no report: show -o json has it from the journal"
is "$(json exit_code show.json) $(json cause.replica show.json)" "4 worker-0" "no report: with exit code and cause"

# No inodes are left: new files cannot be made, those that are there can grow.
rm -f "$REPORT" kept.json
# shellcheck disable=SC2016 # the job's
in_mounts size=4m,nr_inodes=60 ./session -n 1 -- sh -c 'i=0; while touch "$MUSTER_RUN_DIR/logs/x.$i" 2>/dev/null; do i=$((i + 1)); done; echo last; exit 4' >codes
told "no inodes" 'rank 0 on worker-0 exited with status 4'

# Whose log was removed, or never could be made.
# shellcheck disable=SC2016 # the job's
run_job -n 1 -- sh -c 'rm -rf "$MUSTER_RUN_DIR/logs"; echo x; exit 4'
unlike "$(cat "$err")" 'wrote nothing' "a directory of logs that was removed: not that it wrote nothing"
"$MUSTER" show >show.out 2>&1
unlike "$(cat show.out)" 'wrote nothing' "a directory of logs that was removed: nor later"

# What a job has removed of its own records is told, and a report elsewhere is written.
removes() # WHAT WORDS
{
    # shellcheck disable=SC2016 # the job's
    run_job -n 2 -- sh -c 'test $RANK = 0 || exec sleep 60; rm -rf "$MUSTER_RUN_DIR$0"; exit 4' "$1"
    is "$rc" 4 "its $2 removed: exit status"
    like "$(report verdict)" "rank 0 on worker-0 exited with status 4 .*; its $2 removed while it ran\$" "its $2 removed: the report"
    like "$(cat "$err")" "; its $2 removed while it ran: /" "its $2 removed: the verdict"
    unlike "$(cat "$err")" 'no output|; logs: ' "its $2 removed: nothing else is claimed"
}
removes /logs 'logs were'
removes /journal.jsonl 'journal was'
removes '' 'run directory was'
# shellcheck disable=SC2016 # the job's
run_job -n 1 -- sh -c 'echo hello; sleep 1; rm "$MUSTER_RUN_DIR"/logs/*; exit 3'
like "$(cat "$err")" '; its log worker-0.rank-0.log was removed while it ran: /' "all logs removed, by their names"
unlike "$(cat "$err")" 'no output|; logs: ' "all logs removed, by their names: nothing else is claimed"
# shellcheck disable=SC2016 # the job's
run_job -n 3 -- sh -c 'echo hello; test $RANK = 0 || exec sleep 60; sleep 1; rm "$MUSTER_RUN_DIR"/logs/worker-0.rank-[01].log; exit 3'
like "$(report verdict)" 'its logs worker-0.rank-0.log, worker-0.rank-1.log were removed while it ran$' "two logs removed, one of a rank that was stopped"
"$MUSTER" logs >logs.out 2>logs.err
is "$?:$(cat logs.out)" "1:hello" "two logs removed: logs shows the third"
like "$(cat logs.err)" 'its logs worker-0.rank-0.log, worker-0.rank-1.log were removed$' "two logs removed: and says what is missing"
# A log that is truncated lacks what it held; what comes later is shown.
# shellcheck disable=SC2016 # the job's
run_job -n 1 -- sh -c 'echo hello; sleep 1; : >"$MUSTER_RUN_DIR/logs/worker-0.rank-0.log"; exit 3'
like "$(cat "$err")" 'logs are incomplete: worker-0.rank-0.log lacks 6 B \(truncated while the job ran\)' "a truncated log: the verdict"
unlike "$(cat "$err")" 'no output' "a truncated log: not that it wrote nothing"
is "$(report logs_incomplete.0.log) $(report logs_incomplete.0.missing_bytes) $(report logs_incomplete.0.reason)" \
    "worker-0.rank-0.log 6 truncated while the job ran" "a truncated log: the report"
like "$("$MUSTER" logs 2>&1)" 'worker-0.rank-0.log is incomplete: truncated while the job ran$' "a truncated log: logs"
# shellcheck disable=SC2016 # the job's
run_job -n 1 -- sh -c 'echo first; sleep 1; : >"$MUSTER_RUN_DIR/logs/worker-0.rank-0.log"; sleep 1; echo then'
is "$(sed 's/.*] //' "$out" | tr '\n' ' ')" "first then " "a truncated log: what is written later is shown"
# shellcheck disable=SC2016 # the job's
run_job -n 1 -- sh -c 'rm -rf "$MUSTER_RUN_DIR"'
is "$rc:$(report outcome)" 0:succeeded "a success that removes its run directory is one"
like "$(report verdict)" '; its run directory was removed while it ran$' "and says so"
done_testing
