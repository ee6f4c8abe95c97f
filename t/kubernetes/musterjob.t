#!/bin/sh
# musterjob.t - MusterJobs on a real cluster, from `muster submit` to their end: ranks, MPI between pods, an operator that is
# killed, code that comes along.
#
# The operator serves this script's namespace only, with the rights of deploy/base/rbac.yaml there.
#
# about: src/operator src/engine/kubernetes src/shim src/cli/submit deploy/base src/dialect/muster
# shellcheck disable=SC2016 # shells in pods expand
. "${0%/*}/lib.sh"
need_cluster
LIMIT=300
ADMIN_CONFIG=$KUBECONFIG

python3 "$TOP/t/lib/deploy.py" role "$TOP/deploy/base/rbac.yaml" >role.yaml
kubectl apply --server-side -f "$TOP/deploy/base/crds-muster.yaml" >crd.log 2>&1
is $? 0 "an API server takes the CRD"
like "$(kubectl get crd musterjobs.muster.internal -o 'jsonpath={.status.conditions[?(@.type=="NonStructuralSchema")].message}')" '^$' \
    "its schema is structural"
OPERATOR=${MUSTER%/*}/muster-operator
RIGHTS=$(tester role.yaml)

begin() # an operator; $operator is its pid
{
    KUBECONFIG=$RIGHTS "$OPERATOR" --namespace "$NS" --lock-namespace "$NS" 2>>operator.log &
    operator=$!
}

phase_of() # JOB
{
    kube get musterjob "$1" -o 'jsonpath={.status.phase}'
}

is_phase() # JOB PHASE
{
    [ "$(phase_of "$1")" = "$2" ]
}

has_ended()
{
    phase_of "$1" | grep -qE '^(Succeeded|Failed|Invalid)$'
}

status() # JOB JSONPATH
{
    kube get musterjob "$1" -o "jsonpath={.status.$2}"
}

# Who submits has the rights of doc/kubernetes-submit-role.yaml.
kube create serviceaccount submitter >/dev/null
kube apply -f "$TOP/doc/kubernetes-submit-role.yaml" >/dev/null
kube create rolebinding submitter --role=muster-submit --serviceaccount="$NS:submitter" >/dev/null
kubectl config view --raw --minify --flatten >submitter.yaml
kubectl --kubeconfig submitter.yaml config set-credentials submitter --token="$(kube create token submitter)" >/dev/null
kubectl --kubeconfig submitter.yaml config set-context --current --user=submitter --namespace="$NS" >/dev/null

submit() # OPTION… FILE: the id
{
    KUBECONFIG=submitter.yaml timeout -k 5 "$LIMIT" "$MUSTER" submit --on kubernetes --namespace "$NS" "$@" 2>submit.err </dev/null
}

verb() # VERB ARG…
{
    name=$1
    shift
    KUBECONFIG=submitter.yaml timeout -k 5 "$LIMIT" "$MUSTER" "$name" --on kubernetes "$@" 2>verb.err </dev/null
}

logs() # JOB: of all its pods
{
    kube logs -l "muster.internal/run" --tail=-1 --prefix 2>/dev/null | grep "/$1-"
}

begin

# --- ranks, and an operator that is killed while they run ---
cat >ranks.yaml <<'EOF'
apiVersion: muster/v1
name: ranks
roles:
  worker:
    replicas: 3
    slots: 2
    image: local.test/busybox:1
    command: 'echo begin $RANK of $WORLD_SIZE; sleep 8; echo end $RANK'
EOF
id=$(submit ranks.yaml)
like "$id" '^ranks-[a-z0-9]{5}$' "submit prints the id"
ok "it runs" wait_until 120 is_phase "$id" Running
kill -9 "$operator"
begin
ok "it ends under another operator" wait_until 180 has_ended "$id"
is "$(phase_of "$id"): $(status "$id" verdict)" "Succeeded: succeeded: 6 ranks on 3 workers exited with status 0" "well"
is "$(logs "$id" | grep -c begin) $(logs "$id" | grep -c ' end ')" "6 6" "every rank ran once"
like "$(kube get musterjobs "$id")" 'PHASE +WAITING +VERDICT +AGE' "kubectl shows the columns"
like "$(kube get musterjobs "$id")" "Succeeded .*6 ranks" "and what they say"

# --- a rank that fails ---
sed 's/name: ranks/name: bad/; s/sleep 8; echo end $RANK/[ $RANK != 3 ] || { echo bad news; exit 7; }; sleep 100/' ranks.yaml >bad.yaml
id=$(submit --wait bad.yaml)
is $? 1 "submit --wait of a job that fails ends with 1"
is "$(status "$id" cause.replica) $(status "$id" cause.rank) $(status "$id" cause.exitCode)" "worker-1 3 7" "the first failure is in the status"
like "$(status "$id" 'conditions[?(@.type=="Failed")].message')" 'bad news' "and the last lines of its pod"
like "$(kube get events)" "Warning +Failed +musterjob/$id +failed: rank 3 on worker-1" "and an event"

# --- the verbs of those who submit ---
is "$(verb list -q | grep -cx "$id")" 1 "list has the job"
like "$(verb list -s failed)" "^$id .* failed " "with its state"
like "$(verb show "$id")" "^$id: failed: rank 3 on worker-1 exited with status 7" "show has the verdict"
verb wait "$id"
is $? 7 "wait ends with the exit code of the job"
is "$(verb logs "$id" worker-1 | grep -c 'bad news')" 1 "logs has the last lines of the pod"
sed 's/name: ranks/name: long/; s/sleep 8/sleep 20/' ranks.yaml >long.yaml
long=$(submit long.yaml)
verb logs -f "$long" >followed &
follower=$!
ok "a long job runs" wait_until 120 is_phase "$long" Running
verb delete "$long"
is $? 1 "delete refuses a job that runs"
verb pause "$long" >/dev/null
ok "pause pauses it" wait_until 120 is_phase "$long" Paused
verb resume "$long" >/dev/null
ok "resume lets it run again" wait_until 120 is_phase "$long" Running
verb wait "$long"
is $? 0 "wait waits for its end"
wait "$follower"
is "$? $(grep -c end followed)" "0 6" "logs -f ends with the job, and has all of it"
verb delete "$long" >/dev/null
is $? 0 "delete removes it"
long=$(submit long.yaml)
ok "another one runs" wait_until 120 is_phase "$long" Running
verb cancel "$long" >/dev/null
is $? 0 "cancel stops it"
cancelled() { ! kube get pods --no-headers 2>/dev/null | grep -q "^$long-"; }
ok "and its pods end" wait_until 90 cancelled

# --- what waits ---
sed 's/name: ranks/name: large/; s/slots: 2/slots: 2\n    resources: {cpu: "1000"}/' ranks.yaml >large.yaml
id=$(submit large.yaml)
waits() { status "$id" waiting | grep -q 'Insufficient cpu'; }
ok "a job that no node takes says why" wait_until 60 waits
is "$(phase_of "$id")" Pending "and waits"
kube delete musterjob "$id" >/dev/null
gone() { ! kube get pods --no-headers 2>/dev/null | grep -q "^$id-"; }
ok "deleting the job deletes its pods" wait_until 60 gone

# --- MPI: mpirun reaches the other pods ---
cat >mpi.yaml <<'EOF'
apiVersion: muster/v1
name: mpi
framework: mpi
roles:
  worker:
    replicas: 2
    slots: 2
    image: local.test/openmpi:4
    command: [sh, -c, 'echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE']
EOF
id=$(submit mpi.yaml)
ok "an MPI job ends" wait_until 240 has_ended "$id"
is "$(phase_of "$id")" Succeeded "well"
like "$(status "$id" verdict)" '4 ranks' "its ranks are counted"
is "$(kube logs "$(kube get pods -o name | grep "$id.*launcher")" | grep -c '^rank [0-3] of 4')" 4 "the launcher's log has what they wrote"
sed 's/name: mpi/name: mpi-long/; s/echo rank/sleep 15; echo rank/' mpi.yaml >long.yaml
id=$(submit long.yaml)
four() { status "$id" roles.worker | grep -q '"running":2' && is_phase "$id" Running; }
ok "another one runs" wait_until 120 four
sleep 3
kill -9 "$operator"
begin
ok "it ends under another operator" wait_until 180 has_ended "$id"
is "$(phase_of "$id"): $(status "$id" verdict)" "Succeeded: succeeded: 4 ranks on 2 workers exited with status 0" "with all its ranks"
sed -i 's/name: mpi/name: mpi-bad/; s/echo rank/[ $OMPI_COMM_WORLD_RANK != 2 ] || exit 9; echo rank/' mpi.yaml
id=$(submit --wait mpi.yaml)
is "$(status "$id" cause.rank) $(status "$id" cause.exitCode)" "2 9" "a rank that fails is the cause"

# --- OpenPAI, with code ---
mkdir pai
echo 'echo $PAI_TASK_INDEX of $PAI_JOB_NAME; touch here' >pai/go.sh
cat >pai/job.yaml <<'EOF'
protocolVersion: 2
name: pai
type: job
prerequisites: [{name: img, type: dockerimage, uri: "local.test/debian:12"}]
taskRoles:
  worker: {instances: 2, dockerImage: img, resourcePerInstance: {cpu: 1, memoryMB: 64, gpu: 0}, commands: [bash go.sh]}
EOF
id=$(submit --code pai pai/job.yaml)
ok "an OpenPAI job ends" wait_until 120 has_ended "$id"
is "$(phase_of "$id")" Succeeded "well"

kill "$operator"
wait "$operator"
is $? 0 "the operator ends when it is told to"
is "$(refused)" "" "the operator's rights are enough"
KUBECONFIG=$ADMIN_CONFIG
done_testing
