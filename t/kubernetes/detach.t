#!/bin/sh
# Jobs that go on without their muster: detached, or with a muster that was killed; and others that attach to them. With
# no other rights than those of doc/kubernetes-role.yaml, and nothing left behind.
#
# about: src/engine/kubernetes src/shim src/foreground src/journal src/client src/cli src/rundir
# shellcheck disable=SC2016 # variables are for the job's own shell
. "${0%/*}/lib.sh"
need_cluster
LIMIT=300
admin=$KUBECONFIG
KUBECONFIG=$(tester "$TOP/doc/kubernetes-role.yaml") && export KUBECONFIG

detach() # FILE [OPTION…]: sets $id
{
    file=$1
    shift
    run_job --on kubernetes --namespace "$NS" --detach "$@" "$file"
    id=$(tail -n 1 "$out")
}

attach()
{
    rm -f "$REPORT"
    run_muster attach --report "$REPORT" "$id"
}

left() # what of a run is there, besides pods that are ending
{
    KUBECONFIG=$admin kube get job,configmap,service,secret -l muster.internal/run -o name
    KUBECONFIG=$admin kube get pod -l muster.internal/run -o 'go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{end}}{{end}}'
}
nothing_left()
{
    [ -z "$(left)" ]
}

in_pod() # REPLICA COMMAND…
{
    name=$1
    shift
    KUBECONFIG=$admin kube exec "muster-$id-$name" -- "$@"
}

job() # NAME COMMAND [KEY…]: two replicas
{
    cat <<YAML
apiVersion: muster/v1
name: $1
roles:
  worker: {replicas: 2, image: "local.test/busybox:1", command: '$2'${3:+, $3}}
YAML
}

state()
{
    "$MUSTER" list -o json | python3 -c 'import json, sys; print([r["state"] for r in json.load(sys.stdin)["runs"] if r["id"] == sys.argv[1]][0])' "$id"
}

# --- in the middle -------------------------------------------------------------------------------

count='i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo "line $i"; [ $((i % 3)) != 0 ] || echo "err $i" >&2; [ $i != 200 ] || until [ -e /tmp/go ]; do sleep 0.1; done; [ $((i % 10)) != 0 ] || sleep 0.1; done'
lines() # of one rank, in what was shown
{
    sed -n "s,^\[worker-$1/$1\] $2 ,,p" "$3"
}
job count "$count" >count.yaml
detach count.yaml
is "$rc" 0 "run --detach ends when all processes have started"
like "$(cat "$err")" "muster attach $id" "it says how to come back"
like "$(cat "$err")" "muster logs $id" "and how to see the output"
cp "$out" first.out
cp "$err" first.err
is "$(state)" detached "list says that it is detached"
run_muster show "$id"
like "$(cat "$out")" "detached; last known state: running: 2 of 2 processes" "show has its last known state"
run_muster logs "$id"
like "$rc $(cat "$err")" "^0 .*muster attach" "logs says where the rest is"
run_muster events "$id"
like "$(cat "$out")" " started +worker-1" "events"
run_muster wait "$id"
like "$rc $(cat "$err")" "^125 .*muster attach $id" "wait does not wait for ever"
run_muster delete "$id"
like "$rc $(cat "$err")" "^1 .*is detached.*muster cancel $id" "delete does not lose it"
run_muster exec "$id" worker-0 -- true
like "$rc $(cat "$err")" "^1 .*is detached.*muster attach $id" "exec needs a muster"

# the job file may be another one by now
sed 's/line/other/' count.yaml >other.yaml && mv other.yaml count.yaml
"$MUSTER" attach --report "$REPORT" "$id" >second.out 2>second.err </dev/null &
attached=$!
is_attached() { [ "$(state)" = running ]; }
ok "attach" wait_until 60 is_attached || diag "$(cat second.err)"
run_muster attach "$id"
like "$rc $(cat "$err")" "^125 .*another muster process \(pid [0-9]+\) is attached" "nobody else can attach meanwhile"
halfway() # FILE
{
    grep -q 'worker-0/0. line 200' "$1" && grep -q 'worker-1/1. line 200' "$1"
}
ok "its output is shown" wait_until 60 halfway second.out
run_muster exec "$id" worker-0 -- touch /tmp/go
is "$rc" 0 "other verbs reach the run again"
run_muster exec "$id" worker-1 -- touch /tmp/go
wait "$attached"
is "$? $(report verdict)" "0 succeeded: 2 ranks on 2 workers exited with status 0" "the verdict and the exit code" || diag "$(cat second.err)"
seq 300 >wanted
seq 3 3 300 >wanted.err
for rank in 0 1; do
    lines $rank line first.out >shown
    lines $rank line second.out >>shown
    is "$(cksum <shown)" "$(cksum <wanted)" "rank $rank: every line is shown once"
    lines $rank err first.err >shown
    lines $rank err second.err >>shown
    is "$(cksum <shown)" "$(cksum <wanted.err)" "rank $rank: and what is stderr on stderr"
    is "$("$MUSTER" logs "$id" "worker-$rank" | sed -n 's/^line //p' | cksum)" "$(cksum <wanted)" "rank $rank: every line is in its log once"
