#!/bin/sh
# The faults that other scripts make happen to the cluster: a node that crashes, one that is cut off, an API server
# that is killed. Afterwards all is as before.
. "${0%/*}/lib.sh"
need_cluster

ready() # NODE STATUS
{
    [ "$(kubectl get node "$1" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}')" = "$2" ]
}

on() # NODE
{
    kube apply -f - >"$out" <<YAML
apiVersion: v1
kind: Pod
metadata: {name: on-$1}
spec:
  nodeName: $1
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: "local.test/busybox:1", command: [sleep, "1000"]}]
YAML
    wait_until 60 phase "on-$1" Running
}

is_deleted() # POD: somebody wants it gone
{
    [ -n "$(field "$1" '{.metadata.deletionTimestamp}')" ]
}

ok "a pod on node 1" on node1
ok "a pod on node 2" on node2

ok "node 2 is cut off" "$KUBE" node cut 2
ok "which is seen" wait_until 60 ready node2 Unknown
ok "and joined again" "$KUBE" node heal 2
ok "which is seen too" wait_until 60 ready node2 True

ok "node 1 crashes" "$KUBE" node crash 1
ok "which is seen" wait_until 60 ready node1 Unknown
ok "the pod there is deleted for it" wait_until 120 is_deleted on-node1
ok "and started again" "$KUBE" node start 1
ok "it is ready again" wait_until 120 ready node1 True

before=$(cat "$MUSTER_KUBERNETES/run/cluster/apiserver.pid")
ok "the API server is killed and started" "$KUBE" apiserver restart
ok "it is another one" test "$(cat "$MUSTER_KUBERNETES/run/cluster/apiserver.pid")" -ne "$before"
ok "a pod starts on node 3" on node3
ok "every part answers" wait_until 60 "$KUBE" check
done_testing
