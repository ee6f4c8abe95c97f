#!/bin/sh
# Processes that cannot start or never come up: init containers that hang, scripts whose interpreter is not there.
. "${0%/*}/lib.sh"

# --- --start-timeout ------------------------------------------------------------------------------

cat >torch.yaml <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: slow}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          initContainers: [{name: quick, image: none, command: ["true"]}, {name: stuck, image: none, command: [sh, -c, "echo waiting; sleep 60"]}]
          containers: [{name: pytorch, image: none, command: ["true"]}]
    Worker: {template: {spec: {containers: [{name: pytorch, image: none, command: [sleep, "60"]}]}}}
YAML
mpi() # SECONDS of the launcher's, SECONDS of the workers' init container, COMMAND
{
    cat <<YAML
apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: slow}
spec:
  mpiReplicaSpecs:
    Launcher: {template: {spec: {initContainers: [{name: of-launcher, image: none, command: [sh, -c, "echo waiting; sleep $1"]}], containers: [{name: l, image: none, command: [$3]}]}}}
    Worker: {replicas: 2, template: {spec: {initContainers: [{name: of-worker, image: none, command: [sh, -c, "echo waiting; sleep $2"]}], containers: [{name: w, image: none}]}}}
YAML
}

hangs() # NAME WHO FILE
{
    run_job --start-timeout 3s --grace 1s "$3"
    is "$rc $(report cause.kind)" "125 not-ready" "$1: the start timeout ends it" || diag "$(cat "$err")"
    like "$(report verdict)" "init container $2 did not end within 3.0 s \\(--start-timeout\\)" "$1: it is named"
    is "$(report cause.log_tail.0)" waiting "$1: with its last lines"
}
hangs "a PyTorchJob's" 'stuck of master-0' torch.yaml
if have_mpi openmpi; then
    mpi 60 0 'mpirun, --allow-run-as-root, "true"' >mpi.yaml
    hangs "a launcher's" 'of-launcher of launcher-0' mpi.yaml
    mpi 0 60 'mpirun, --allow-run-as-root, "true"' >mpi.yaml
    hangs "a worker's" 'of-worker of worker-[01]' mpi.yaml
    mpi 0 0 'mpirun, --allow-run-as-root, -np, "2", sleep, "4"' >mpi.yaml
    run_job --start-timeout 3s mpi.yaml
    is "$rc" 0 "init containers that end in time: the job goes on" || diag "$(cat "$err")"
else
    skip "no Open MPI here" 7
fi

# --- a missing interpreter ------------------------------------------------------------------------

printf '#!/no/such/interpreter -x\n' >script
printf '#!%s/script\n' "$WORK" >chain
printf '#!/bin/sh\r\necho\r\n' >crlf
# a binary for a C library that is not here
python3 - /bin/true >loaderless <<'PYTHON'
import re, sys
data = open(sys.argv[1], 'rb').read()
at = re.search(rb'/lib[0-9a-z]*/ld-[^\0]*\0', data)
sys.stdout.buffer.write(data[:at.start()] + b'/no' + data[at.start() + 3:] if at else data)
PYTHON
chmod +x script chain crlf loaderless
no_interpreter='the interpreter in its first line does not exist'
nested='the interpreter in its first line is a script whose own interpreter does not exist'
crlf='the interpreter in its first line ends in a carriage return'
loader='its dynamic loader does not exist'
told() # NAME [PROGRAM REASON]
{
    is "$rc $(report cause.kind)" "127 exec" "$1: kind and exit code" || diag "$(cat "$err")"
    like "$(report verdict)" "could not execute ./${2:-script}: ${3:-$no_interpreter}" "$1: told as such"
    unlike "$(report verdict) $(cat "$err")" 'searched for in|No such file|exist after|loader does not exist after' "$1: nothing else"
}
for level in names network none; do
    run_job --isolate $level -n 2 -- ./script
    told "run -n, $level"
done
for level in names none; do
    run_job --isolate $level -n 2 -- ./chain
    told "an interpreter without one, $level" chain "$nested"
    run_job --isolate $level -n 2 -- ./loaderless
    told "a binary without a loader, $level" loaderless "$loader"
done
sed 's/command: \[sh, -c, "echo waiting; sleep 60"\]/command: [.\/script]/' torch.yaml >init.yaml
run_job init.yaml
told "an init container"
like "$(report verdict)" 'init container stuck of master-0' "an init container: it is named"
if have_mpi openmpi; then
    run_job --mpi -n 2 -- ./script
    is "$(report outcome)" failed "mpirun: it fails"
    like "$(report verdict)" 'could not execute ./script: the interpreter in its first line does not exist' "mpirun: told as such"
else
    skip "no Open MPI here" 2
fi
# behind a script nothing is known before the start: the rank wrapper says it
for impl in openmpi mpich; do
    if ! have_mpi $impl; then
        skip "no $impl here" 12
        continue
    fi
    root=
    [ $impl = mpich ] || root=--allow-run-as-root
    for row in "script:$no_interpreter" "chain:$nested" "crlf:$crlf" "loaderless:$loader"; do
        cat >behind.yaml <<YAML
apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: behind}
spec:
  mpiReplicaSpecs:
    Launcher: {template: {spec: {containers: [{name: l, image: none, command: [sh, -c, "cd .; mpirun.$impl $root -np 2 ./${row%%:*}"]}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: w, image: none}]}}}
YAML
        run_job behind.yaml
        told "mpirun of $impl behind a script, ${row%%:*}" "${row%%:*}" "${row#*:}"
    done
done
done_testing
