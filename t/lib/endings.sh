# shellcheck shell=sh disable=SC2034,SC2154 # some variables are the scripts', others a row's
# endings.sh - what stages rows of endings.tsv, wherever their jobs run; after lib.sh.
#
#   in_shares N SCRIPT      N copies of this script take the rows from one queue, each in a place of its own, because
#                           most of a row is waiting; returns in each of them. The first process prints what they say
#   each_row ENGINE COMMAND runs it for every row of that engine that no other share has taken. ENDINGS="name name":
#                           only for those. The row is in $name, $engines, $words, $mpi, $command, …
#   stage_files             what the rows' commands need, made in the current directory, but for ./fault
#   row_options             reads $words: $options are those of run, $form, $limit, $mpi_dir and others for the stage
#   row_job                 writes job.yaml
#   row_report              tests: $rc and the report are the row's; sets $got_id. Fails if there is no report to look at
#   shapes                  of all reports: has_shape for each
#   json_list WORD…         as a JSON list
#
# The script says where directories with an mpiHome are: $homes.

in_shares()
{
    [ -z "${ENDINGS_QUEUE:-}" ] || return 0
    mkdir "$WORK/queue"
    for i in $(seq "$1"); do
        ENDINGS_QUEUE=$WORK/queue "$2" >"$WORK/share.$i" 2>&1 &
    done
    wait
    cat "$WORK"/share.* | awk '/^(not )?ok [0-9]+/ { sub(/[0-9]+/, ++n) } !/^1\.\./'
    tests=$(cat "$WORK"/share.* | grep -Ec '^(not )?ok [0-9]+')
    is "$(cat "$WORK"/share.* | grep -c '^1\.\.')" "$1" "every share came to its end"
    done_testing
    exit 0
}

each_row() # ENGINE COMMAND
{
    tab=$(printf '\t')
    while IFS=$tab read -r name engines words mpi command send exit outcome replica rank kind sentence; do
        case $name in
        '#'* | name) continue ;;
        esac
        case $words in
        needs=*) continue ;; # t/frameworks/endings.t's
        esac
        case ",$engines," in
        *",$1,"*) ;;
        *) continue ;;
        esac
        case " ${ENDINGS:-$name} " in
        *" $name "*) mkdir "$ENDINGS_QUEUE/$name" 2>/dev/null && $2 </dev/null ;;
        esac
    done <"$TOP/t/endings.tsv"
}

# --- files of the stage --------------------------------------------------------------------------

stage_files()
{
    mkdir -p lying/bin mpich/bin
    echo text >plain-file
    cp "$TOP/t/lib/early_leaver.py" .
    cat >lying/bin/mpirun <<'SH'
#!/bin/sh
mpirun.openmpi "$@"
exit 0
SH
    # In pods each sees its own processes only: an rsh agent asks the others.
    cat >ranks <<'SH'
#!/bin/sh
# ranks: those of this run that are seen here. At level none there are others' processes, too.
for p in /proc/[0-9]*; do
    case $(cat "$p/comm" 2>/dev/null) in fault*) ;; *) continue ;; esac
    tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -qx "MUSTER_RUN_ID=$MUSTER_RUN_ID" && echo "$p"
done
SH
    cat >up <<'SH'
#!/bin/sh
# up: waits for four ranks of this run
hosts=
[ ! -d /muster/run ] || hosts=$(sed 's/[ :].*//' /etc/mpi/hostfile)
all()
{
    ./ranks
    for h in $hosts; do ssh "$h" "cd '$PWD' && ./ranks"; done
}
until [ "$(all | wc -l)" -ge 4 ]; do sleep 0.1; done
SH
    cat >hit <<'SH'
#!/bin/sh
# hit NAME SIGNAL [INDEX]: waits for four ranks and signals this run's processes called NAME, or those of
# the replica with that index
./up
sleep 0.5
if [ -d /muster/run ] && [ -n "${3:-}" ]; then
    exec ssh "$(sed -n "$(($3 + 1))s/[ :].*//p" /etc/mpi/hostfile)" "cd '$PWD' && ./hit-here $1 $2"
fi
exec ./hit-here "$@"
SH
    cat >hit-here <<'SH'
#!/bin/sh
for p in /proc/[0-9]*; do
    [ "$(cat "$p/comm" 2>/dev/null)" = "$1" ] || continue
    tr '\0' '\n' <"$p/environ" | grep -qx "MUSTER_RUN_ID=$MUSTER_RUN_ID" || continue
    [ -z "${3:-}" ] || tr '\0' '\n' <"$p/environ" | grep -qx "MUSTER_INDEX=$3" || continue
    kill "-$2" "${p#/proc/}"
done
SH
    printf '#!/bin/sh\nmpiexec.hydra "$@" || true\n' >hydra.sh
    mkdir dying # Open MPI's daemon, killed before it has answered, but on worker-0
    cat >dying/orted <<'SH'
