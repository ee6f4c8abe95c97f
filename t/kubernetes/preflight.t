#!/bin/sh
# --preflight on a real cluster: pods that reach each other, and pods that do not. The cluster's network plugin does not enforce
# NetworkPolicies, so a pod is cut off in its own network namespace, on its node: packets to another pod go nowhere.
#
# about: src/engine/preflight src/engine/kubernetes src/foreground/network_gate src/shim/trial
. "${0%/*}/lib.sh"
need_cluster
admin=$KUBECONFIG
KUBECONFIG=$(tester "$TOP/doc/kubernetes-role.yaml") && export KUBECONFIG

cat >job.yaml <<'YAML'
apiVersion: muster/v1
name: job
roles:
  worker: {replicas: 3, image: "local.test/busybox:1", command: 'echo "$(hostname) works"'}
YAML
on_cluster() # [OPTION…]
{
    run_job --on kubernetes --namespace "$NS" "$@"
}

on_cluster --preflight job.yaml
is "$rc $(sort "$out" | tr '\n' ' ')" "0 [worker-0/0] worker-0 works [worker-1/1] worker-1 works [worker-2/2] worker-2 works " "the job runs afterwards"
like "$(cat "$err")" '^muster: preflight: 3 replicas, 6 of 6 connections work$' "every pair was tried"
cat >mpi.yaml <<'YAML'
apiVersion: muster/v1
name: mpi
framework: mpi
roles:
  worker: {replicas: 2, slots: 1, image: "local.test/openmpi:4", command: [hostname]}
YAML
on_cluster --preflight mpi.yaml
is "$rc $(sort "$out" | tr '\n' ' ')" "0 [worker-0/0] worker-0 [worker-1/1] worker-1 " "with a launcher"
on_cluster --preflight=only job.yaml
is "$rc $(cat "$out")" "0 " "only: nothing starts"

# Connections to the pods that are killed while one of their processes tries the network: what it found is lost with them.
cat >lose.py <<'PYTHON'
import os, signal, sys, time

def mine(pid):
    try:
        return sys.argv[1] in open(f'/proc/{pid}/root/etc/hosts').read() and open(f'/proc/{pid}/cmdline').read()
    except OSError:
        return ''

for _ in range(3):
    tries = []
    while not tries:
        seen = {int(pid): mine(pid) for pid in os.listdir('/proc') if pid.isdigit()}
        tries = [pid for pid, line in seen.items() if line and line.startswith('muster-shim\0try\0')]
    lost = [pid for pid, line in seen.items() if line and '/muster-shim\0connect\0' in line]
    for pid in lost:
        os.kill(pid, signal.SIGKILL)
    print('lost', len(lost), flush=True)
    time.sleep(0.3)
PYTHON
timeout 60 python3 lose.py ".$NS.svc" >lost 2>&1 &
loser=$!
on_cluster --preflight --start-timeout 60s job.yaml
kill $loser 2>/dev/null
like "$rc $(cat lost)" '^0 lost [1-9]' "connections are lost in the middle" || diag "$(cat "$err")"
like "$(cat "$err")" '^muster: preflight: 3 replicas, 6 of 6 connections work$' "and every pair was tried"

# --- a pod that is cut off -----------------------------------------------------------------------

# An init container of worker-1 keeps the gate closed until routes of worker-0 lead nowhere: its address is
# known by then, because its sandbox is there.
cat >cut.yaml <<YAML
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: cut}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 3
      restartPolicy: Never
      template:
        spec:
          volumes: [{name: gate, hostPath: {path: $WORK/gate, type: DirectoryOrCreate}}]
          initContainers:
          - {name: wait, image: "local.test/busybox:1", command: [sh, -c, 'until [ -e /gate/open ]; do sleep 0.2; done'], volumeMounts: [{name: gate, mountPath: /gate}]}
          containers:
          - {name: pytorch, image: "local.test/busybox:1", command: [sh, -c, 'echo started']}
YAML
as_admin()
{
    KUBECONFIG=$admin kube "$@"
}
address() # INDEX: of its pod; waits for it
{
    as_admin get pod -l "muster.internal/run,muster.internal/index=$1" --sort-by=.metadata.creationTimestamp \
        -o 'jsonpath={range .items[*]}{.status.podIP}{"\n"}{end}' | tail -n 1
}
process_of() # ADDRESS: a process in that pod's network: one whose fib_trie has the address as its own
{
    for dir in /proc/[0-9]*; do
        [ "$(cat "$dir/comm" 2>/dev/null)" = sh ] || [ "$(cat "$dir/comm" 2>/dev/null)" = pause ] || continue
        grep -A1 -w "$1" "$dir/net/fib_trie" 2>/dev/null | grep -q 'host LOCAL' && echo "${dir#/proc/}" && return
    done
}
have_addresses()
{
    [ -n "$(address 0)" ] && [ -n "$(address 1)" ] && [ -n "$(process_of "$(address 0)")" ]
}
cut() # KIND: how worker-0's packets to worker-1 end
{
    rm -rf "$WORK/gate"
    mkdir -m 755 "$WORK/gate"
    chmod 755 "$WORK"
    timeout -k 5 120 "$MUSTER" run --on kubernetes --namespace "$NS" --report "$REPORT" --preflight cut.yaml >"$out" 2>"$err" </dev/null &
    waiter=$!
    wait_until 60 have_addresses || diag "no addresses: $(cat "$err")"
    nsenter -t "$(process_of "$(address 0)")" -n ip route add "$1" "$(address 1)/32" || diag "no route"
    : >"$WORK/gate/open"
    wait "$waiter"
    rc=$?
}

cut blackhole
is "$rc $(report cause.kind) $(report cause.replica)" "125 not-ready worker-0" "a pod that does not reach another one"
like "$(report verdict)" "worker-0 cannot reach worker-1 \([0-9.]+:[0-9]+\): .*; namespace $NS has no NetworkPolicy" "the pair is named, and that no policy is the reason"
is "$(cat "$out")" "" "nothing was started"
has_shape report "$REPORT" "the report has its shape"
as_admin create -f - >"$WORK/log" 2>&1 <<'YAML'
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: walls}
spec: {podSelector: {}, policyTypes: [Ingress]}
YAML
cut unreachable
like "$rc $(report verdict)" "^125 .*worker-0 cannot reach worker-1 .*: (no route to host|network is unreachable).*; NetworkPolicies in namespace $NS: walls \(selects every pod\)" \
    "the policies of the namespace are listed"
is "$(refused)" "" "with the least Role nothing was refused"
sed '/networkpolicies/d' "$TOP/doc/kubernetes-role.yaml" >less.yaml
KUBECONFIG=$(KUBECONFIG=$admin tester less.yaml)
cut prohibit
like "$rc $(report verdict)" "^125 .*; a NetworkPolicy in namespace $NS may forbid it \(they could not be listed: no right to\)" "without the right to list them"
done_testing
