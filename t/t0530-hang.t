#!/bin/sh
# --hang-timeout: what hangs and what does not, and what is said of who waits for whom.
# shellcheck disable=SC2016 # what is in single quotes is for the shell of a job
. "${0%/*}/lib.sh"

# Rank 1 is connected to rank 0, reads, and nothing comes.
cat >"$WORK/wait.py" <<'PYTHON'
import os, socket, time
place = os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])
if os.environ['RANK'] == '0':
    server = socket.create_server(place)
    if os.environ.get('HOW') != 'deaf':
        client = server.accept()[0]
    time.sleep(1000)
while True:
    try:
        client = socket.create_connection(place)
        break
    except OSError:
        time.sleep(0.05)
client.recv(1)
PYTHON
python=$(command -v python3)

hang_file() # NAME
{
    echo "$(report run_dir)/$1"
}

# --- two ranks and a socket ----------------------------------------------------------------------

waits='rank 1 on worker-1 waits for rank 0 on worker-0: connected to [0-9.]+:[0-9]+, waiting for data'
run_job --hang-timeout 2s --grace 1s -n 2 --hosts 2 -- "$python" "$WORK/wait.py"
is "$rc" 124 "a job that hangs ends with 124"
is "$(report outcome) $(report cause.kind) $(report cause.replica) $(report exit_code)" "failed hang null 124" \
    "its cause is the job's own"
like "$(report verdict)" "$waits" "the verdict names who waits for whom"
like "$(report verdict)" 'rank 0 on worker-0 itself is in clock_nanosleep|rank 0 on worker-0 itself is in [a-z_]*select' \
    "and where it began"
like "$(cat "$err")" '^  rank 1 on worker-1 .* waits for rank 0 on worker-0$' "and is shown, as a row of a table"
like "$(cat "$err")" '^muster: .* \(--hang-timeout\)$' "below one line"
is "$(report attempts.0.replicas.0.outcome)" stopped "nobody is blamed for being stopped"
is "$(stat -c %a "$(hang_file hang.txt)")" 600 "hang.txt is private"
like "$(cat "$(hang_file hang.txt)")" "$waits" "it says the same"
like "$(cat "$(hang_file hang.txt)")" 'rank 1 on worker-1, pid [0-9]+ \([0-9]+ inside\)' "and has the process"
like "$(cat "$(hang_file hang.txt)")" 'thread [0-9]+ \(python3?[0-9.]*\) state S, recvfrom' "its system call"
like "$(cat "$(hang_file hang.txt)")" 'tcp .* established: rank 0 on worker-0 \(pid [0-9]+\)' "its socket and the other end"
if command -v gdb >"$WORK/ok" || command -v py-spy >"$WORK/ok"; then
    like "$(cat "$(hang_file hang.txt)")" '^  [|] .*(recv|wait[.]py)|took too long' \
        "its stack, or that a busy machine gave no time for it"
else
    skip "no gdb and no py-spy here"
fi
if "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))'; then
    at='rank 0 on worker-0 is at wait.py:7 \(time.sleep\(1000\)\); rank 1 on worker-1 is at wait.py:14 \(client.recv\(1\)\)'
    like "$(report verdict)" "$at" "the verdict has the lines that they are at"
    like "$(cat "$(hang_file hang.txt)")" '^    .*wait.py:14 in <module>' "hang.txt has Python's stack"
    is "$(json processes.1.python.0.frames.0.line "$(hang_file hang.json)")" 14 "so has hang.json"
else
    skip "this Python's stacks are not known" 3
fi
has_shape hang "$(hang_file hang.json)" "hang.json has its shape"
is "$(json kind "$(hang_file hang.json)") $(json 'processes.#' "$(hang_file hang.json)")" "quiet 2" \
    "no process of Muster's own is in it"
like "$(grep '"event":"hung"' "$(hang_file journal.jsonl)")" "waits for rank 0" "the journal has it before the stop"
is "$(sed -n 's/.*"event":"\(hung\|stop\)".*/\1/p' "$(hang_file journal.jsonl)" | tr '\n' ' ')" "hung stop " \
    "in this order"
is "$(survivors "$(run_id)")" "" "nothing is left"