#!/bin/sh
[ "$MUSTER_INDEX" = 0 ] || kill -KILL $$
exec orted "$@"
SH
    chmod +x lying/bin/mpirun ranks up hit hit-here hydra.sh dying/orted
}

# --- job files -----------------------------------------------------------------------------------

json_list() # WORDS… as a JSON list; there are no control characters in them
{
    comma='['
    for word; do
        printf '%s"%s"' "$comma" "$(printf '%s' "$word" | sed 's/["\\]/\\&/g')"
        comma=', '
    done
    echo ']'
}

write_job() # COMMAND: a T9k file of two workers and four ranks
{
    workers=2 slots=2 args='"--allow-run-as-root", "--oversubscribe", "-bind-to", "none"'
    case $home in mpich) args='"-bind-to", "none"' ;; esac
    case $mpi in *recovery*) args="$args, \"--enable-recovery\", \"--max-restarts\", \"100\"" ;; esac
    case $mpi in *one*) workers=1 slots=4 ;; esac
    cat <<YAML
apiVersion: batch.tensorstack.dev/v1beta1
kind: MPIJob
metadata:
  name: ending
spec:
  worker:
    replicas: $workers
    extraMPIArgs: ["-N", "$slots", $args]
    cmd: $(eval "json_list $1")
    template:
      spec:
        containers:
          - name: mpi-worker
            image: none
YAML
    [ -z "$limit" ] || echo "            resources: {limits: {memory: $limit}}"
    [ -z "$home" ] || echo "  mpiHome: $homes/$home"
}

write_gang() # COMMAND: an OpenPAI file of four workers, with the counts of the column mpi
{
    cat <<YAML
protocolVersion: 2
name: ending
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: none}
${retry:+jobRetryCount: $retry}
taskRoles:
  worker:
    instances: 4
    completion: {minFailedInstances: ${mpi%/*}, minSucceededInstances: ${mpi#*/}}
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 512, gpu: 0}
    commands: $(json_list "$1")
YAML
}

write_tasks() # COMMAND: the same without a gang: each task is tried again for itself
{
    write_gang "$1" | sed '/^jobRetryCount/d'
    printf '    taskRetryCount: %s\nextras: {gangAllocation: false}\n' "$retry"
}

write_pai1() # COMMAND: a v1 file of OpenPAI: the master runs it, the worker sleeps
{
    role='"taskNumber": 1, "minFailedTaskCount": 1, "minSucceededTaskCount": 1'
    master=$(json_list "$1" | sed 's/^\[//; s/]$//')
    cat <<JSON
{"jobName": "ending", "image": "none", "taskRoles": [
  {"name": "master", $role, "command": $master},
  {"name": "worker", $role, "command": "sleep infinity"}]}
JSON
}

write_azure() # COMMAND: a PytorchJob of Azure ML's preview, four nodes
{
    cat <<YAML
name: ending
type: PytorchJob
worker:
  spec:
    command: $(json_list "$1" | sed 's/^\[//; s/]$//')
    code: {path: .}
    environment: azureml:none:1
compute: {type: AmlCompute, target: here, instance_count: 4}
YAML
}

write_kubeflow() # COMMAND: an MPIJob of Kubeflow's first version, with a launcher that is a shell
{
    cat <<YAML
apiVersion: kubeflow.org/v1alpha1
kind: MPIJob
metadata: {name: ending}
spec:
  replicas: 2
  ${deadline:+activeDeadlineSeconds: $deadline}
  ${backoff:+backoffLimit: $backoff}
  template: {spec: {containers: [{name: c, image: none, command: [sh, -c, $(json_list "$1" | tr -d '[]')]}]}}
YAML
}

write_native() # COMMAND: a file of Muster's own form, with the counts of the column mpi
{
    cat <<YAML
apiVersion: muster/v1
name: ending
${retry:+retries: $retry}
${deadline:+deadline: ${deadline}s}
roles:
  worker:
    replicas: 2
    slots: 2
    command: $(json_list "$1" | sed 's/^.//; s/.$//')
YAML
    [ -z "$backoff" ] || echo "    restart: {policy: on-failure, limit: $backoff}"
    [ "$mpi" = - ] || printf '    failsAfter: %s\n    succeedsAfter: %s\n' "${mpi%/*}" "${mpi#*/}"
}

write_torch() # COMMAND: a PyTorchJob of a master and two workers
{
    pod="restartPolicy: $policy, template: {spec: {containers: [{name: pytorch, image: none, command: [sh, -c, $(json_list "$1" | sed 's/^.//; s/.$//')]}]}}"
    cat <<YAML
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: ending}
spec:
  runPolicy: {${backoff:+backoffLimit: $backoff}}
  pytorchReplicaSpecs: {Master: {$pod}, Worker: {replicas: 2, $pod}}
YAML
}

write_tf() # COMMAND: a TFJob of a parameter server and two workers
{
    write_torch "$1" | sed 's/PyTorchJob/TFJob/; s/pytorchReplicaSpecs: {Master/tfReplicaSpecs: {PS/; s/name: pytorch/name: tensorflow/g'
}

