#!/bin/sh
# run as people use it: lines, streams, signals, files, and what it refuses.
# shellcheck disable=SC2016 # what is in single quotes is for the shell of a job
. "${0%/*}/lib.sh"

# --- output --------------------------------------------------------------------------------------

seq 1 20000 >"$WORK/numbers"
run_job -n 4 --hosts 2 -- cat "$WORK/numbers"
is "$(wc -l <"$out")" 80000 "every line is shown"
is "$(sed -nE 's,^\[worker-1/3\] ,,p' "$out" | cmp - "$WORK/numbers" && echo same)" same "whole and in order"
is "$(cmp "$(report run_dir)/logs/worker-0.rank-1.log" "$WORK/numbers" && echo same)" same "the log has them too"
is "$(stat -c %a "$(report run_dir)")" 700 "the run directory is private"
is "$(stat -c %a "$REPORT")" 600 "so is the report"

run_job -n 1 -- sh -c 'printf "no newline"; printf "\033[31m\a" >&2; exit 5'
is "$rc" 5 "a job's own code"
is "$(head -c 23 "$out")" "[worker-0/0] no newline" "an unfinished line is shown"
is "$(report cause.log_tail.0)" 'no newline\x1b[31m\a' "the log's tail cannot act on a terminal"
is "$(head -n 1 "$err")" "$(printf '[worker-0/0] \033[31m\a')" "stderr goes to stderr"
unlike "$(sed 1d "$err")" "$(printf '\033')" "nor can the verdict act on a terminal"

"$MUSTER" run --report "$REPORT" -n 2 -- sh -c 'cat "$0"; sleep 0.5; echo end >"$1.$RANK"' \
    "$WORK/numbers" "$WORK/end" 2>"$err" | head -n 1 >"$out"
ok "a reader that goes away does not end the job" test -e "$WORK/end.0" -a -e "$WORK/end.1"
is "$(report outcome)" succeeded "which succeeds"

echo words | "$MUSTER" run -n 1 -- cat >"$out" 2>"$err"
is "$(cat "$out")" "[worker-0/0] words" "a single process reads our stdin"
echo words | "$MUSTER" run -n 2 -- cat >"$out" 2>"$err"
is "$(cat "$out")" "[worker-0/0] words" "of several, rank 0 does"

"$MUSTER" run -n 1 --report - -- true >"$out" 2>"$err"
is "$(json outcome "$out")" succeeded "--report - is stdout"
"$MUSTER" run -n 1 --report /dev/stderr -- true 2>"$err" >"$out"
ok "an existing file that is no regular one is written in place" grep -q '"outcome": "succeeded"' "$err"
run_job --run-dir "$WORK/with space" -n 1 -- true
is "$(report run_dir)" "$WORK/with space" "--run-dir"
run_job --run-dir "$WORK/with space" -n 1 -- true
is "$rc" 125 "which must be new"

# --- what is left --------------------------------------------------------------------------------

runs=$XDG_STATE_HOME/muster/runs scratch=$XDG_RUNTIME_DIR/muster
"$MUSTER" run -n 1 -- sleep 60 2>"$err" &
pid=$!
wait_until 10 sh -c "ls '$scratch'/*/agent.sock"
kill -KILL $pid
wait_until 5 sh -c "[ -z \"\$(ls '$scratch')\" ]"
is "$(ls "$scratch")" "" "a killed muster leaves no scratch directory"
mkdir "$scratch/20200101-000000-dead"
touch -d '1 hour ago' "$scratch/20200101-000000-dead"
i=0
while [ $i -lt 52 ]; do
    mkdir "$runs/20200101-0000$((10 + i))-aaaa"
    i=$((i + 1))
done
run_job -n 1 -- true
is "$(find "$runs" -mindepth 1 -maxdepth 1 | wc -l)" 50 "the newest 50 runs are kept"
ok "this one among them" test -d "$runs/$(run_id)"
is "$(ls "$scratch")" "" "scratch of dead runs goes with the next"

# --- environment ---------------------------------------------------------------------------------

SECRET_OF_CALLER=1 run_job --clean-env -n 4 --hosts 2 -- sh -c 'echo "$RANK $LOCAL_RANK $NODE_RANK $WORLD_SIZE $MUSTER_ROLE $MUSTER_INDEX $(hostname) ${SECRET_OF_CALLER-unset}"'
is "$(sed 's/^[^ ]* //' "$out" | sort)" "0 0 0 4 worker 0 worker-0 unset
1 1 0 4 worker 0 worker-0 unset
2 0 1 4 worker 1 worker-1 unset
3 1 1 4 worker 1 worker-1 unset" "ranks, hosts, and nothing of the caller's beyond the list"
run_job -n 2 --hosts 2 -- python3 -c 'import os, socket
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
p = int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "0":
    s.bind(("", p)); s.listen(); s.accept()[0].sendall(b"hello")
else:
    import time
    while s.connect_ex((os.environ["MASTER_ADDR"], p)): time.sleep(.05); s = socket.socket()
    print(s.recv(9).decode())'
