#!/bin/sh
# Jobs as pods of a real cluster: output, ranks, verdicts and exit codes as on one machine, with no other rights than
# those of doc/kubernetes-role.yaml, and nothing left behind.
#
# about: src/engine/kubernetes src/engine/frames src/shim src/kube src/plan
. "${0%/*}/lib.sh"
need_cluster
admin=$KUBECONFIG
KUBECONFIG=$(tester "$TOP/doc/kubernetes-role.yaml") && export KUBECONFIG

on_cluster() # FILE [OPTION…]
{
    file=$1
    shift
    run_job --on kubernetes --namespace "$NS" "$@" "$file"
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

# --- processes -----------------------------------------------------------------------------------

job() # IMAGE COMMAND: two replicas of two processes
{
    cat <<YAML
apiVersion: muster/v1
name: hello
roles:
  worker: {replicas: 2, slots: 2, image: "$1", command: '$2'}
YAML
}

# shellcheck disable=SC2016 # for the shell of the job
job local.test/busybox:1 'echo "rank $RANK of $WORLD_SIZE on $(hostname)"; echo bad >&2; i=0; until ping -c 1 -W 1 "$MASTER_ADDR" >/dev/null 2>&1; do i=$((i+1)); test $i -lt 60 || exit 9; sleep 1; done' >hello.yaml
on_cluster hello.yaml
is "$rc" 0 "two replicas of two processes"
is "$(sort "$out")" "[worker-0/0] rank 0 of 4 on worker-0
[worker-0/1] rank 1 of 4 on worker-0
[worker-1/2] rank 2 of 4 on worker-1
[worker-1/3] rank 3 of 4 on worker-1" "the output of each is shown with its rank"
is "$(grep -c 'bad$' "$err")" 4 "stderr stays stderr"
like "$(report verdict)" '^succeeded: 4 ranks on 2 workers exited with status 0$' "the same verdict as on one machine"
is "$(report engine)" kubernetes "the report says where it ran"
has_shape report "$REPORT" "the report has its shape"
is "$(cat "$(report run_dir)/logs/$(report attempts.0.ranks.2.log)")" "rank 2 of 4 on worker-1
bad" "its log is here"
ok "nothing is left of it" wait_until 60 nothing_left

# shellcheck disable=SC2016
job local.test/musl:1 '[ $RANK != 2 ] || { echo "loss is NaN"; exit 7; }; sleep 60' >seven.yaml
on_cluster seven.yaml
is "$rc $(report cause.rank) $(report cause.exit_code)" "7 2 7" "musl's libc: the first rank to fail is named"
is "$(report cause.log_tail)" '["loss is NaN"]' "with its last lines"
# shellcheck disable=SC2016
job local.test/busybox:1 '[ $RANK != 1 ] || kill -SEGV $$; sleep 60' >segv.yaml
on_cluster segv.yaml
is "$rc $(report cause.kind) $(report cause.signal) $(report cause.rank)" "139 signal SIGSEGV 1" "a signal is one"
job local.test/busybox:1 'sleep 60' | sed "s,command:.*,command: [/no/such/program]},; s/slots: 2/slots: 1/" >exec.yaml
on_cluster exec.yaml
is "$rc $(report cause.kind)" "127 exec" "a program that the image does not have"

# --- memory, deletion, cancelling ----------------------------------------------------------------

cat >memory.yaml <<'YAML'
apiVersion: muster/v1
name: memory
roles:
  worker:
    image: local.test/torch:1
    resources: {memory: 64Mi}
    command: exec python3 -c 'x = bytearray(256 << 20); print(len(x))'
YAML
on_cluster memory.yaml
is "$rc $(report cause.kind)" "137 oom" "out of memory"
like "$(report verdict)" '64 MiB' "with its limit"

both_up()
{
    [ "$(grep -c up "$out")" -eq 2 ]
}

run_pod() # FILE: in the background, until its pod runs
{
    timeout -k 5 120 "$MUSTER" run --on kubernetes --namespace "$NS" --report "$REPORT" "$1" >"$out" 2>"$err" </dev/null &
    waiter=$!
    wait_until 60 both_up
}
job local.test/busybox:1 'echo up; sleep 1000' | sed 's/slots: 2/slots: 1/' >sleep.yaml
ok "a job runs" run_pod sleep.yaml
KUBECONFIG=$admin kube delete pod -l muster.internal/role=worker,muster.internal/index=1 --grace-period=0 --force >"$WORK/deleted" 2>&1
wait "$waiter"
is "$? $(report cause.replica) $(report cause.kind)" "125 worker-1 gone" "a pod that somebody deletes is named"
ok "a job runs" run_pod sleep.yaml
kill -INT "$(tr -d ' ' <"/proc/$waiter/task/$waiter/children")"
wait "$waiter"
is "$? $(report cause.kind)" "130 cancelled" "Ctrl-C"
ok "nothing is left of it" wait_until 60 nothing_left

# --- mpirun --------------------------------------------------------------------------------------

mpi() # IMAGE MPIRUN PROGRAM…
{
    cat <<YAML
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi}
spec:
  slotsPerWorker: 2
  $1
  mpiReplicaSpecs:
    Launcher:
      template: {spec: {containers: [{name: l, image: "$2", command: [sh, -c], args: ['$3']}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: w, image: "$2"}]}}
