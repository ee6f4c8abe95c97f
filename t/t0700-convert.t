#!/bin/sh
# muster convert: every accepted file to every target. What gets lost is in t/convert-losses.tsv, and every
# row there is needed; a document written in its own dialect is the same, but for what was changed.
#
# The examples of this tree are always converted; those of MUSTER_CORPUS where there are any. Rows that
# only these need are then checked too.
. "${0%/*}/lib.sh"

same=$PROGRAMS/libprog/same_document table=$TOP/t/convert-losses.tsv
tab=$(printf '\t')

# --- everything to everything ---------------------------------------------------------------------

ok "files are converted" python3 "$TOP/t/convert.py" "$MUSTER" "$same" "$table" "$TOP/examples" \
    ${MUSTER_CORPUS:+"$MUSTER_CORPUS"}
cp "$WORK/ok" "$WORK/rows"
while IFS=$tab read -r result what why; do
    case $result in
    fine | wrong) is "$result${why:+: $why}" fine "$what" ;;
    unused) [ -z "${MUSTER_CORPUS:-}" ] || is "$what" "" "every row of the table is needed" ;;
    counts) diag "$what" ;;
    esac
done <"$WORK/rows"
[ -n "${MUSTER_CORPUS:-}" ] || skip "MUSTER_CORPUS is not set: rows of the table that only it needs are not checked"
like "$(cat "$WORK/rows")" '^counts' "to the end"

# --- the verb -------------------------------------------------------------------------------------

t9k=$TOP/examples/mpi-example.yaml
run_muster convert --to mpijob "$t9k"
is "$rc" 0 "a conversion with a loss succeeds"
is "$(cat "$err")" "lost: mpi.sshd: /usr/sbin/sshd is omitted" "and tells it"
like "$(cat "$out")" '^kind: MPIJob' "on stdout is the document"
cp "$out" "$WORK/mpijob.yaml"
run_muster validate "$WORK/mpijob.yaml"
is "$rc" 0 "which is accepted"

run_muster convert --to kubeflow-mpi-v2beta1 -O "$WORK/again.yaml" "$t9k"
ok "by the dialect's id, into a file" cmp "$WORK/mpijob.yaml" "$WORK/again.yaml"

run_muster convert --strict --to mpijob -O "$WORK/strict.yaml" "$t9k"
is "$rc" 1 "--strict refuses a loss"
ok "and writes nothing" test ! -e "$WORK/strict.yaml" -a ! -s "$out"
run_muster convert --strict --to t9k "$t9k"
is "$rc" 0 "--strict takes a conversion without any"

run_muster convert --to tfjob "$t9k"
is "$rc" 1 "a job that has no meaning there is refused"
like "$(cat "$err")" 'mpi-example.yaml:4:9: error\[E0701\]' "with code and place"

sed 's/replicas: 5/replicas: 5 # as many as fit/' "$t9k" >"$WORK/commented.yaml"
run_muster convert --to t9k "$WORK/commented.yaml"
like "$(cat "$err")" '^note: comments of the file are not preserved$' "comments are said to be dropped"

run_muster convert --to t9k --set spec.worker.replicas=7 "$t9k"
"$same" "$t9k" "$out" >"$WORK/changes"
is "$(cat "$WORK/changes")" 0.spec.worker.replicas "--set comes first, and changes just that"
run_muster convert --to t9k --entrypoint worker=x "$t9k"
is "$rc" 2 "options that make no sense are refused"
run_muster convert --to nowhere "$t9k"
is "$rc" 2 "and targets that there are none"
run_muster convert --to t9k "$TOP/t/convert-losses.tsv"
is "$rc" 2 "and files that are no jobs"

# Several documents, and one that is no job.
{
    cat "$t9k"
    echo ---
    cat "$WORK/mpijob.yaml"
    printf -- '---\napiVersion: v1\nkind: Service\nmetadata: {name: x}\n'
} >"$WORK/three.yaml"
run_muster convert --to mpijob "$WORK/three.yaml"
is "$(grep -c '^kind: MPIJob$' "$out") $(grep -c '^kind: Service$' "$out") $(grep -c '^---$' "$out")" "2 1 2" \
    "jobs are converted one by one, other objects go with them"
run_muster convert --to muster "$WORK/three.yaml"
like "$(cat "$err")" '^lost: documents.Service:' "where they have no meaning, that is told"

# A secret of the file is not in what is written.
cat >"$WORK/secret.yaml" <<'END'
protocolVersion: 2
name: hush
type: job
secrets: {token: sesame-open}
prerequisites:
  - {protocolVersion: 2, name: image, type: dockerimage, uri: python:3}
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands: ["curl -H <% $secrets.token %>"]
END
run_muster convert --to muster "$WORK/secret.yaml"
is "$rc" 0 "a job with a secret is converted"
unlike "$(cat "$out" "$err")" sesame "without it"
like "$(cat "$err")" '^lost: roles.worker.command: it contains a secret' "which is told"

