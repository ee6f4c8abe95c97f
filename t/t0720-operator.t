#!/bin/sh
# muster operator without a cluster: the verb, its options and those of the operators that it replaces.
. "${0%/*}/lib.sh"

OPERATOR=${MUSTER%/*}/muster-operator
[ -x "$OPERATOR" ] || skip_all "muster-operator is not built"
cd "$WORK" || exit 1

# --- the verb ---
run_muster operator --help
is "$rc" 0 "--help"
like "$(cat "$out")" '^      --namespace NS ' "it lists the options"
cp "$out" help
run_muster help operator
ok "help operator is the same" cmp "$out" help
run_muster operator --version
like "$(cat "$out")" '^muster operator [0-9]' "--version"
run_muster operator --namspace x
is "$rc" 2 "an unknown option: exit 2"
like "$(cat "$err")" 'did you mean --namespace' "and the nearest"
mkdir alone
cp "$MUSTER" alone/muster
MUSTER=$WORK/alone/muster run_muster operator
is "$rc" 1 "without its program"
like "$(cat "$err")" 'cannot start muster-operator: No such file' "it says so"

# --- it is installed, and muster finds it there ---
make -s -C "$TOP" install PREFIX=/p DESTDIR="$WORK/root" B="${MUSTER%/*}" SAN="${MUSTER_SAN:-}" >/dev/null 2>&1
is "$("$WORK/root/p/bin/muster" operator --version)" "$("$MUSTER" operator --version)" "an installed muster finds the installed operator"

# --- a cluster that does not answer: options that have no effect are told ---
cat >config <<'YAML'
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: c, context: {cluster: c, user: u, namespace: here}}]
users: [{name: u, user: {token: t}}]
current-context: c
YAML
run_muster operator --kubeconfig missing
is "$rc" 1 "no configuration: exit 1"
"$MUSTER" operator -kubeConfig=config -alsologtostderr --gpus-per-node 8 --kubectl-delivery-image x 2>log &
operator=$!
told() { [ "$(wc -l <log)" -ge "$1" ]; }
ok "flags of mpi-operator are accepted" wait_until 20 told 2
kill "$operator"
wait "$operator"
is $? 0 "SIGTERM ends it"
ok "the log is JSON, a line each" python3 -c '
import json, sys
for line in open("log"):
    d = json.loads(line)
    assert {"time", "level", "text"} <= set(d), line'
like "$(cat log)" '"text":"--kubectl-delivery-image is ignored: ' "and names what has no effect"

# --- health and metrics by HTTP ---
"$MUSTER" operator --kubeconfig config --metrics nowhere 2>log
is $? 1 "an address that is none: exit 1"
like "$(cat log)" 'metrics: must be an address such as :8080' "and why"

ask() # PATH: its answer; the status is $code
{
    python3 "$TOP/t/operator/http_probe.py" "$port" "$1" >answer
    code=$(head -n 1 answer)
    tail -n +2 answer
}
begin() # SERVER: an operator; $port is where it listens
{
    sed "s|http://127.0.0.1:9|$1|" config >config-of
    rm -f log # of the operator before it: its port would be read
    "$MUSTER" operator --kubeconfig config-of --metrics 127.0.0.1:0 2>log &
    operator=$!
    wait_until 20 grep -q 'metrics on port' log
    port=$(sed -n 's/.*metrics on port \([0-9]*\).*/\1/p' log)
}
begin http://127.0.0.1:9
is "$(ask /healthz)" ok "/healthz: it is alive"
is "$(ask /readyz)" "no answer from the API server yet" "/readyz: it is not ready"
ask /readyz >/dev/null
is "$code" 503 "with its status"
python3 "$TOP/t/operator/http_probe.py" "$port" >probes
while read -r word name; do
    if [ "$word" = ok ]; then result 0 "HTTP: $name" ""; else result 1 "HTTP: $name" "$word $name"; fi
done <probes
is "$(wc -l <probes)" 14 "all of these were tried"
is "$(ask /healthz)" ok "it is still alive"
kill "$operator"
wait "$operator"
is $? 0 "it ends with connections open"

python3 "$TOP/t/operator/api.py" api-port &
api=$!
wait_until 20 test -s api-port
begin "http://127.0.0.1:$(cat api-port)"
ready() { [ "$(ask /readyz)" = ok ]; }
ok "with a cluster that answers it is ready" wait_until 20 ready
ask /metrics >metrics
is "$(sed -n 's/^# TYPE \(mpi_operator[a-z_]*\|training_operator[a-z_]*\) .*/\1/p' metrics | sort | tr '\n' ' ')" \
    "mpi_operator_is_leader mpi_operator_job_info mpi_operator_jobs_created_total mpi_operator_jobs_failed_total \
mpi_operator_jobs_successful_total training_operator_jobs_created_total training_operator_jobs_deleted_total \
training_operator_jobs_failed_total training_operator_jobs_restarted_total training_operator_jobs_successful_total " \
    "/metrics has upstream's names"
like "$(cat metrics)" '^mpi_operator_is_leader 1$' "without a lease it leads"
like "$(cat metrics)" '^muster_operator_requests_total\{result="ok"\} [1-9]' "requests are counted"
like "$(cat metrics)" '^process_resident_memory_bytes [1-9][0-9]{6}' "and memory"

# --- a job is counted ---
cat >job.json <<'JSON'
{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "pi", "namespace": "a"},
 "spec": {"mpiReplicaSpecs": {
  "Launcher": {"replicas": 1, "template": {"spec": {"containers": [{"name": "l", "image": "i", "command": ["mpirun"]}]}}},
  "Worker": {"replicas": 2, "template": {"spec": {"containers": [{"name": "w", "image": "i"}]}}}}}}
JSON
send() # METHOD PATH [FILE]
{
    python3 -c 'import sys, urllib.request
urllib.request.urlopen(urllib.request.Request(sys.argv[2], method=sys.argv[1], data=open(sys.argv[3], "rb").read()), timeout=30)' \
        "$1" "http://127.0.0.1:$(cat api-port)$2" "${3:-/dev/null}"
}
counted() # LINE: /metrics has it
{
    ask /metrics | grep -qxF "$1"
}
MPIJOBS=/apis/kubeflow.org/v2beta1/namespaces/a/mpijobs
send POST $MPIJOBS job.json
ok "a job is counted" wait_until 20 counted 'mpi_operator_jobs_created_total 1'
ok "its launcher is named" counted 'mpi_operator_job_info{launcher="pi-launcher",namespace="a"} 1'
ok "there is one" counted 'muster_operator_jobs 1'
send DELETE $MPIJOBS/pi
ok "one that is deleted, too" wait_until 20 counted 'muster_operator_jobs_deleted_total{kind="mpijobs.kubeflow.org",job_namespace="a"} 1'
ok "it is no longer there" counted 'muster_operator_jobs 0'
ok "and not named any more" sh -c "! grep -q '^mpi_operator_job_info{' answer"

kill "$operator" "$api"
wait "$operator"
wait "$api" 2>/dev/null
done_testing
