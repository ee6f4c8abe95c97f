#!/bin/sh
# The API server alone: objects, their rules and rights, and nobody who runs anything.
. "${0%/*}/lib.sh"
need_api

ok "every part answers" "$KUBE" check --api-only
is "$(kubectl get nodes 2>/dev/null)" "" "there are no nodes"
kube apply -f - >"$out" <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {containers: [{name: main, image: none}]}
YAML
ok "a pod can be made" phase one Pending
ok "a test says how it is doing" kube patch pod one --subresource=status --type=merge -p '{"status": {"phase": "Running"}}'
ok "which is seen" phase one Running

cat >role.yaml <<'YAML'
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get]}
YAML
config=$(tester role.yaml)
ok "a service account has the rights of its Role" kubectl --kubeconfig "$config" get pod one
is "$(refused)" "" "and was refused nothing"
kubectl --kubeconfig "$config" get pods >"$out" 2>&1
like "$(refused)" "^403 list pods $NS/$" "what it has no right to is refused, and in the audit log"

before=$(cat "$MUSTER_KUBERNETES/run/api/apiserver.pid")
ok "it is killed and started" "$KUBE" apiserver --api-only restart
ok "it is another one" test "$(cat "$MUSTER_KUBERNETES/run/api/apiserver.pid")" -ne "$before"
ok "which knows the same" phase one Running
kube delete pod one --grace-period=0 --force >"$out" 2>&1
is "$(kube get pods -o name)" "" "a pod can be deleted"
done_testing
