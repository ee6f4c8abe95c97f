#!/bin/sh
# The cluster itself, before anything of Muster's runs on it: what the other scripts take for granted.
# shellcheck disable=SC2016 # what is in single quotes is for the shells of pods
. "${0%/*}/lib.sh"
need_cluster

ok "every part answers" "$KUBE" check
is "$(kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {end}')" "node1 node2 node3 " "three nodes"
is "$("$KUBE" up)" "$KUBECONFIG" "what is up stays up"

pod() # NAME NODE IMAGE COMMAND [MORE]: YAML
{
    cat <<YAML
---
apiVersion: v1
kind: Pod
metadata: {name: $1, labels: {job: pair}}
spec:
  hostname: $1
  subdomain: pair
  nodeName: $2
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: "$3", command: [sh, -c, '$4'], ${5:-}}
YAML
}

# --- two pods of a job on two nodes --------------------------------------------------------------

{
    cat <<YAML
apiVersion: v1
kind: Service
metadata: {name: pair}
spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {job: pair}}
YAML
    pod one node1 local.test/debian:12 'until getent hosts two.pair; do sleep 0.1; done; echo one is done'
    pod two node2 local.test/musl:1 'echo two is up; exec sleep 1000'
} | kube apply -f - >"$out" || diag "$(cat "$out")"

ok "a pod finds one on another node by name" wait_until 60 phase one Succeeded
like "$(kube logs one)" "^$(field two '{.status.podIP}') " "the name is that pod's address"
like "$(kube logs one)" "^one is done$" "what it said can be read"
wait_until 60 phase two Running
is "$(kube logs two)" "two is up" "and what the other one says"
is "$(kube exec two -- hostname)" two "a command runs in a pod"
is "$(echo abc | kube exec -i two -- cat)" abc "with its input"
kube exec two -- sh -c 'exit 7' >"$out" 2>&1
is $? 7 "and its exit code"
like "$(kube exec two -- nslookup nowhere.example. 2>&1)" NXDOMAIN "a name outside does not exist"
ok "a pod can be deleted" kube delete pod two
is "$(kube get pod two --ignore-not-found)" "" "and is gone"

# --- endings -------------------------------------------------------------------------------------

{
    pod greedy node3 local.test/busybox:1 'tail /dev/zero' 'resources: {limits: {memory: 32Mi}}'
    pod absent node3 local.test/absent:1 true
    pod seven node3 local.test/busybox:1 'exit 7'
} | kube apply -f - >"$out" || diag "$(cat "$out")"
wait_until 60 phase greedy Failed
is "$(field greedy '{.status.containerStatuses[0].state.terminated.reason}')" OOMKilled "a memory limit kills"
wait_until 60 phase seven Failed
is "$(field seven '{.status.containerStatuses[0].state.terminated.exitCode}')" 7 "an exit code is kept"
waits_for_image()
{
    field absent '{.status.containerStatuses[0].state.waiting.reason}' | grep -qE '^(ErrImagePull|ImagePullBackOff)$'
}
ok "an image that nobody has cannot be pulled" wait_until 60 waits_for_image
like "$(kube get events)" "local.test/absent:1: not found" "and is named"

# --- images --------------------------------------------------------------------------------------

mkdir -p rootfs/opt
echo made here >rootfs/opt/file
ok "an image can be made of another one" "$KUBE" image somebody/made-here local.test/debian:12 rootfs
{
    pod made node1 somebody/made-here 'cat /opt/file; test -x /usr/bin/apt && echo on Debian'
    for image in openmpi:4 mpich:4; do
        pod "${image%:*}" node2 "local.test/$image" 'mpiexec --version; id -un' 'securityContext: {runAsUser: 1000}'
    done
    pod torch node3 local.test/torch:1 'exec python3 -c "import torch.distributed as d; print(d.is_gloo_available())"'
} | kube apply -f - >"$out" || diag "$(cat "$out")"
for name in made openmpi mpich torch; do
    wait_until 60 ended $name || diag "$(kube describe pod $name)"
done
is "$(kube logs made)" "made here
on Debian" "a pod pulls it by any registry's name"
like "$(kube logs openmpi)" "^mpiexec \(OpenRTE\) 4" "Open MPI is there"
like "$(kube logs openmpi)" "^mpiuser$" "for an ordinary user too"
like "$(kube logs mpich)" "HYDRA" "MPICH is there"
is "$(kube logs torch)" True "PyTorch is there"

# --- rights --------------------------------------------------------------------------------------

cat >role.yaml <<'YAML'
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get, list]}
YAML
config=$(tester role.yaml)
ok "a service account has the rights of its Role" kubectl --kubeconfig "$config" get pods
is "$(refused)" "" "and was refused nothing"
kubectl --kubeconfig "$config" delete pod seven >"$out" 2>&1
is $? 1 "it has no others"
is "$(refused)" "403 delete pods $NS/seven" "which the audit log tells"

done_testing
