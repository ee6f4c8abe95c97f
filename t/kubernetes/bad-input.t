#!/bin/sh
# What is not as it should be, on the way to a cluster: no kubeconfig or a broken one, credentials that are not accepted, missing
# rights, servers that misbehave, objects that are too large. Each has exit code 125 and one sentence that says which, and
# leaves nothing behind.
#
# about: src/engine/kubernetes t/lib/bad_server.py
. "${0%/*}/lib.sh"
need_cluster
admin=$KUBECONFIG

job() # COMMAND
{
    cat <<YAML
apiVersion: muster/v1
name: bad
roles:
  worker: {image: "local.test/busybox:1", command: '$1'}
YAML
}
job 'echo never' >job.yaml

left()
{
    KUBECONFIG=$admin kube get job,configmap,service,secret -l muster.internal/run -o name || echo unknown
    KUBECONFIG=$admin kube get pod -l muster.internal/run -o 'go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{end}}{{end}}'
}
nothing_left()
{
    [ -z "$(left)" ]
}

refuses() # NAME ERE OPTION…: one line of errors, and it matches
{
    name=$1 pattern=$2
    shift 2
    run_job --on kubernetes --namespace "$NS" "$@" job.yaml
    told "$name" "$pattern"
}

told() # NAME ERE: of $rc and $err
{
    is "$rc $(grep -c '^muster: \|error:' "$err")" "125 1" "$1: refused, in one line" || diag "$(cat "$err")"
    like "$(cat "$err")" "$2" "$1: what is wrong"
}

# --- kubeconfig ----------------------------------------------------------------------------------

unset KUBECONFIG
refuses "no kubeconfig" "no kubeconfig: KUBECONFIG is not set and $HOME/.kube/config does not exist; use --on local"
export KUBECONFIG=/nowhere/config
refuses "KUBECONFIG names no file" 'no kubeconfig: KUBECONFIG names /nowhere/config'
export KUBECONFIG="$WORK/config"
printf 'clusters: [\n' >config
refuses "no YAML" "$WORK/config:[0-9]+:[0-9]+: "
echo '[1, 2]' >config
refuses "another YAML" "$WORK/config is not a kubeconfig file"
echo 'kind: Config' >config
refuses "no context" "$WORK/config has no current-context; use --context NAME"

kubeconfig() # SERVER CA-FILE TOKEN
{
    cat <<YAML
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "$1", certificate-authority: $2}}]
users: [{name: u, user: {token: "$3"}}]
YAML
}
kubeconfig https://127.0.0.1:1 "$WORK/nothing" x >config
refuses "a file that is missing" "$WORK/config: certificate-authority: cannot open $WORK/nothing: No such file"
kubeconfig https://127.0.0.1:1 /dev/null x | sed 's/certificate-authority: [^}]*/certificate-authority-data: "***"/' >config
refuses "a certificate that is not base64" "$WORK/config: certificate-authority-data is not base64"

# --- credentials and rights ----------------------------------------------------------------------

server=$(kubectl --kubeconfig "$admin" config view --raw -o 'jsonpath={.clusters[0].cluster.server}')
kubectl --kubeconfig "$admin" config view --raw --flatten -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}' | base64 -d >ca.crt
echo no certificate >none.crt
kubeconfig "$server" "$WORK/none.crt" x >config
refuses "a certificate that is none" "the certificate authority in $WORK/config is not a certificate"
kubeconfig "$server" "$WORK/ca.crt" not-a-token >config
refuses "a token that is not accepted" "the API server $server does not accept the credentials in $WORK/config \(401 Unauthorized\); they may have expired"

# A token of the API server's own whose time has passed: only its times and its signature are new.
signed_again() # TOKEN SECONDS-FROM-NOW
{
    python3 - "$1" "$2" "$MUSTER_KUBERNETES/run/cluster/keys/accounts.key" <<'PYTHON'
import base64, json, subprocess, sys, time

def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b'=')

head, claims, _ = sys.argv[1].split('.')
claims = json.loads(base64.urlsafe_b64decode(claims + '=='))
claims['exp'] = int(time.time()) + int(sys.argv[2])
claims['iat'] = claims['nbf'] = claims['exp'] - 3600
text = head.encode() + b'.' + encode(json.dumps(claims).encode())
der = subprocess.run(['openssl', 'dgst', '-sha256', '-sign', sys.argv[3]], input=text, capture_output=True, check=True).stdout
numbers, at = [], 2  # a sequence of two integers
for _ in range(2):
    numbers.append(int.from_bytes(der[at + 2:at + 2 + der[at + 1]], 'big').to_bytes(32, 'big'))
    at += 2 + der[at + 1]
print((text + b'.' + encode(b''.join(numbers))).decode())
PYTHON
}
KUBECONFIG=$admin tester "$TOP/doc/kubernetes-role.yaml" >/dev/null
token=$(kubectl --kubeconfig "$admin" -n "$NS" create token tester)
job 'true' >job.yaml
kubeconfig "$server" "$WORK/ca.crt" "$(signed_again "$token" 600)" >config
run_job --on kubernetes --namespace "$NS" job.yaml
is "$rc" 0 "a token that is valid for ten minutes more" || diag "$(cat "$err")"
job 'echo never' >job.yaml
kubeconfig "$server" "$WORK/ca.crt" "$(signed_again "$token" -60)" >config
refuses "a token that has expired" "the API server $server does not accept the credentials in $WORK/config \(401 Unauthorized\); they may have expired"
ok "nothing is left" wait_until 60 nothing_left

