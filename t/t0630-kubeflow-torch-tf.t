#!/bin/sh
# PyTorchJobs and TFJobs of Kubeflow, in each of their forms, run here: programs find all their peers by
# the variables their operator sets, and talk to each of them, where explain said they would be.
#
# torchrun is a stand-in that reads PET_* and meets at the rendezvous as the real one does.
. "${0%/*}/lib.sh"

EXAMPLES=$TOP/examples/kubeflow
export PATH="$TOP/t/standins:$PATH" PYTHONPATH="$TOP/t/standins/python" PYTHONDONTWRITEBYTECODE=1
cp "$EXAMPLES/meet.py" "$WORK"

# --- everyone meets everyone ---------------------------------------------------------------------

pod() # CONTAINER COMMAND…: a replica spec's template
{
    name=$1
    shift
    echo "template: {spec: {containers: [{name: $name, image: none, command: [$*]}]}}"
}

torch() # VERSION SPEC: a PyTorchJob; Master and Worker stand for its replicas
{
    printf 'apiVersion: kubeflow.org/%s\nkind: PyTorchJob\nmetadata: {name: j, namespace: team}\nspec:\n%s\n' "$1" "$2"
}

tf() # VERSION SPEC
{
    printf 'apiVersion: kubeflow.org/%s\nkind: TFJob\nmetadata: {name: j, namespace: team}\nspec:\n%s\n' "$1" "$2"
}

meet=$(pod pytorch python3, meet.py) run=$(pod pytorch torchrun, meet.py) task=$(pod tensorflow python3, meet.py)
torch v1 "  nprocPerNode: '2'
  pytorchReplicaSpecs: {Master: {$run}, Worker: {replicas: 2, $run}}" >"$WORK/nproc.yaml"
torch v1 "  elasticPolicy: {minReplicas: 1, maxReplicas: 3, rdzvBackend: c10d}
  nprocPerNode: '2'
  pytorchReplicaSpecs: {Worker: {replicas: 3, $run}}" >"$WORK/elastic.yaml"
torch v1beta1 "  cleanPodPolicy: None
  pytorchReplicaSpecs: {Worker: {replicas: 2, $meet}, Master: {$meet}}" >"$WORK/old.yaml"
tf v1beta2 "  cleanPodPolicy: Running
  tfReplicaSpecs: {Ps: {replicas: 2, $task}, Worker: {replicas: 3, $task}}" >"$WORK/tf-old.yaml"
tf v1 "  successPolicy: AllWorkers
  tfReplicaSpecs: {worker: {replicas: 3, $task}}" >"$WORK/tf-all.yaml"
tf v1 "  tfReplicaSpecs: {Worker: {$task}}" >"$WORK/tf-one.yaml"

# Runs FILE and compares what its programs say with what explain said before.
try() # LEVEL FILE RANKS REPLICAS
{
    name="${2##*/}, $1"
    "$MUSTER" explain -o json --isolate "$1" "$2" >"$WORK/explain.json" 2>"$err"
    run_job --isolate "$1" "$2"
    is "$rc" 0 "$name: ends with 0" || diag "$(tail -n 20 "$err")"
    is "$(python3 "$TOP/t/lib/check_peers.py" "$WORK/explain.json" "$out" "$1" 2>&1)" "$3 on $4" \
        "$name: everyone met everyone, where explain said" || diag "$(tail -n 20 "$err")"
}

for level in names network none; do
    try $level "$EXAMPLES/pytorch.yaml" 4 4
    try $level "$EXAMPLES/tf.yaml" 4 4
done
try names "$WORK/nproc.yaml" 6 3
try names "$WORK/elastic.yaml" 6 3
try network "$WORK/elastic.yaml" 6 3
try names "$WORK/old.yaml" 3 3
try names "$WORK/tf-old.yaml" 5 5
try names "$WORK/tf-all.yaml" 3 3
try names "$WORK/tf-one.yaml" 1 1

"$MUSTER" explain -o json --isolate network "$EXAMPLES/tf.yaml" >"$WORK/explain.json" 2>"$err"
like "$(json jobs.0.processes.0.env.TF_CONFIG "$WORK/explain.json")" 'tf-example-ps-0.default.svc:2222' \
    "replicas with a network of their own have the operator's port"
"$MUSTER" explain -o json --isolate network "$EXAMPLES/pytorch.yaml" >"$WORK/explain.json" 2>"$err"
is "$(json jobs.0.processes.3.env.MASTER_ADDR "$WORK/explain.json"):$(json jobs.0.processes.3.env.MASTER_PORT "$WORK/explain.json")" \
    pytorch-example-master-0:23456 "the master has its, too"

# --- names ---------------------------------------------------------------------------------------

tf v1 "  tfReplicaSpecs:
    Worker: {replicas: 2, $(pod tensorflow getent, hosts, j-worker-1, j-worker-1.team, j-worker-1.team.svc, j-worker-1.team.svc.cluster.local)}
  successPolicy: AllWorkers" >"$WORK/names.yaml"
run_job "$WORK/names.yaml"
is "$rc $(grep -c '^\[worker-0\] 127\.' "$out")" "0 4" "a replica answers to all names of its Service"

# --- dynamic workers -----------------------------------------------------------------------------

