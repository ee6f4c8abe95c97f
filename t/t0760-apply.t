#!/bin/sh
# muster apply: what is sent, what is told, and how it ends, with an API server that only stores.
. "${0%/*}/lib.sh"

python3 -c 'import yaml' 2>/dev/null || skip_all "no python3 with yaml"
[ -x "${MUSTER%/*}/muster-kubernetes" ] || skip_all "muster-kubernetes is not built"
cd "$WORK" || exit 1
python3 "$TOP/t/operator/api.py" api-port &
api=$!
wait_until 20 test -s api-port
API=$(cat api-port)
cat >config <<YAML
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:$API"}}, {name: d, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: c, context: {cluster: c, user: u, namespace: here}}, {name: d, context: {cluster: d, user: u}}]
users: [{name: u, user: {token: t}}]
current-context: c
YAML
KUBECONFIG=$WORK/config && export KUBECONFIG
ask() # METHOD PATH [BODY [TYPE]]: prints the answer
{
    python3 -c 'import sys, urllib.request
rq = urllib.request.Request(f"http://127.0.0.1:{sys.argv[1]}{sys.argv[3]}", method=sys.argv[2], data=sys.argv[4].encode() or None,
                            headers={"Content-Type": sys.argv[5]})
print(urllib.request.urlopen(rq, timeout=30).read().decode())' "$API" "$1" "$2" "${3:-}" "${4:-application/json}" 2>&1
}
requests() { ask GET /requests | tr ',' '\n' | grep -c "$1"; }
job() # NAME
{
    cat <<YAML
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: $1}
spec:
  slotsPerWorker: 2
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {containers: [{name: l, image: i, command: [mpirun, hostname]}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: w, image: i}]}}}
YAML
}
MPIJOBS=/apis/kubeflow.org/v2beta1/namespaces/here/mpijobs
status() # NAME CONDITIONS: as an operator writes it
{
    ask PATCH "$MPIJOBS/$1" "{\"status\": {\"conditions\": [$2]}}" application/merge-patch+json >/dev/null
}

# --- sending ---
job pi >pi.yaml
run_muster apply -f pi.yaml
is "$rc $(cat "$out")" "0 mpijob.kubeflow.org/pi created" "a job is sent"
like "$(ask GET $MPIJOBS/pi)" '"slotsPerWorker": 2' "to the namespace of the context, as it is"
run_muster apply pi.yaml
is "$rc $(cat "$out")" "0 mpijob.kubeflow.org/pi configured" "and again, without -f"
"$MUSTER" apply -f - -n there <pi.yaml >"$out"
like "$(ask GET /apis/kubeflow.org/v2beta1/namespaces/there/mpijobs/pi)" '"name": "pi"' "from standard input, to another namespace"
{
    printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: data}\ndata: {a: b}\n---\n'
    job two
} >two.yaml
run_muster apply -f two.yaml
is "$rc $(cat "$out")" "0 configmap/data created
mpijob.kubeflow.org/two created" "what stands beside a job is sent, too"
like "$(ask GET /api/v1/namespaces/here/configmaps/data)" '"a": "b"' "to its own path"

# --- what is not sent ---
before=$(requests PATCH)
sed 's/slotsPerWorker: 2/slotsPerWorkr: 2/; s/replicas: 2/replicas: 0/' pi.yaml >bad.yaml
run_muster apply -f bad.yaml
is "$rc" 2 "an invalid file: exit 2"
"$MUSTER" validate bad.yaml 2>validated >/dev/null
ok "with the diagnostics of validate" cmp "$err" validated
cp "$TOP/examples/muster/hello.yaml" hello.yaml
run_muster apply -f hello.yaml
is "$rc" 2 "a file of another dialect: exit 2"
like "$(cat "$err")" 'use: .*muster submit --on kubernetes hello.yaml' "and what to do with it"
run_muster apply -f nowhere.yaml
is "$rc" 2 "no such file: exit 2"
run_muster apply
is "$rc" 2 "no file: exit 2"
sed 's/{name: pi}/{name: pi, namespace: elsewhere}/' pi.yaml >namespaced.yaml
run_muster apply -f namespaced.yaml -n here
is "$rc" 1 "two namespaces: exit 1"
like "$(cat "$err")" 'its namespace is elsewhere, but --namespace is here' "both are named"
sed 's|kubeflow.org/v2beta1|kubeflow.org/v1alpha2|' pi.yaml >old.yaml
run_muster apply -f old.yaml
is "$rc" 1 "a kind that the cluster does not have: exit 1"
like "$(cat "$err")" 'no kind MPIJob of kubeflow.org/v1alpha2; .*muster generate crds' "and where it is to be had"
is "$(requests PATCH)" "$before" "none of these was sent"

# --- waiting ---
applied() { grep -q "$1" shown; }
wait_for() # NAME: begins to wait for a job
{
    job "$1" >"$1.yaml"
    "$MUSTER" apply -f "$1.yaml" --wait >shown 2>noted &
    waiter=$!
    wait_until 20 applied created
}
CREATED='{"type": "Created", "status": "True", "message": "MPIJob here/good is created."}'
wait_for good
status good "$CREATED"
ok "conditions are shown as they come" wait_until 20 applied '^mpijob.kubeflow.org/good Created: MPIJob here/good is created.$'
status good "$CREATED, {\"type\": \"Running\", \"status\": \"True\", \"message\": \"runs\"}"
ok "each" wait_until 20 applied '^mpijob.kubeflow.org/good Running: runs$'
status good "$CREATED, {\"type\": \"Running\", \"status\": \"False\"}, {\"type\": \"Succeeded\", \"status\": \"True\", \"message\": \"done\"}"
wait "$waiter"
is "$? $(wc -l <shown) $(tail -n 1 shown)" "0 4 mpijob.kubeflow.org/good Succeeded: done" "a job that succeeds: exit 0, every condition once"

wait_for bad
status bad '{"type": "Failed", "status": "True", "message": "MPIJob here/bad has failed. First failure: launcher-0 exited with status 7."}'
wait "$waiter"
is "$? $(tail -n 1 shown)" "1 mpijob.kubeflow.org/bad Failed: MPIJob here/bad has failed. First failure: launcher-0 exited with status 7." \
    "one that fails: exit 1 and the first failure"

wait_for quiet
ok "without an operator, it says so" wait_until 60 grep -q 'no operator has taken the job yet; .*muster generate operator' noted
ask DELETE $MPIJOBS/quiet >/dev/null
wait "$waiter"
is "$? $(tail -n 1 shown)" "1 mpijob.kubeflow.org/quiet was deleted" "one that is deleted: exit 1"
kill "$api"
wait "$api" 2>/dev/null

# --- a cluster that does not answer ---
"$MUSTER" apply -f pi.yaml --context nosuch >"$out" 2>"$err"
is $? 1 "a context that does not exist: exit 1"
LIMIT=90 run_muster apply -f pi.yaml
is "$rc" 1 "no answer: exit 1"
like "$(cat "$err")" 'no answer from the API server' "and why"
done_testing