role() # RULE…
{
    printf 'apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: muster}\nrules:\n'
    grep '^- ' "$TOP/doc/kubernetes-role.yaml" | grep -v -e "$1"
}
# Without one line of the Role each, but for that of events, which runs do without, and that of logs, which are those of init
# containers. The last one is the right that is missing first.
while IFS='|' read -r without right; do
    role "$without" >role.yaml
    KUBECONFIG=$admin
    KUBECONFIG=$(tester role.yaml) && export KUBECONFIG
    run_job --on kubernetes --namespace "$NS" job.yaml
    is "$rc" 125 "no right to $right"
    like "$(cat "$err")" "$right .*doc/kubernetes-role.yaml" "no right to $right: which, and where all are"
    ok "no right to $right: nothing is left" wait_until 60 nothing_left
done <<'RIGHTS'
batch|cannot create resource "jobs" in API group "batch"
configmaps|cannot create resource "(configmaps|services)"
\[pods\]|cannot (list|create) resource "pods"
pods/exec|cannot (get|create) resource "pods/exec"
RIGHTS
KUBECONFIG=$admin
KUBECONFIG=$(tester "$TOP/doc/kubernetes-role.yaml") && export KUBECONFIG
run_job --on kubernetes --namespace no-such-namespace job.yaml
told "a namespace without rights" 'in the namespace "no-such-namespace".*403'
export KUBECONFIG="$admin"
run_job --on kubernetes --namespace no-such-namespace job.yaml
told "a namespace that does not exist" 'namespaces "no-such-namespace" not found'

# --- servers -------------------------------------------------------------------------------------

certificate() # NAME SUBJECT-ALT-NAME DAYS: signed by an authority of its own, NAME.ca
{
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$1.ca.key" -out "$1.ca" -subj "/CN=$1" -days 9 2>/dev/null &&
        openssl req -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" 2>/dev/null &&
        echo "subjectAltName=$2" >"$1.ext" &&
        openssl x509 -req -in "$1.csr" -CA "$1.ca" -CAkey "$1.ca.key" -CAcreateserial -extfile "$1.ext" -out "$1.crt" -days "$3" 2>/dev/null
}

has_port() # NAME
{
    [ -s "$1.port" ]
}

pids=
serve() # NAME HOW [CERTIFICATE KEY]
{
    name=$1
    shift
    python3 "$TOP/t/lib/bad_server.py" "$@" >"$name.port" &
    pids="$pids $!"
    wait_until 30 has_port "$name"
}

# Each is tried for as long as a server may be away: all of them at once.
try() # NAME SERVER CA-FILE
{
    mkdir "try-$1"
    kubeconfig "$2" "$WORK/$3" token >"try-$1/config"
    (
        KUBECONFIG=$WORK/try-$1/config timeout -k 5 100 "$MUSTER" run --on kubernetes --namespace "$NS" job.yaml >"try-$1/out" 2>"try-$1/err" </dev/null
        echo $? >"try-$1/rc"
    ) &
    pids_of_tries="${pids_of_tries:-} $!"
}

certificate right IP:127.0.0.1 9 && certificate other IP:127.0.0.1 9 && certificate elsewhere DNS:example.test 9 &&
    certificate old IP:127.0.0.1 -1
for how in close silent slow words page; do
    serve $how $how
    try $how "http://127.0.0.1:$(cat $how.port)" ca.crt
done
for name in right elsewhere old; do
    serve $name tls $name.crt $name.key
done
serve mute silent
try down http://127.0.0.1:1 ca.crt
try mute "https://127.0.0.1:$(cat mute.port)" ca.crt
try name "https://no-such-host.invalid:6443" ca.crt
try other "https://127.0.0.1:$(cat right.port)" other.ca
try elsewhere "https://127.0.0.1:$(cat elsewhere.port)" elsewhere.ca
try old "https://127.0.0.1:$(cat old.port)" old.ca
# shellcheck disable=SC2086
wait $pids_of_tries
# shellcheck disable=SC2086
kill $pids

tried() # NAME ERE
{
    rc=$(cat "try-$1/rc") err=$WORK/try-$1/err
    told "a server ($1)" "$2"
    err=$WORK/err
}
no='no answer from the API server https?://[^ ]*'
tried down "$no: connection refused or host unreachable"
tried close "$no: it closed the connection"
tried silent "$no: it does not respond"
tried mute "$no: it does not respond"
tried slow "$no: it does not respond"
tried words "$no: "
tried page "http://127.0.0.1:[0-9]+ is not a Kubernetes API server"
tried name "$no: its host name cannot be resolved"
tried other "$no: its certificate is not signed by the certificate authority in $WORK/try-other/config"
tried elsewhere "$no: its certificate is not valid for 127.0.0.1.*tls-server-name"
tried old "$no: its certificate has expired"

# --- too large -----------------------------------------------------------------------------------

mkdir -p maps/large
for i in $(seq 12); do head -c 100000 /dev/zero | tr '\0' x >"maps/large/$i"; done
cat >job.yaml <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: large}
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        spec:
          volumes: [{name: v, configMap: {name: large}}]
          containers: [{name: pytorch, image: "local.test/busybox:1", command: ["true"], volumeMounts: [{name: v, mountPath: /v}]}]
YAML
refuses "a ConfigMap that is too large" 'configmaps: ConfigMap "muster-.*-large" is invalid: .*1048576' --configmaps maps
{
    printf 'apiVersion: muster/v1\nname: bad\nroles:\n  worker:\n    image: local.test/busybox:1\n    command: "true"\n    env:\n      first: &x "%s"\n' "$(head -c 1000 /dev/zero | tr '\0' x)"
    for i in $(seq 4000); do echo "      k$i: *x"; done
} >job.yaml
run_job --on kubernetes --namespace "$NS" job.yaml
like "$rc $(report verdict) $(cat "$err")" '^125 .*(too large|Too long)' "an environment that no pod can have"
ok "nothing is left" wait_until 60 nothing_left
done_testing