done
has_shape report "$REPORT" "the report has its shape"
ok "nothing is left of it" wait_until 60 nothing_left
ok "not even the job file" test ! -e "$XDG_STATE_HOME/muster/runs/$id/job-file"
run_muster attach "$id"
like "$rc $(cat "$err")" "^125 .*has ended: succeeded, exit code 0" "a run that has ended"

# --- after the end -------------------------------------------------------------------------------

job seven 'i=0; until [ -e /tmp/go ]; do sleep 0.1; done; head -c 3000000 /dev/zero | tr "\0" x | fold -w 99; echo end; [ $RANK != 1 ] || exit 7' >seven.yaml
detach seven.yaml
is "$rc" 0 "a job that fails while nobody is there"
for i in 1 0; do
    ok "worker-$i goes on" in_pod worker-$i touch /tmp/go
done
both_ended() { in_pod worker-0 cat /muster/run/exits | grep -q . && in_pod worker-1 cat /muster/run/exits | grep -q .; }
ok "both end" wait_until 60 both_ended
attach
is "$rc $(report cause.rank) $(report cause.exit_code)" "7 1 7" "attach after the end: the true code" || diag "$(tail -n 20 "$err")"
is "$(report attempts.0.ranks.0.exit_code)" 0 "also of the other one"
for i in 0 1; do
    is "$(tail -n 1 "$(report run_dir)/logs/worker-$i.rank-$i.log") $(wc -c <"$(report run_dir)/logs/worker-$i.rank-$i.log")" "xxxend 3030307" "the log of rank $i is complete"
done
ok "nothing is left of it" wait_until 60 nothing_left

# --- its muster is killed ------------------------------------------------------------------------

job count "$count" >count.yaml
"$MUSTER" run --on kubernetes --namespace "$NS" count.yaml >first.out 2>first.err </dev/null &
killed=$!
ok "a job runs" wait_until 60 halfway first.out
id=$(our_runs -r)
kill -KILL "$killed"
wait "$killed" 2>/dev/null
is "$(state)" detached "for a minute it can be attached to"
for i in 0 1; do
    in_pod worker-$i touch /tmp/go
done
attach
is "$rc $(report verdict)" "0 succeeded: 2 ranks on 2 workers exited with status 0" "attach" || diag "$(cat "$err")"
for rank in 0 1; do
    is "$(sed -n 's/^line //p' "$(report run_dir)/logs/worker-$rank.rank-$rank.log" | cksum)" "$(cksum <wanted)" "rank $rank: every line is in its log once"
done
ok "nothing is left of it" wait_until 60 nothing_left

mkdir code && head -c 9000000 /dev/urandom >code/big && echo yes >code/small
job early '[ "$(cat small)" = yes ] || exit 5; echo "up $RANK"' >early.yaml
"$MUSTER" run --on kubernetes --namespace "$NS" --code code early.yaml >first.out 2>first.err </dev/null &
killed=$!
opened() { id=$(our_runs -r) && [ -n "$id" ] && grep -q '"open"' "$XDG_STATE_HOME/muster/runs/$id/journal.jsonl"; }
ok "a job begins" wait_until 60 opened
kill -KILL "$killed"
wait "$killed" 2>/dev/null
attach
is "$rc $(sort "$out" | tr '\n' ' ')" "0 [worker-0/0] up 0 [worker-1/1] up 1 " "attach starts what was not started, with its code" || diag "$(cat "$err")"

# --- what nobody decided meanwhile -----------------------------------------------------------------

job again 'if [ $RANK = 1 ] && [ ! -e /tmp/fail ]; then until [ -e /tmp/fail ]; do sleep 0.1; done; exit 3; fi; until [ -e /tmp/go ]; do sleep 0.1; done' \
    "restart: {policy: on-failure, limit: 1}" >again.yaml
detach again.yaml
in_pod worker-1 touch /tmp/fail
failed() { in_pod worker-1 cat /muster/run/exits | grep -q .; }
ok "a process fails" wait_until 60 failed
for i in 0 1; do
    in_pod worker-$i touch /tmp/go
done
attach
is "$rc $(report attempts.0.replicas.1.restarts)" "0 1" "attach restarts it" || diag "$(cat "$err")"
like "$(cat "$err")" "worker-1 exited with status 3 and is restarted" "and says so"

# --- cancel --------------------------------------------------------------------------------------

job sleeper 'echo up; sleep 1000' >sleep.yaml
detach sleep.yaml
run_muster cancel "$id"
like "$rc $(cat "$err")" "^0 .*cancelled" "cancel of a detached job"
is "$(state)" cancelled "it has its verdict"
ok "nothing is left of it" wait_until 60 nothing_left

