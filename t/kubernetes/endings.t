#!/bin/sh
# Pods that cannot come, wait, or are removed, on a real cluster: each has its own cause, exit code 125, the replica's name and
# the platform's own words, and is never told as a failure of the user's process.
#
# MUSTER_DISTURB=1 adds what other users of the cluster notice: a node that crashes or is cut off, an API server that restarts.
#
# about: src/engine/kubernetes src/job src/foreground
. "${0%/*}/lib.sh"
need_cluster
admin=$KUBECONFIG
KUBECONFIG=$(tester "$TOP/doc/kubernetes-role.yaml") && export KUBECONFIG

as_admin()
{
    KUBECONFIG=$admin kube "$@"
}

job() # REPLICAS RESTART IMAGE COMMAND [KEY-OF-THE-POD…]
{
    cat <<YAML
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: j}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: $1
      restartPolicy: $2
      template:
        spec:
          terminationGracePeriodSeconds: 5
          ${5:-}
          containers:
          - {name: pytorch, image: "$3", command: [sh, -c, '$4']${6:-}}
YAML
}

on_cluster() # FILE [OPTION…]
{
    file=$1
    shift
    run_job --on kubernetes --namespace "$NS" "$@" "$file"
}

ending() # what a script sees of it
{
    echo "$rc $(report exit_code) $(report cause.kind) $(report cause.replica) $(report cause.signal)"
}

# --- it never comes ------------------------------------------------------------------------------

job 2 Never local.test/nothing-of-this-name:1 true >image.yaml
on_cluster image.yaml --start-timeout 15s
is "$(ending)" "125 125 image worker-0 null" "an image that is not there, when the start timeout ends"
like "$(report verdict)" 'worker-0 could not get its image within 15.0 s \(--start-timeout\): local.test/nothing-of-this-name:1: .*not found' \
    "the image is named, and the registry's words"
like "$(cat "$err")" '2 of 2 workers pending: local.test/nothing-of-this-name:1: ' "meanwhile the reason is told, with the number"
has_shape report "$REPORT" "the report has its shape"
on_cluster image.yaml
is "$(ending)" "125 125 image worker-0 null" "and before it ends, after a minute"
job 1 Never local.test/Upper:1 true >name.yaml
on_cluster name.yaml
is "$(ending)" "125 125 image worker-0 null" "a name that no image can have, at once"

job 1 Never local.test/busybox:1 true 'nodeSelector: {nobody: has-this}' >selector.yaml
on_cluster selector.yaml --start-timeout 12s
is "$(ending)" "125 125 unschedulable worker-0 null" "one replica that no node takes ends with the start timeout, too"
like "$(report verdict)" 'worker-0 was not scheduled within 12.0 s \(--start-timeout\): 0/[0-9]+ nodes are available' "in the scheduler's words"
like "$(cat "$err")" 'worker-0 pending: 0/[0-9]+ nodes are available' "which are told meanwhile"

job 1 Never local.test/busybox:1 true 'volumes: [{name: v, configMap: {name: no-such-map}}]' ', volumeMounts: [{name: v, mountPath: /v}]' >mount.yaml
on_cluster mount.yaml --start-timeout 20s
is "$(ending)" "125 125 not-ready worker-0 null" "a volume that cannot be mounted"
like "$(report verdict)" 'FailedMount: .*"no-such-map" not found' "is named by an event"

as_admin create quota one --hard=pods=1 >"$WORK/log"
job 2 OnFailure local.test/busybox:1 'sleep 100' >two.yaml
on_cluster two.yaml
like "$(ending)" '^125 125 unschedulable worker-[01] null$' "a quota refuses a pod at once, and nothing is tried again"
like "$(report verdict)" 'was refused: pods ".*" is forbidden: exceeded quota: one, requested: pods=1' "in the server's own sentence"
as_admin delete quota one >"$WORK/log"

kubectl --kubeconfig "$admin" label namespace "$NS" pod-security.kubernetes.io/enforce=restricted >"$WORK/log"
job 1 Never local.test/busybox:1 true >plain.yaml
on_cluster plain.yaml
is "$(ending)" "125 125 unschedulable worker-0 null" "Pod Security refuses a pod"
like "$(report verdict)" 'violates PodSecurity .*runAsNonRoot' "and says what is missing"
kubectl --kubeconfig "$admin" label namespace "$NS" pod-security.kubernetes.io/enforce- >"$WORK/log"

# --- it is taken away ----------------------------------------------------------------------------

up() # N: so many lines "up" have been written
{
    [ "$(grep -c up "$out")" -ge "$1" ]
}

run_pods() # FILE N [OPTION…]: in the background, until N of its replicas run
{
    file=$1 n=$2
    shift 2
    timeout -k 5 400 "$MUSTER" run --on kubernetes --namespace "$NS" --report "$REPORT" "$@" "$file" >"$out" 2>"$err" </dev/null &
    waiter=$!
    wait_until 90 up "$n"
}