HOW=deaf run_job --inherit-env HOW --hang-timeout 2s --grace 1s -n 2 --hosts 2 -- "$python" "$WORK/wait.py"
like "$(report verdict)" 'rank 1 on worker-1 waits for rank 0 on worker-0: .* which has not accepted it' \
    "a connection that nobody accepts"

for level in network none; do
    if "$MUSTER" run --isolate "$level" -n 1 -- true >"$WORK/ok" 2>&1; then
        run_job --isolate "$level" --hang-timeout 2s --grace 1s -n 2 --hosts 2 -- "$python" "$WORK/wait.py"
        like "$rc $(report verdict)" "^124 .*$waits" "level $level"
    else
        skip "level $level cannot be had here"
    fi
done

if can_be_user; then
    user_copy "$WORK/wait.py"
    as_user ./muster run --report r.json --hang-timeout 2s --grace 1s -n 2 --hosts 2 -- /usr/bin/python3 wait.py \
        >"$out" 2>"$err" </dev/null
    is "$?" 124 "an ordinary user's job"
    like "$(cat "$err")" '^  rank 1 on worker-1 .* waits for rank 0 on worker-0$' "is looked at as well"
    if /usr/bin/python3 -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))'; then
        like "$(cat "$err")" 'rank 1 on worker-1 +wait.py:14' "Python's stack too"
    else
        skip "this Python's stacks are not known"
    fi
else
    skip "no ordinary user can run jobs here" 3
fi

# --- a rank that is stopped ----------------------------------------------------------------------

cat >"$WORK/stopped.py" <<'PYTHON'
import os, signal, sys, time
def took(*_):
    print('took SIGTERM', flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, took)
if os.environ['RANK'] == '2':
    os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(1000)
PYTHON
for how in -n --mpi; do
    if [ $how = --mpi ] && ! have_mpi openmpi; then
        skip "no Open MPI here" 4
        continue
    fi
    set -- -n 4 --hosts 2
    [ $how = -n ] || set -- --mpi "$@"
    run_job --hang-timeout 2s --grace 5s "$@" -- sh -c \
        'RANK=${OMPI_COMM_WORLD_RANK:-$RANK} exec "$0" "$1"' "$python" "$WORK/stopped.py"
    is "$rc" 124 "a stopped rank, $how: the job hangs"
    like "$(report verdict)" '\(--hang-timeout\): rank 2 on worker-1 is stopped( \(SIGSTOP\))?(;|$)' \
        "a stopped rank, $how: is named first"
    like "$(cat "$err")" '^  rank 2 on worker-1 +stopped' "a stopped rank, $how: in the table, too"
    is "$(grep -l 'took SIGTERM' "$(report run_dir)"/logs/*rank-2*.log | wc -l)" 1 \
        "a stopped rank, $how: goes on to take SIGTERM"
done

# --- what counts as life -------------------------------------------------------------------------

# 4 seconds in pieces of a tenth.
pieces='i=0; while [ $i -lt 40 ]; do i=$((i + 1)); sleep 0.1'
run_job --hang-timeout 3s -n 1 -- sh -c "$pieces; echo \$i; done"
is "$rc" 0 "output is life"
run_job --hang-timeout 3s -n 1 -- "$python" -c '
import time
for i in range(40):
    time.sleep(0.1)
    open("/dev/zero", "rb").read(1)'
is "$rc" 0 "bytes read are life"
# send and recv, which no file in /proc counts: for 4 seconds a byte goes to and fro.
cat >"$WORK/talk.py" <<'PYTHON'
import os, socket, time
place = os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])
if os.environ['RANK'] == '0':
    other = socket.create_server(place).accept()[0]
else:
    other = None
    while not other:
        try:
            other = socket.create_connection(place)
        except OSError:
            time.sleep(0.05)
for i in range(40):
    other.send(b'.')
    other.recv(1)
    time.sleep(0.1)
PYTHON
for level in names network; do
    if "$MUSTER" run --isolate "$level" -n 1 -- true >"$WORK/ok" 2>&1; then
        run_job --isolate "$level" --hang-timeout 3s -n 2 --hosts 2 -- "$python" "$WORK/talk.py"
        is "$rc" 0 "bytes sent are life, level $level"
    else
        skip "level $level cannot be had here"
    fi