detach sleep.yaml
# what a shell starts in the background ignores these signals
env --default-signal=INT,QUIT "$MUSTER" attach --report "$REPORT" "$id" >"$out" 2>"$err" </dev/null &
attached=$!
ok "attach" wait_until 60 is_attached
kill -QUIT "$attached"
wait "$attached"
is "$? $(tail -n 1 "$out") $(state)" "0 $id detached" "Ctrl-\\ detaches again"
env --default-signal=INT,QUIT "$MUSTER" attach --report "$REPORT" "$id" >"$out" 2>"$err" </dev/null &
attached=$!
ok "attach once more" wait_until 60 is_attached
kill -INT "$attached"
wait "$attached"
is "$? $(report cause.kind)" "130 cancelled" "Ctrl-C stops the job"
ok "nothing is left of it" wait_until 60 nothing_left

# --- MPI -----------------------------------------------------------------------------------------

cat >mpi.yaml <<'YAML'
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi}
spec:
  slotsPerWorker: 2
  mpiReplicaSpecs:
    Launcher:
      template: {spec: {containers: [{name: l, image: "local.test/openmpi:4", command: [sh, -c], args: ['mpirun -np 2 true; mpirun -np 4 sh -c "echo rank \$OMPI_COMM_WORLD_RANK; until [ -e /tmp/go ]; do sleep 0.1; done; test \$OMPI_COMM_WORLD_RANK != 2 || exit 7; sleep 1"; mpirun -np 3 true']}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: w, image: "local.test/openmpi:4"}]}}
YAML
detach mpi.yaml
is "$rc" 0 "an MPI job is detached before its mpirun ends"
second_runs() { in_pod worker-1 sh -c 'ls /muster/run/logs' | grep -q 'rank-3'; }
ok "its second mpirun runs" wait_until 120 second_runs
"$MUSTER" attach "$id" >"$out" 2>"$err" </dev/null &
attached=$!
all_ranks() { [ "$("$MUSTER" events -o json "$id" | grep -c '"rank-started"')" -ge 6 ]; }
ok "attach sees its ranks" wait_until 60 all_ranks
kill -KILL "$attached"
wait "$attached" 2>/dev/null
for i in 0 1; do
    in_pod worker-$i touch /tmp/go
done
attach
is "$rc $(report cause.rank) $(report cause.replica) $(report cause.exit_code)" "7 2 worker-1 7" "the rank that failed" || diag "$(tail -n 20 "$err")"
is "$("$MUSTER" events -o json "$id" | python3 -c '
import json, sys
seen = {}
for line in sys.stdin:
    e = json.loads(line)
    if e.get("event") in ("rank-started", "rank-exited"):
        seen.setdefault(e["event"], []).append("%d.%d" % (e["launch"], e["rank"]))
print(*(" ".join(sorted(v)) for v in seen.values()), sep="; ")')" \
    "1.0 1.1 2.0 2.1 2.2 2.3 3.0 3.1 3.2; 1.0 1.1 2.0 2.1 2.2 2.3 3.0 3.1 3.2" "each rank starts and ends once, each mpirun has its number"
ok "nothing is left of it" wait_until 60 nothing_left

# --- nobody comes --------------------------------------------------------------------------------

detach sleep.yaml "--detach=10s"
is "$rc" 0 "a job that is kept for ten seconds"
ok "the cluster removes it" wait_until 120 nothing_left
is_lost() { [ "$(state)" = lost ]; }
ok "list says that it is lost" wait_until 30 is_lost
attach
is "$rc $(report cause.kind)" "125 gone" "attach tells its verdict"
like "$(cat "$err")" "removed from the cluster because no muster was attached" "with the reason"
is "$(state)" failed "and then it has one"

# --- a supervisor that cannot be understood --------------------------------------------------------

cat >nonsense.yaml <<'YAML'
apiVersion: muster/v1
name: nonsense
roles:
  worker:
    image: local.test/torch:1
    command:
      - python3
      - -c
      - |
        import glob, os, signal, socket
        path = "/muster/run/scratch/master.sock"
        os.unlink(path)
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen(9)
        for name in glob.glob("/proc/[0-9]*/cmdline"):
            if b"connect" in open(name, "rb").read().split(b"\0"):
                os.kill(int(name.split("/")[2]), signal.SIGKILL)
        kept = []
        while True:
            kept.append(server.accept()[0])
            kept[-1].sendall(b"nonsense" * 9)
YAML
run_job --on kubernetes --namespace "$NS" nonsense.yaml
is "$rc $(report cause.kind) $(grep -c 'sent an invalid message' "$err")" "125 gone 1" "its replica is given up, and it is said once"
like "$(report verdict)" "sent 5 invalid messages" "with the reason"
ok "nothing is left of it" wait_until 60 nothing_left

# --- what is refused -----------------------------------------------------------------------------

run_muster run --detach -n 1 -- true
like "$rc $(tr '\n' ' ' <"$err")" "^125 .*--detach is not available with --on local.*nohup" "on this machine"
run_muster run --on kubernetes --detach=1s sleep.yaml
like "$rc $(cat "$err")" "^125 .*--detach must be a duration" "too short"
is "$(KUBECONFIG=$admin refused)" "" "with the least Role nothing was refused"
done_testing