ended_as()
{
    rc=0
    wait "$waiter" || rc=$?
}

of_worker() # INDEX: its pod that nobody deletes yet
{
    as_admin get pod -l "muster.internal/role=worker,muster.internal/index=$1" \
        -o 'go-template={{range .items}}{{if not .metadata.deletionTimestamp}}pod/{{.metadata.name}}{{end}}{{end}}'
}

evict() # POD: as kubectl drain does
{
    name=${1#pod/}
    echo "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{\"name\":\"$name\",\"namespace\":\"$NS\"}}" |
        as_admin create --raw "/api/v1/namespaces/$NS/pods/$name/eviction" -f - >"$WORK/log" 2>&1
}

job 2 Never local.test/busybox:1 'echo up; sleep 1000' >sleep.yaml
ok "a job runs" run_pods sleep.yaml 2
as_admin delete "$(of_worker 1)" --wait=false >"$WORK/log"
ended_as
is "$(ending)" "125 125 gone worker-1 null" "a pod that somebody deletes"
like "$(report verdict)" 'worker-1 disappeared: its pod .*-worker-1 was deleted' "is told as that, not as SIGTERM"
ok "a job runs" run_pods sleep.yaml 2
as_admin delete "$(of_worker 0)" --force --grace-period=0 >"$WORK/log" 2>&1
ended_as
is "$(ending)" "125 125 gone worker-0 null" "a pod that somebody deletes by force"

job 2 Never local.test/busybox:1 'trap "exit 0" TERM; echo up; sleep 1000 & wait' >trap.yaml
ok "a job runs" run_pods trap.yaml 2
as_admin delete "$(of_worker 1)" --wait=false >"$WORK/log"
ended_as
is "$(ending)" "125 125 gone worker-1 null" "also if its process traps SIGTERM and exits with 0"

ok "a job runs" run_pods sleep.yaml 2
ok "a pod is evicted" evict "$(of_worker 1)"
ended_as
is "$(ending)" "125 125 evicted worker-1 null" "the API's eviction is one"
like "$(report verdict)" 'worker-1 was evicted: on node .*EvictionByEvictionAPI' "with the API server's reason"

job 1 OnFailure local.test/busybox:1 'echo up; sleep 20' >again.yaml
ok "a job runs" run_pods again.yaml 1
ok "a pod is evicted" evict "$(of_worker 0)"
ended_as
is "$rc $(report outcome) $(report attempts.0.replicas.0.restarts)" "0 succeeded 1" "what may be restarted is, in another pod"
like "$(cat "$err")" 'worker-0 was evicted \(.*\) and is restarted' "which is told"

# --- the client dies -----------------------------------------------------------------------------

nothing_left()
{
    [ -z "$(as_admin get pod,job,configmap,service -l muster.internal/run -o name)" ]
}
ok "a job runs" run_pods sleep.yaml 2
kill -KILL "$(tr -d ' ' <"/proc/$waiter/task/$waiter/children")"
ended_as
is "$rc" 137 "its muster is killed"
ok "its pods run on" [ -n "$(of_worker 0)" ]
ok "the cluster removes the run within the stated time" wait_until 150 nothing_left

# --- what others notice --------------------------------------------------------------------------

away='tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]'
if [ "${MUSTER_DISTURB:-}" ]; then
    job 2 Never local.test/busybox:1 'echo up; sleep 60' >minute.yaml
    ok "a job runs" run_pods minute.yaml 2
    ok "the API server restarts" "$KUBE" apiserver restart
    ended_as
    is "$rc $(report outcome)" "0 succeeded" "a job goes on while the API server is away"

    job 2 Never local.test/busybox:1 'echo up; sleep 100' "nodeSelector: {kubernetes.io/hostname: node2}" >cut.yaml
    ok "a job runs on node 2" run_pods cut.yaml 2
    ok "which is cut off" "$KUBE" node cut 2
    ok "its replicas are out of sight" wait_until 120 grep -q 'worker-1 is out of sight' "$err"
    ok "the node is back" "$KUBE" node heal 2
    ended_as
    is "$rc $(report outcome)" "0 succeeded" "nothing has failed"
    like "$(cat "$err")" 'worker-1 is in sight again' "it is seen again"

    job 1 Never local.test/busybox:1 'echo up; sleep 1000' "$away
          nodeSelector: {kubernetes.io/hostname: node2}" >crash.yaml
    ok "a job runs on node 2" run_pods crash.yaml 1
    ok "which crashes" "$KUBE" node crash 2
    ended_as
    is "$(ending)" "125 125 evicted worker-0 null" "a node that is lost for good evicts its pods"
    like "$(report verdict)" 'worker-0 was evicted: on node node2, ' "and is named"
    "$KUBE" node start 2 >"$WORK/log" 2>&1
    wait_until 120 "$KUBE" check
fi
done_testing