YAML
}
# shellcheck disable=SC2016
ranks='sh -c "echo rank \$OMPI_COMM_WORLD_RANK\$PMI_RANK on \$(hostname); test \$OMPI_COMM_WORLD_RANK\$PMI_RANK != 2 || exit CODE; sleep 2"'
mpi "" local.test/openmpi:4 "mpirun -np 4 $ranks" | sed 's/CODE/0/' >open.yaml
on_cluster open.yaml
is "$rc $(sort "$out" | tr '\n' ' ')" "0 [worker-0/0] rank 0 on pi-worker-0 [worker-0/1] rank 1 on pi-worker-0 [worker-1/2] rank 2 on pi-worker-1 [worker-1/3] rank 3 on pi-worker-1 " \
    "Open MPI: ranks in the pods of the workers, without sshd"
mpi "" local.test/openmpi:4 "mpirun -np 4 $ranks || true" | sed 's/CODE/7/' >seven.yaml
on_cluster seven.yaml
is "$rc $(report cause.rank) $(report cause.replica)" "7 2 worker-1" "a rank's failure that the launcher ignores"

# --- a namespace that allows little --------------------------------------------------------------

secure='securityContext: {runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, seccompProfile: {type: RuntimeDefault}}'
locked='securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}'
kubectl --kubeconfig "$admin" label namespace "$NS" pod-security.kubernetes.io/enforce=restricted >/dev/null
cat >restricted.yaml <<YAML
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: restricted}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          $secure
          containers: [{name: pytorch, image: "local.test/busybox:1", $locked, command: [sh, -c, 'touch /x 2>/dev/null || echo "\$(id -u) \$MUSTER_INDEX"; ! ls run.sh 2>/dev/null || ./run.sh']}]
YAML
on_cluster restricted.yaml
is "$rc $(sort "$out" | tr '\n' ' ')" "0 [worker-0] 1000 0 [worker-1] 1000 1 " "Pod Security restricted, no root, read-only files" || diag "$(tail -n 5 "$err")"
mkdir scripts
printf '#!/bin/sh\necho code; touch here\n' >scripts/run.sh
chmod 755 scripts/run.sh
on_cluster restricted.yaml --code scripts
is "$rc $(grep -c code "$out")" "0 2" "with code of its own, which can be run and written beside" || diag "$(tail -n 5 "$err")"
# shellcheck disable=SC2016
mpi "" local.test/openmpi:4 "mpirun -np 4 $ranks" |
    sed "s/CODE/0/; s/containers:/$secure, &/; s/image:/$locked, env: [{name: HOME, value: \/muster\/run}], &/" >restricted-mpi.yaml
on_cluster restricted-mpi.yaml
is "$rc $(grep -c ' rank [0-3] on pi-worker-' "$out")" "0 4" "Open MPI likewise" || diag "$(tail -n 15 "$err")"
kubectl --kubeconfig "$admin" label namespace "$NS" pod-security.kubernetes.io/enforce- >/dev/null

# --- what is refused -----------------------------------------------------------------------------

on_cluster "$TOP/examples/muster/hello.yaml"
like "$rc $(cat "$err")" '^125 .*role worker has no container image.*--image' "no image"
on_cluster hello.yaml --context nowhere
like "$rc $(cat "$err")" '^125 .*context "nowhere" not found in ' "no such context"
run_job --on kubernetes --namespace kube-system hello.yaml
like "$rc $(cat "$err")" '^125 .*forbidden.*403' "no rights: the server's own reason"
is "$(refused | grep -v kube-system)" "" "with the least Role nothing else was refused"
done_testing