is "$rc $(cat "$out")" "0 [worker-1/1] hello" "MASTER_ADDR and MASTER_PORT lead to rank 0"
run_job -n 2 --hosts 2 -- sh -c 'python3 -c "import json, os; print([p[\"host\"] for p in json.load(open(os.environ[\"MUSTER_PEERS\"]))])"'
like "$(cat "$out")" "\['worker-0', 'worker-1'\]" "MUSTER_PEERS"

# --- signals -------------------------------------------------------------------------------------

signalled() # FILE: USR1 to muster once four lines say up
{
    : >"$out"
    "$MUSTER" run --report "$REPORT" "$@" >"$out" 2>"$err" &
    pid=$!
    wait_until 20 sh -c "[ \$(grep -c '\] up' '$out') -eq 2 ]" || diag "not up: $(cat "$out")"
    kill -USR1 $pid
    wait $pid
    rc=$?
}
# Until it came, and a little longer: a second one would be one too many.
script='trap "n=\$((n + 1))" USR1; n=0; echo up; i=0; while [ $i -lt 200 ] && [ $n -eq 0 ]; do sleep 0.1; i=$((i + 1)); done
sleep 0.5; sleep 0.5; echo got $n'
signalled -n 2 -- sh -c "$script"
is "$rc $(grep -c 'got 1$' "$out")" "0 2" "USR1 reaches every rank, once"
if have_mpi openmpi; then
    python3 - "$script" >"$WORK/usr.yaml" <<'PYTHON'
import json, sys
print(json.dumps({"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "MPIJob", "metadata": {"name": "usr"}, "spec": {"worker": {
    "replicas": 2, "extraMPIArgs": ["-N", "1", "-bind-to", "none"], "cmd": ["sh", "-c", sys.argv[1]],
    "template": {"spec": {"containers": [{"name": "mpi-worker"}]}}}}}))
PYTHON
    signalled "$WORK/usr.yaml"
    is "$rc $(grep -c 'got 1$' "$out")" "0 2" "through mpirun too"
else
    skip "no Open MPI here"
fi

mkfifo "$WORK/fifo"
: >"$err" # the run before has succeeded too
"$MUSTER" run --report "$WORK/fifo" -n 1 -- true 2>"$err" &
pid=$!
wait_until 20 grep -q succeeded "$err"
kill -USR1 $pid
kill -TERM $pid
timeout 20 cat "$WORK/fifo" >"$REPORT"
wait $pid
is "$? $(report outcome)" "0 succeeded" "a signal after the end does not cost the report"

# --- refusals ------------------------------------------------------------------------------------

refused() # NAME ERE ARG…
{
    refusal=$1 text=$2
    shift 2
    run_job "$@"
    is "$rc" 125 "$refusal: 125"
    like "$(cat "$err")" "$text" "$refusal: told"
    ok "$refusal: no report" test ! -e "$REPORT"
}
refused "no operand" "a job FILE is required"
refused "no command" "-n requires a command" -n 2
refused "uneven" "is not a multiple of --hosts" -n 3 --hosts 2 -- true
refused "no number" "must be a number ≥ 1" -n 0 -- true
refused "unknown option" "did you mean --grace" --grac 1s -n 1 -- true
refused "bad duration" "grace" --grace 5x -n 1 -- true
refused "a directory" "Is a directory" "$WORK"
refused "both" "to run the job file: .*muster run x.yaml" -n 1 x.yaml -- true

sed 's/^            workingDir:.*/            env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: vault, key: token}}}]/' \
    "$TOP/examples/mpi-example.yaml" >"$WORK/t9k.yaml"
rm -f "$REPORT"
run_job "$WORK/t9k.yaml"
is "$rc $(report cause.kind)" "125 secret" "secret: 125, and a report that says so"
like "$(cat "$err")" "TOKEN: the secret vault, key token is not given; use --secrets DIR" "secret: told"

# A chroot has another root than its mount namespace; the job sees the chroot's.
if [ "$(id -u)" -eq 0 ] && grep -q '^[^ ]* [^ ]* [^ ]* [^ ]* / ' /proc/self/mountinfo; then
    unshare --mount --propagation private sh -c '
        root=$1 top=$2 muster=$3
        mkdir "$root" && cd "$root" || exit 1
        for d in bin sbin lib lib64; do [ ! -L "/$d" ] || cp -P "/$d" .; done
        for d in /usr /etc /dev /proc /sys /tmp "$top" "${muster%/*}"; do
            mkdir -p ".$d" && mount --rbind "$d" ".$d" || exit 1
        done
        touch only-here
        exec chroot . "$muster" run -n 2 --hosts 2 -- sh -c "ls /only-here; hostname"
    ' sh "$WORK/root" "$TOP" "$MUSTER" >"$out" 2>"$err"
    is "$? $(sort "$out" | sed 's/.* //' | tr '\n' ' ')" "0 /only-here worker-0 /only-here worker-1 " "in a chroot"
else
    skip "not root, or in a chroot already"
fi

done_testing
