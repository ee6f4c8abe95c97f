# shellcheck shell=sh disable=SC2154,SC2016,SC3045 # variables of lib.sh; programs of jobs
# A disk that is full: the job and its output go on, and what the logs lack is told.

# The logs' directory is gone: nothing can be written at all.
run_job --run-dir "$WORK/gone" -n 2 -- sh -c 'rm -rf "$0"; echo "out $RANK"; echo "err $RANK" >&2; exit 7' "$WORK/gone/logs"
is "$rc" 7 "no logs: the exit code is the job's"
like "$(cat "$out")" "^\[worker-0/[01]\] out" "no logs: stdout is shown"
like "$(cat "$err")" "^\[worker-0/[01]\] err" "no logs: stderr is shown"
is "$(grep -c 'note: cannot write .*/logs/worker-0' "$err")" 1 "no logs: said once"
like "$(cat "$err")" "its output is missing from worker-0.rank-[01].log: No such file" "no logs: the verdict says it"
unlike "$(cat "$err")" "wrote nothing" "no logs: and not that it wrote nothing"
has_shape report "$REPORT" "no logs: the report has its shape"
is "$(report logs_incomplete.0.missing_bytes)" 12 "no logs: with how much is missing"

# Few descriptors: logs share them, and nothing is lost.
(ulimit -n 64 && exec timeout 60 "$MUSTER" run --report "$REPORT" -n 16 -- sh -c 'echo out; echo err >&2; sleep 0.3; echo end') \
    >"$out" 2>"$err" </dev/null
is "$?" 0 "few descriptors: the job runs"
is "$(cat "$out" "$err" | grep -c '^\[')" 48 "few descriptors: everything is shown"
is "$(cat "$(report run_dir)"/logs/worker-*.log | wc -l)" 48 "few descriptors: and in the logs"

full=$WORK/full
mkdir "$full"
in_small_disk() # COMMAND… with a file system of 256 KiB at $full
{
    unshare -m sh -c 'd=$1; shift; mount -t tmpfs -o size=256k tmpfs "$d" && exec "$@"' sh "$full" "$@"
}
if ! in_small_disk true 2>/dev/null; then
    skip "a small file system cannot be mounted here" 5
else
    in_small_disk timeout 60 "$MUSTER" run --run-dir "$full/run" --report "$REPORT" -n 1 -- \
        sh -c 'seq 100000; echo end >&2; exit 4' >"$out" 2>"$err" </dev/null
    is "$?" 4 "full disk: the exit code is the job's"
    is "$(sed 's/^\[worker-0\/0\] //' "$out" | sum)" "$(seq 100000 | sum)" \
        "full disk: every line is shown, once and in order"
    like "$(cat "$err")" "^\[worker-0/0\] end\$" "full disk: so is stderr"
    like "$(cat "$err")" "logs are incomplete: worker-0.rank-0.log lacks 3[0-9][0-9] KiB \(No space left on device\)" \
        "full disk: the verdict says what is missing"
    is "$(grep -cE '^muster: note:' "$err")" 1 "full disk: said once before"
fi

if ! in_small_disk true 2>/dev/null || ! have_mpi openmpi; then
    skip "no small file system or no Open MPI" 3
else
    cat >"$WORK/full.yaml" <<'YAML'
apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: full}
spec:
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {containers: [{name: l, image: i, command: [mpirun, --allow-run-as-root, -np, "1", sh, -c, "seq 100000; echo end >&2"]}]}}}
    Worker: {replicas: 1, template: {spec: {containers: [{name: w, image: i}]}}}
YAML
    in_small_disk timeout 60 "$MUSTER" run --run-dir "$full/run" --report "$REPORT" "$WORK/full.yaml" >"$out" 2>"$err" </dev/null
    is "$?" 0 "full disk: a rank of mpirun goes on"
    like "$(cat "$err")" "^\[worker-0/0\] end\$" "full disk: its output is shown"
    is "$(report logs_incomplete.0.log)" worker-0.rank-0.log "full disk: its log is incomplete"
fi
