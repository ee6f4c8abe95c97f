#!/bin/sh
# A run whose replicas are pods, from another terminal: exec, logs, show, events, pause, resume, cancel and wait, as on
# one machine; and init containers that fail. With no other rights than those of doc/kubernetes-role.yaml.
#
# about: src/engine/kubernetes src/shim src/foreground src/client src/cli
# shellcheck disable=SC2016 # variables are for the job's own shell
. "${0%/*}/lib.sh"
need_cluster
admin=$KUBECONFIG
KUBECONFIG=$(tester "$TOP/doc/kubernetes-role.yaml") && export KUBECONFIG

cat >job.yaml <<'YAML'
apiVersion: muster/v1
name: talker
roles:
  worker:
    replicas: 2
    image: local.test/busybox:1
    env: {COLOUR: blue}
    command: 'echo "worker $RANK waves"; until [ -e /tmp/go ]; do sleep 0.1; done; echo "worker $RANK leaves"'
YAML

begin() # ARG…: a run in the background; waits until its processes run
{
    "$MUSTER" run --on kubernetes --namespace "$NS" --report "$REPORT" "$@" >"$WORK/run.out" 2>"$WORK/run.err" </dev/null &
    job_pid=$!
    wait_until 120 is_running || diag "$(cat "$WORK/run.err")"
}

is_running()
{
    id=$(our_runs -r)
    [ -n "$id" ] && "$MUSTER" show "$id" 2>&1 | grep -q 'running: \([0-9]*\) of \1 processes'
}

waved()
{
    [ "$("$MUSTER" logs "$id" 2>/dev/null | grep -c waves)" -ge 2 ]
}

# --- looking -------------------------------------------------------------------------------------

begin job.yaml
ok "both have spoken" wait_until 30 waved
run_muster list
like "$(cat "$out")" "^$id +talker +muster-v1 +running " "list shows it"
run_muster show "$id"
like "$(cat "$out")" "^talker \($id, muster-v1\): running: 2 of 2 processes" "show says how it stands"
like "$(cat "$out")" "^  worker-1 +running" "with its replicas"
run_muster events "$id"
like "$(cat "$out")" " started +worker-1" "events"
like "$(cat "$out")" " waiting +worker-1  (no node|its container|[A-Z])" "with what was waited for"
run_muster logs "$id" worker-1
is "$(cat "$out")" "worker 1 waves" "logs of one replica"
"$MUSTER" logs -f "$id" >"$WORK/follow" 2>&1 </dev/null &
follow_pid=$!

# --- exec ----------------------------------------------------------------------------------------

printf 'a\nb\n' | "$MUSTER" exec "$id" worker-1 -- sh -c 'hostname; cat; echo "$MUSTER_INDEX $COLOUR <$1>" >&2; exit 9' x 'two  words' >"$out" 2>"$err"
is "$?" 9 "exec has the command's exit status"
is "$(cat "$out")" "worker-1
a
b" "its stdin and stdout, in that pod"
is "$(cat "$err")" "1 blue <two  words>" "its environment, its words and its stderr"
run_muster exec "$id" worker-0 -- sh -c 'kill -KILL $$'
is "$rc" 137 "a signal is 128+n"
run_muster exec "$id" worker-0 -- no-such-program
is "$rc" 127 "not found is 127"
head -c 2000000 /dev/zero | "$MUSTER" exec "$id" worker-0 -- sh -c 'wc -c; head -c 3000000 /dev/zero' | wc -c >"$out"
is "$(cat "$out")" 3000008 "much in both directions"
head -c 2000000 /dev/zero >"$WORK/zero"
is "$("$MUSTER" exec "$id" worker-0 -- wc -c <"$WORK/zero")" 2000000 "a file as stdin"
"$MUSTER" exec "$id" worker-0 -- yes </dev/null 2>"$err" | head -n 1 >"$out"
is "$(cat "$out")" y "nobody reads on"
"$MUSTER" exec "$id" worker-0 -- sleep 1234 </dev/null >"$out" 2>&1 &
exec_pid=$!
inside() { "$MUSTER" exec "$id" worker-0 -- ps -o args </dev/null | grep -q '^sleep 123[4]'; }
outside() { ! inside; }
ok "a command that exec started runs" wait_until 30 inside
kill "$exec_pid"
wait "$exec_pid" 2>/dev/null
ok "and is gone when exec is killed" wait_until 30 outside
run_muster exec "$id" worker-9 -- true
is "$rc" 1 "a replica that is not there"

# --- its end -------------------------------------------------------------------------------------

"$MUSTER" wait "$id" >"$WORK/wait" 2>&1 &
wait_pid=$!
run_muster exec "$id" worker-0 -- touch /tmp/go
run_muster exec "$id" worker-1 -- touch /tmp/go
wait "$job_pid"
is "$?" 0 "the job ends"
wait "$wait_pid"
is "$?" 0 "wait has its exit status"
wait "$follow_pid"
is "$(sort "$WORK/follow" | tr '\n' ' ')" "[worker-0/0] worker 0 leaves [worker-0/0] worker 0 waves [worker-1/1] worker 1 leaves [worker-1/1] worker 1 waves " "logs -f has all of it and ends"
run_muster show "$id"
like "$(cat "$out")" "succeeded" "show of a run that has ended"
run_muster exec "$id" worker-0 -- true
unlike "$rc" '^0$' "exec in a run that has ended"

begin job.yaml
run_muster pause "$id"
is "$rc" 0 "pause"
paused() { "$MUSTER" show "$id" 2>&1 | grep -q paused; }
no_pods() { [ -z "$(KUBECONFIG=$admin kube get pod -l muster.internal/run -o name || echo unknown)" ]; }
ok "it is paused" wait_until 60 paused
ok "its pods are deleted" wait_until 60 no_pods
run_muster resume "$id"
is "$rc" 0 "resume"
ok "it runs again" wait_until 120 is_running
run_muster cancel "$id"
is "$rc" 0 "cancel"
wait "$job_pid"
is "$? $(report cause.kind)" "143 cancelled" "it is cancelled"
ok "nothing is left" wait_until 60 no_pods

# --- init containers -----------------------------------------------------------------------------

# stdout and stderr are pipes of their own: the runtime does not keep their order within a moment
cat >init.yaml <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: prepares}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          initContainers:
            - {name: fetch, image: local.test/busybox:1, command: [sh, -c, "echo fetching; echo no such dataset >&2; sleep 0.5; printf 'giving up'; exit 5"]}
          containers:
            - {name: pytorch, image: local.test/busybox:1, command: [sh, -c, "echo never"]}
YAML
run_job --on kubernetes --namespace "$NS" init.yaml
is "$rc $(report cause.kind) $(report cause.exit_code)" "5 exit 5" "an init container that fails"
like "$(report verdict)" 'init container fetch of master-0' "is named"
like "$(report cause.log_tail)" 'fetching.*no such dataset.*giving up' "with its last lines"
is "$(KUBECONFIG=$admin refused)" "" "with the least Role nothing was refused"
done_testing