write_azureml() # COMMAND: an Azure ML file of two nodes, distributed as the column mpi says
{
    case $mpi in
    tensorflow) counts='worker_count: 2, parameter_server_count: 2' ;;
    *) counts='process_count_per_instance: 2' ;;
    esac
    cat <<YAML
command: $(json_list "$1" | sed 's/^.//; s/.$//')
environment: {image: none}
resources: {instance_count: 2}
distribution: {type: $mpi, $counts}
${deadline:+limits: {timeout: $deadline\}}
YAML
}

write_mpijob() # COMMAND: an MPIJob of a later version, likewise
{
    pod='template: {spec: {containers: [{name: c, image: none'
    cat <<YAML
apiVersion: kubeflow.org/$version
kind: MPIJob
metadata: {name: ending}
spec:
  slotsPerWorker: 2
  runPolicy: {${deadline:+activeDeadlineSeconds: $deadline, }${backoff:+backoffLimit: $backoff}}
  mpiReplicaSpecs:
    Launcher: {restartPolicy: OnFailure, $pod, command: [sh, -c, $(json_list "$1" | tr -d '[]')]${limit:+, resources: {limits: {memory: $limit\}\}}}]}}}
    Worker: {replicas: 2, $pod}]}}}
YAML
}

row_options()
{
    limit='' fault='' home='' form='' retry='' deadline='' backoff='' policy=Never version='' options='' mpi_dir=openmpi
    for word in $words; do
        case $word in
        limit=*) limit=${word#*=} ;;
        fault=*) fault=${word#*=} ;;
        home=*) home=${word#*=} ;;
        mpi=*) mpi_dir=${word#*=} ;;
        retry=*) retry=${word#*=} ;;
        deadline=*) deadline=${word#*=} ;;
        backoff=*) backoff=${word#*=} ;;
        policy=*) policy=${word#*=} ;;
        version=*) version=${word#*=} form=mpijob ;;
        form=* | file=*) form=${word#*=} ;;
        -) ;;
        *) options="$options $word" ;;
        esac
    done
    [ "$home" != mpich ] || mpi_dir=mpich
}

row_job()
{
    case $form in
    bad) printf 'apiVersion: batch.tensorstack.dev/v1beta1\nkind: MPIJob\nspec: {worker: 3}\n' >job.yaml ;;
    missing) options=" $WORK/missing.yaml #" ;;
    shell) ;;
    gang) write_gang "$command" >job.yaml ;;
    tasks) write_tasks "$command" >job.yaml ;;
    pai1) write_pai1 "$command" >job.yaml ;;
    azure) write_azure "$command" >job.yaml ;;
    kubeflow) write_kubeflow "$command" >job.yaml ;;
    native) write_native "$command" >job.yaml ;;
    torch) write_torch "$command" >job.yaml ;;
    tf) write_tf "$command" >job.yaml ;;
    azureml) write_azureml "$command" >job.yaml ;;
    mpijob) write_mpijob "$command" >job.yaml ;;
    *) write_job "$command" >job.yaml ;;
    esac
}

# --- what came of it -----------------------------------------------------------------------------

facts() # the report's values that are compared, one per line
{
    python3 - "$REPORT" <<'PYTHON'
import json, sys
try:
    report = json.load(open(sys.argv[1]))
except (OSError, ValueError) as e:
    report = {'outcome': f'no report: {e}'}
cause = report.get('cause') or {}
for v in (report.get('outcome'), report.get('exit_code'), report.get('verdict'),
          report.get('job', {}).get('run_id'), cause.get('replica'), cause.get('rank'), cause.get('kind')):
    print(v if isinstance(v, str) else json.dumps(v))
PYTHON
}

row_report()
{
    is "$rc" "$exit" "$name: exit code" || diag "$(tail -n 5 "$err")"
    if [ "$outcome" = - ]; then
        ok "$name: no report" test ! -e "$REPORT"
        like "$(cat "$err")" "$sentence" "$name: the reason"
        return 1
    fi
    facts >values
    {
        read -r got_outcome
        read -r got_exit
        read -r got_verdict
        read -r got_id
        read -r got_replica
        read -r got_rank
        read -r got_kind
    } <values
    is "$got_outcome" "$outcome" "$name: outcome"
    is "$got_exit" "$exit" "$name: exit code in the report"
    like "$got_verdict" "$sentence" "$name: verdict"
    is_cause "$got_replica" "$got_rank" "$got_kind"
    mkdir -p reports
    cp "$REPORT" "reports/$name.json"
}

shapes() # of all reports, by one validator
{
    "$schema_python" - "$TOP/doc/schema/report.json" <<'PYTHON'
import glob, json, sys
from jsonschema import Draft7Validator
validator = Draft7Validator(json.load(open(sys.argv[1])))
wrong = {f: [e.message for e in validator.iter_errors(json.load(open(f)))] for f in glob.glob('reports/*')}
wrong = {f: v for f, v in wrong.items() if v}
print(wrong)
sys.exit(bool(wrong))
PYTHON
}
