#!/bin/sh
# Muster's own job file: its examples run, and what a file of it says is what happens.
. "${0%/*}/lib.sh"

# --- the examples ---------------------------------------------------------------------------------

run_muster validate "$TOP"/examples/muster/*.yaml
is "$rc" 0 "every example is accepted"
is "$(cat "$err")" "" "and there is nothing to say about any of them"

run_job "$TOP/examples/muster/hello.yaml"
is "$rc" 0 "hello runs"
is "$(grep -c '^\[worker-[01]/[0-3]\] rank [0-3] of 4 on worker-[01], meeting at worker-0:[1-9]' "$out")" 4 \
    "four ranks on two hosts know where to meet"
is "$(report attempts.0.ranks.#)" 4 "and are ranks of the report"
is "$(report status.roles.worker.succeeded)" 2 "its status counts replicas"
has_shape report "$REPORT" "the report has its shape"

run_job "$TOP/examples/muster/pytorch.yaml"
is "$rc" 0 "pytorch: every process talks to every other"
is "$(grep -c 'size=4' "$out")" 4 "all four of them"

run_job "$TOP/examples/muster/tensorflow.yaml"
is "$rc" 0 "tensorflow: the workers' success ends the job"
is "$(report status.roles.ps.stopped)" 1 "and the parameter server"

if have_mpi openmpi; then
    cp "$TOP/examples/muster/mpi.yaml" "$WORK"
    cp "$PROGRAMS/openmpi/random_walk" "$WORK"
    run_job --set roles.worker.workdir=. "$WORK/mpi.yaml"
    is "$rc" 0 "mpi: a launcher is made"
    is "$(report attempts.0.ranks.#)" 4 "and its mpirun starts what the slots say"
else
    skip "no Open MPI here" 2
fi

cat >"$WORK/plain.yaml" <<'EOF'
apiVersion: muster/v1
name: plain
ranks: false
roles:
  worker: {replicas: 2, slots: 2, command: 'echo "on $MUSTER_HOST"'}
EOF
run_job "$WORK/plain.yaml"
run_muster logs "$(run_id)" worker-0
is "$(sort "$out")" "[worker-0] on worker-0
[worker-0] on worker-0" "processes that are no ranks have logs of their replica"

# --- what a file says -----------------------------------------------------------------------------

cat >"$WORK/two.yaml" <<'EOF'
apiVersion: muster/v1
name: two
roles:
  chief:
    command: ["sh", "-c", "echo chief $RANK/$WORLD_SIZE $A $(A)"]
    expand: true
    env: {A: 1, B: "$(A)2"}
    ports: {board: any}
  worker:
    replicas: 2
    command: echo worker $RANK/$WORLD_SIZE $B$A; [[ $RANK != 2 ]] || exit 3
    shell: bash
    env: {A: x}
    failsAfter: never
    restart: {policy: on-failure, limit: 1}
EOF
run_job "$WORK/two.yaml"
is "$rc" 0 "a failure that the file tolerates is none"
like "$(cat "$out")" '^\[chief-0/0\] chief 0/3 1 1$' "ranks are counted over roles; a list is expanded"
is "$(grep -c '^\[worker-1/2\] worker 2/3 x$' "$out")" 2 "a process is restarted as often as the file says"
is "$(report status.roles.worker.failed)" 1 "its replica has failed"

run_muster explain -o json "$WORK/two.yaml"
is "$(json jobs.0.processes.2.rank "$out")" 2 "explain tells ranks too"
like "$(json jobs.0.processes.0.ports "$out")" 'board.*MASTER_PORT' "and ports: the file's and the framework's"
is "$(json jobs.0.processes.0.env.B "$out")" 12 "a variable may be made of another"
has_shape explain "$out" "explain has its shape"

cat >"$WORK/fails.yaml" <<'EOF'
apiVersion: muster/v1
name: fails
retries: 1
roles:
  worker: {replicas: 2, slots: 2, command: '[ "$RANK" != 3 ] || exit 5; sleep 20'}
EOF
run_job "$WORK/fails.yaml"
is "$rc" 5 "the first rank that fails gives the exit code"
is "$(report attempts.#)" 2 "after another attempt"
is "$(report cause.rank)" 3 "and is named"
is "$(report status.phase)" failed "in plain words"

printf 'apiVersion: muster/v1\nname: j\nroles:\n  worker: {replica: 2, command: x}\n' >"$WORK/bad.yaml"
run_muster validate "$WORK/bad.yaml"
is "$rc" 2 "a misspelt key is an error"
like "$(cat "$err")" 'bad.yaml:4:12: error\[E0101\]: unknown key .replica. in a role' "at its place"
like "$(cat "$err")" 'did you mean .replicas.\?' "with the nearest key"
done_testing