done
run_job --hang-timeout 1s --grace 1s -n 1 -- "$python" -c 'while True: pass'
is "$rc $(report cause.kind)" "124 hang" "processor time is not"
ok "nothing was claimed of anybody" sh -c "! grep -q 'waits for' '$(hang_file hang.txt)'"
run_job -n 1 -- sleep 2
is "$rc" 0 "without the option nothing is looked for"
ok "and no report is written" test ! -e "$(hang_file hang.txt)"
run_job --hang-timeout soon -n 1 -- true
is "$rc" 125 "a time that is none is refused"

# --- some have ended -----------------------------------------------------------------------------

run_job --hang-timeout 1s --grace 1s -n 3 -- sh -c 'test $RANK = 1 || exec sleep 1000'
is "$rc $(json kind "$(hang_file hang.json)")" "124 ranks-left" "a rank has ended and others stay"
like "$(report verdict)" '1 of 3 ranks has ended \(rank . on worker-0, status 0\); the others have not read or written a byte' "which is said"

# The launcher had a process; it has none now, and reads for ever.
cat >"$WORK/alone.yaml" <<'YAML'
apiVersion: kubeflow.org/v1alpha1
kind: MPIJob
metadata:
  name: alone
spec:
  replicas: 1
  template:
    spec:
      containers:
        - name: main
          image: none
          command: [sh, -c, 'sleep 2; while :; do read x </proc/uptime; done']
YAML
run_job --hang-timeout 2s --grace 1s "$WORK/alone.yaml"
is "$rc $(report cause.kind)" "124 hang" "a launcher without a process hangs, whatever it reads"
like "$(report verdict)" 'the launcher has no child process left' "which is said"

# --- mpirun --------------------------------------------------------------------------------------

if have_mpi openmpi; then
    mpi_job() # COMMAND, as a list of YAML
    {
        cat <<YAML
apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata:
  name: ranks
spec:
  worker:
    replicas: 2
    extraMPIArgs: ["-npernode", "2", "--allow-run-as-root", "--oversubscribe", "-bind-to", "none"]
    cmd: $1
    template:
      spec:
        containers:
          - name: mpi-worker
            image: none
YAML
    }
    mpi_job "[$PROGRAMS/openmpi/fault, miss]" >"$WORK/miss.yaml"
    run_job --hang-timeout 2s --grace 2s "$WORK/miss.yaml"
    is "$rc $(report cause.kind)" "124 hang" "ranks that wait for one that never comes"
    like "$(report verdict)" 'rank 3 on worker-1 itself is in pause' "the verdict names it"
    like "$(cat "$(hang_file hang.txt)")" '^rank 3 on worker-1, pid' "each is in the report"
    like "$(cat "$(hang_file hang.txt)")" '^  thread [0-9]+ \(fault\) state S, pause' "so is what it waits in"
    like "$(cat "$(hang_file hang.txt)")" '^launcher-0, pid' "and mpirun"
    mpi_job "[$PROGRAMS/openmpi/linger, '4']" >"$WORK/linger.yaml"
    run_job --hang-timeout 3s "$WORK/linger.yaml"
    is "$rc" 0 "ranks that say nothing but meet do not hang"
else
    skip "no Open MPI here" 6
fi

# --- secrets -------------------------------------------------------------------------------------

cat >"$WORK/secret.yaml" <<'YAML'
protocolVersion: 2
name: secret
type: job
secrets: {token: "hush-hush"}
prerequisites: [{protocolVersion: 2, name: img, type: dockerimage, uri: none}]
taskRoles:
  worker:
    instances: 1
    dockerImage: img
    resourcePerInstance: {cpu: 1, memoryMB: 64, gpu: 0}
    commands: ["exec sh -c 'sleep 1000; true' <% $secrets.token %>"]
YAML
run_job --hang-timeout 1s --grace 1s "$WORK/secret.yaml"
is "$rc" 124 "a job with a secret"
unlike "$(cat "$(hang_file hang.txt)" "$(hang_file hang.json)" "$(hang_file journal.jsonl)" "$err")" hush "which is shown nowhere"
like "$(cat "$(hang_file hang.txt)")" '[*][*][*]' "but as stars"

done_testing