sed 's/^  worker:/  master:\n    instances: 2\n    dockerImage: image\n    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}\n    commands: [date]\n  worker:/' \
    "$WORK/secret.yaml" >"$WORK/masters.yaml"
run_muster convert --to pytorchjob "$WORK/masters.yaml"
is "$rc" 1 "what would be refused there is not written"
like "$(cat "$err")" 'error\[E0704\]: the result is not valid as kubeflow-pytorch' "and it is said why"

# What was converted runs as before.
run_muster convert --to muster "$TOP/examples/muster/hello.yaml"
cp "$out" "$WORK/hello.yaml"
run_job "$WORK/hello.yaml"
is "$rc" 0 "a converted job runs"

run_muster convert --to pytorchjob "$TOP/examples/muster/pytorch.yaml"
like "$(cat "$err")" '^lost: roles.worker.image: the job has none, .* use --image$' "an image that is missing is told"
run_muster convert --to pytorchjob --image python:3.11 "$TOP/examples/muster/pytorch.yaml"
is "$(grep -c 'image: python:3.11$' "$out") $(grep -c 'lost: .*image:' "$err")" "2 0" "--image gives one"
run_muster convert --to mpijob --image launcher=a:1 --image b:1 "$TOP/examples/muster/mpi.yaml"
is "$(grep -o 'image: .*' "$out" | tr '\n' ' ')" "image: a:1 image: b:1 " "by role, and for the others"
run_muster convert --to mpijob --image a:1 "$t9k"
is "$rc $(grep -c 'every role has an image' "$err")" "2 1" "where nobody needs one it is refused"

# A launcher of T9k only launches: a worker takes its ranks, so that there is room for all of them.
cat >"$WORK/hosts.yaml" <<'END'
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: hosts}
spec:
  slotsPerWorker: 2
  runLauncherAsWorker: true
  mpiReplicaSpecs:
    Launcher:
      template: {spec: {containers: [{name: l, image: i, command: [mpirun, -np, "6", hostname]}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: w, image: i}]}}
END
run_muster convert --to t9k -O "$WORK/hosts-t9k.yaml" "$WORK/hosts.yaml"
like "$(cat "$err")" '^lost: roles.launcher.hosts_ranks: .* 1 more worker$' "a launcher's ranks are moved"
run_muster validate "$WORK/hosts-t9k.yaml"
is "$(cat "$out" "$err")" "$WORK/hosts-t9k.yaml: accepted, t9k-mpi, launcher 1, worker 3 x 2 slots" "and nobody complains about -np"

# A PyTorchJob's replicas are one process each: torchrun starts the others, and all meet as before.
export PATH="$TOP/t/standins:$PATH" PYTHONPATH="$TOP/t/standins/python" PYTHONDONTWRITEBYTECODE=1
cp "$TOP/examples/kubeflow/meet.py" "$WORK"
torchrun() # FRAMEWORK COMMAND LINE: a job of 2 x 2 processes, and what its command becomes
{
    printf 'apiVersion: muster/v1\nname: j\nframework: %s\nroles: {worker: {replicas: 2, slots: 2, command: %s}}\n' \
        "$1" "$2" >"$WORK/slots.yaml"
    run_muster convert --to pytorchjob -O "$WORK/torchrun.yaml" "$WORK/slots.yaml"
    unlike "$(cat "$err")" 'slots\|variables' "$2: no process is lost"
    run_muster explain -o json "$WORK/torchrun.yaml"
    is "$(json jobs.0.processes.1.argv "$out")" "$3" "$2: torchrun is put before it"
    cp "$out" "$WORK/explain.json"
    run_job "$WORK/torchrun.yaml"
    is "$(python3 "$TOP/t/lib/check_peers.py" "$WORK/explain.json" "$out" names 2>&1)" "4 on 2" "$2: all of them meet"
}
torchrun pytorch '[python3, meet.py]' '["torchrun", "meet.py"]'
torchrun pytorch '"python -u meet.py a"' '["torchrun", "meet.py", "a"]'
# shellcheck disable=SC2016 # that is for the shell of the job
torchrun pytorch "'echo \$LOCAL_RANK && exec python3 meet.py'" \
    '["torchrun", "--no-python", "/bin/sh", "-c", "echo $LOCAL_RANK && exec python3 meet.py"]'
torchrun none '[python3, -B, meet.py]' '["torchrun", "--no-python", "python3", "-B", "meet.py"]'

cat >"$WORK/unlike.yaml" <<'END'
apiVersion: muster/v1
name: j
framework: pytorch
roles:
  master: {command: [python, a.py]}
  worker: {slots: 2, command: [python, a.py]}
END
run_muster convert --to pytorchjob "$WORK/unlike.yaml"
like "$(cat "$out")" '--nproc-per-node=2' "a role with another number has it on its line"
like "$(cat "$err")" '^lost: roles.worker.slots: a PyTorchJob has one number for all' "and it is told"
done_testing