cat >"$WORK/dynamic.py" <<'PY'
import json, os, sys
config = json.loads(os.environ["TF_CONFIG"])
cluster, task = config["cluster"], config["task"]
mine = {str(task["index"])} if task["type"] == "worker" else set()
servers = 2 if task["type"] == "worker" else 1
sys.exit(set(cluster["worker"]) != mine or len(cluster["ps"]) != servers or "environment" in config)
PY
dynamic=$(pod tensorflow python3, dynamic.py)
tf v1 "  enableDynamicWorker: true
  successPolicy: AllWorkers
  tfReplicaSpecs: {PS: {replicas: 2, $dynamic}, Worker: {replicas: 2, $dynamic}}" >"$WORK/dynamic.yaml"
run_job "$WORK/dynamic.yaml"
is "$rc" 0 "a dynamic worker is told of itself and the parameter servers"

# --- who decides ---------------------------------------------------------------------------------

by_role() # ROLE CODE …: a command that ends with CODE in that role, and else never
{
    echo "sh, -c, 'case \$MUSTER_ROLE-\$MUSTER_INDEX in $* *) exec sleep 60 ;; esac'"
}

ends() # WANT NAME FILE: "code outcome"
{
    run_job --grace 1s "$3"
    is "$rc $(report outcome)" "$1" "$2" || diag "$(tail -n 20 "$err")"
}

late=$(pod pytorch "$(by_role 'master-0) exit 0 ;; worker-0) sleep 0.5; echo late ;;')")
torch v1 "  pytorchReplicaSpecs: {Master: {$late}, Worker: {replicas: 2, $late}}" >"$WORK/ends.yaml"
ends "0 succeeded" "the master's end is the job's" "$WORK/ends.yaml"
like "$(cat "$out")" '^\[worker-0\] late$' "a worker that ends a little later is left alone"
is "$(report attempts.0.replicas.1.outcome) $(report attempts.0.replicas.2.outcome)" "succeeded stopped" \
    "one that does not is stopped"

never=$(pod pytorch "$(by_role 'worker-1) exit 3 ;;')")
torch v1 "  pytorchReplicaSpecs: {Master: {$never}, Worker: {replicas: 2, restartPolicy: Never, $never}}" >"$WORK/ends.yaml"
ends "3 failed" "a worker's failure is the job's" "$WORK/ends.yaml"
is "$(report cause.replica)" worker-1 "it is named"

one=$(pod tensorflow "$(by_role 'worker-0) exit 0 ;;')")
tf v1 "  tfReplicaSpecs: {PS: {$one}, Worker: {replicas: 2, $one}}" >"$WORK/ends.yaml"
ends "0 succeeded" "without a chief worker 0 decides" "$WORK/ends.yaml"
ps=$(pod tensorflow "$(by_role 'ps-0) exit 5 ;;')")
tf v1 "  tfReplicaSpecs: {PS: {$ps}, Worker: {replicas: 2, $ps}}" >"$WORK/ends.yaml"
ends "5 failed" "a parameter server's failure is the job's" "$WORK/ends.yaml"

# --- restarts ------------------------------------------------------------------------------------

twice="sh, -c, 'test -e \$MUSTER_RUN_DIR/seen || { touch \$MUSTER_RUN_DIR/seen; exit 130; }'"
tf v1 "  runPolicy: {backoffLimit: 1}
  tfReplicaSpecs: {Worker: {restartPolicy: ExitCode, $(pod tensorflow "$twice")}}" >"$WORK/again.yaml"
ends "0 succeeded" "ExitCode: 128 and above is tried again" "$WORK/again.yaml"
tf v1 "  runPolicy: {backoffLimit: 1}
  tfReplicaSpecs: {Worker: {restartPolicy: ExitCode, $(pod tensorflow "'false'")}}" >"$WORK/again.yaml"
ends "1 failed" "ExitCode: less is not" "$WORK/again.yaml"
is "$(report attempts.0.replicas.0.restarts)" 0 "not once"
torch v1 "  runPolicy: {backoffLimit: 1}
  pytorchReplicaSpecs: {Master: {$(pod pytorch "'false'")}}" >"$WORK/again.yaml"
ends "1 failed" "a backoffLimit is kept" "$WORK/again.yaml"
is "$(report attempts.0.replicas.0.restarts)" 1 "so often it was started again"

# --- what is refused, and what waits -------------------------------------------------------------

torch v1 "  pytorchReplicaSpecs: {Master: {template: {spec: {containers: [{name: pytorch, image: some/image, args: [x]}]}}}}" >"$WORK/image.yaml"
run_job "$WORK/image.yaml"
is "$rc" 125 "a container without a command is refused"
like "$(cat "$err")" "some/image.*--entrypoint exec" "its image and the option are named"
run_job --entrypoint 'echo y' "$WORK/image.yaml"
is "$rc $(cat "$out")" "0 [master-0] y x" "with an entry point it runs"

torch v1 "  runPolicy: {suspend: true}
  pytorchReplicaSpecs: {Master: {$(pod pytorch echo, up)}}" >"$WORK/suspend.yaml"
: >"$err"
timeout -k 5 60 "$MUSTER" run --report "$REPORT" "$WORK/suspend.yaml" >"$out" 2>"$err" </dev/null &
waiter=$!
ok "a suspended job starts paused" wait_until 30 grep -q 'starts paused' "$err"
is "$(cat "$out")" "" "nothing of it runs"
# The note comes before the run can be asked.
wait_until 30 "$MUSTER" resume j
wait $waiter
is "$? $(cat "$out")" "0 [master-0] up" "and goes on when it is resumed"

run_muster sim "$EXAMPLES/tf.yaml"
like "$(cat "$out")" '^stopped because of it: ps-0$' "in a simulation, too, only a parameter server stays"
done_testing
