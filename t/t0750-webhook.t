#!/bin/sh
# The operator's webhook: its certificate, its configuration, and what it says to jobs, with an API server that only stores.
. "${0%/*}/lib.sh"

python3 -c 'import yaml' 2>/dev/null || skip_all "no python3 with yaml"
[ -x "${MUSTER%/*}/muster-operator" ] || skip_all "muster-operator is not built"
cd "$WORK" || exit 1
python3 "$TOP/t/operator/api.py" api-port &
api=$!
wait_until 20 test -s api-port
API=$(cat api-port)
cat >config <<YAML
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:$API"}}]
contexts: [{name: c, context: {cluster: c, user: u, namespace: muster-system}}]
users: [{name: u, user: {token: t}}]
current-context: c
YAML
ask() # METHOD PATH [BODY [TYPE]]: prints the answer
{
    python3 -c 'import sys, urllib.request
rq = urllib.request.Request(f"http://127.0.0.1:{sys.argv[1]}{sys.argv[3]}", method=sys.argv[2], data=sys.argv[4].encode() or None,
                            headers={"Content-Type": sys.argv[5]})
print(urllib.request.urlopen(rq, timeout=30).read().decode())' "$API" "$1" "$2" "${3:-}" "${4:-application/json}" 2>&1
}
begin() # LOG: an operator with a webhook; $port is where it listens
{
    "$MUSTER" operator --kubeconfig config --metrics 0 --webhook 127.0.0.1:0 2>"$1" &
    operator=$!
    wait_until 20 grep -q 'the webhook listens' "$1"
    port=$(sed -n 's/.*the webhook listens on port \([0-9]*\).*/\1/p' "$1" | tail -n 1)
}
CONFIGURATION=/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations
SECRET=/api/v1/namespaces/muster-system/secrets/muster-operator-webhook
certificate() { ask GET $SECRET | python3 -c 'import json, sys; print(json.load(sys.stdin)["data"]["tls.crt"])'; }
bundle() { ask GET $CONFIGURATION/muster-operator | python3 -c 'import json, sys; print(json.load(sys.stdin)["webhooks"][0]["clientConfig"].get("caBundle"))'; }
same() { [ "$(bundle)" = "$(certificate)" ]; }

# --- its certificate ---
run_muster generate operator --no-crds -o json
python3 -c 'import json, sys
print(json.dumps(next(d for d in json.load(open(sys.argv[1]))["items"] if d["kind"] == "ValidatingWebhookConfiguration")))' "$out" >configuration
begin one.log
like "$(ask GET $SECRET)" '"type": "kubernetes.io/tls"' "the operator makes a certificate and stores it"
ok "without a configuration it says so" wait_until 20 grep -q 'the webhook does not work: GET .*validatingwebhookconfigurations' one.log
ask POST $CONFIGURATION "$(cat configuration)" >/dev/null
ok "one that comes later gets the caBundle" wait_until 30 same
ok "and this is told" wait_until 5 grep -q 'the API server asks the webhook' one.log
is "$(grep -c 'does not work' one.log)" 1 "that it did not work was told once"

# --- what it says ---
job() # WORKERS
{
    cat <<YAML
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi, namespace: a}
spec:
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {containers: [{name: l, image: i, command: [mpirun]}]}}}
    Worker: {replicas: $1, template: {spec: {containers: [{name: w, image: i}]}}}
YAML
}
review() { python3 "$TOP/t/operator/review.py" "$API" "$port" a 2>&1 | tail -n 1; }
is "$(job 2 | review)" '{"allowed": true, "uid": "u"}' "a client that trusts the caBundle only is answered"
job 0 >bad.yaml
review <bad.yaml >answer
like "$(cat answer)" '"allowed": false' "an invalid job is refused"
run_muster validate -o json bad.yaml
ok "with the message of muster validate" python3 -c 'import json, sys
said, want = json.load(open(sys.argv[1]))["status"]["message"], json.load(open(sys.argv[2]))["files"][0]["diagnostics"]
errors = [d for d in want if d["severity"] == "error"]
assert errors and all(d["message"] in said and d["path"].lstrip(".") in said for d in errors), (said, errors)' answer "$out"
is "$(job 2 | sed 's/replicas: 2/replicas: 2, restartPolicy: Sometimes/' | review | grep -c '"allowed": false')" 1 "another one"
own() # KEY: a MusterJob
{
    printf 'apiVersion: muster.internal/v1\nkind: MusterJob\nmetadata: {name: x, namespace: a}\nspec: {roles: {w: {image: i, command: "true", %s: 2}}}\n' "$1"
}
is "$(own replicas | review)" '{"allowed": true, "uid": "u"}' "a MusterJob"
like "$(own replcas | review)" '"allowed": false.*did you mean .replicas' "an invalid one is refused in the words of validate"
python3 -c 'import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=30)
s.sendall(b"GET / HTTP/1.1\r\n\r\n")
print(s.recv(100))' "$port" >plain
is "$(cat plain)" "b''" "who speaks no TLS is disconnected"
is "$(job 2 | review)" '{"allowed": true, "uid": "u"}' "and it goes on"

# --- a second operator uses the same certificate; a bad one is replaced ---
first=$operator first_port=$port before=$(certificate)
begin two.log
is "$(certificate)" "$before" "another operator uses the same certificate"
is "$(job 2 | review)" '{"allowed": true, "uid": "u"}' "and answers, too"
kill "$operator" "$first"
wait "$operator" "$first"
ask PATCH $SECRET '{"data": {"tls.crt": "bm9uc2Vuc2U="}}' application/merge-patch+json >/dev/null
begin three.log
unlike "$(certificate)" "bm9uc2Vuc2U=|^$before\$" "a Secret that is no certificate gets a new one"
ok "and so does the configuration" wait_until 30 same
is "$(job 2 | review)" '{"allowed": true, "uid": "u"}' "which is used"
[ "$port" != "$first_port" ] || diag "the same port"
kill "$operator"
wait "$operator"
is $? 0 "SIGTERM ends it"
unlike "$(cat ./*.log)" 'PRIVATE KEY|LS0tLS1CRUdJTiBQ' "no key is in the log"
kill "$api"
wait "$api" 2>/dev/null
done_testing
