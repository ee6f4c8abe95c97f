# shellcheck shell=sh disable=SC2154 # its variables are those of lib.sh
# What does not exist is found before anything starts, for all roles at once, and by explain too.

torch_job() # MASTER-COMMAND WORKER-COMMAND [POLICY]
{
    cat <<YAML
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: lost}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: ${3:-OnFailure}
      template: {spec: {containers: [{name: pytorch, image: img/train, command: $1}]}}
    Worker:
      replicas: 2
      restartPolicy: ${3:-OnFailure}
      template: {spec: {containers: [{name: pytorch, image: img/train, command: $2}]}}
YAML
}

refused() # CODE ERE NAME, of $err and $REPORT
{
    is "$rc $(report cause.kind) $(report exit_code) $(report outcome)" "$1 exec $1 failed" "$3: exit code and cause"
    like "$(cat "$err")" "$2" "$3: said with what to do"
}

torch_job "[touch, $WORK/started]" '[/opt/lost/train, --x]' >lost.yaml
run_job lost.yaml
refused 127 'error: worker: /opt/lost/train not found \(image img/train is not used\); use --map /opt/lost=DIR' "a program of the image"
ok "a program of the image: nothing was started" test ! -e started
is "$(report attempts.#) $(report attempts.0.replicas.1.restarts)" "1 0" "a program of the image: no restart"
has_shape report "$REPORT" "a program of the image: the report"
run_muster explain lost.yaml
is "$rc" 0 "explain: the file is fine"
like "$(cat "$out")" 'warning: worker: /opt/lost/train not found' "explain: tells the same"
mkdir here
printf '#!/bin/sh\nexit 0\n' >here/train
chmod +x here/train
run_job --map /opt/lost=here lost.yaml
is "$rc $(ls started)" "0 started" "--map: what is there runs"

torch_job '[python3, lost.py]' '[python3, lost.py]' >lost.yaml
run_job lost.yaml
refused 127 'error: master, worker: lost.py not found in .*; use --workdir DIR' "a script, of two roles"
touch here/lost.py
run_job --workdir here lost.yaml
is "$rc" 0 "--workdir: the script is there"

torch_job '[python3, -m, mt_no_such_module.main]' '[sleep, "60"]' >lost.yaml
run_job lost.yaml
refused 127 'master: Python module mt_no_such_module not found .*--image img/train=ENV' "a Python module"
run_job -n 1 -- python3 -m json.tool /dev/null
is "$(report cause.kind)" exit "a Python module that is there runs"

torch_job '[sh, -c, mt-no-such-command x]' '[sleep, "60"]' >lost.yaml
run_job lost.yaml
refused 127 'master: mt-no-such-command not found on PATH' "the only command of a shell's text"
torch_job '[sh, -c, mt-no-such-command; true]' '["true"]' >lost.yaml
run_job lost.yaml
is "$rc" 0 "a shell that goes on is not refused"
like "$(cat "$err")" 'warning: master: mt-no-such-command not found on PATH' "but warned of"
torch_job "[sh, -c, 'cp $WORK/here/train made && ./made']" '["true"]' >lost.yaml
run_job lost.yaml
is "$rc $(grep -c 'not found' "$err")" "0 0" "what an earlier command makes is not looked for"

# Behind an init container that only waits, what is missing is known as well; behind another it may come to be there.
torch_job '[/opt/lost/train]' '["true"]' | sed 's/{spec: {containers: \[{name: pytorch, image: img.train, command: \[.opt/{spec: {initContainers: [{name: wait, image: b, command: [sh, -c, INIT]}], containers: [{name: pytorch, image: img\/train, command: [\/opt/' >init.yaml
sed 's/INIT/sleep 0/' init.yaml >lost.yaml
run_job lost.yaml
refused 127 'error: master: /opt/lost/train not found' "behind an init container that waits"
sed "s|INIT|'touch made-by-init'|" init.yaml >lost.yaml
run_job --no-restart lost.yaml
is "$(ls made-by-init) $(grep -c 'warning: master: /opt/lost/train not found' "$err")" "made-by-init 1" "behind another: a warning, and it is tried"

printf '#!/no/such/shell\n' >script
chmod +x script
run_job -n 1 -- ./script
refused 127 'script cannot be executed: its interpreter /no/such/shell was not found' "an interpreter"
printf '#!/bin/sh\r\n' >script
run_job -n 1 -- ./script
refused 127 'its first line ends in a carriage return' "CRLF"
chmod -x script
run_job -n 1 -- ./script
refused 126 'script is not executable; use chmod \+x' "not executable"

if have_mpi openmpi; then
    cat >mpi.yaml <<YAML
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi}
spec:
  mpiReplicaSpecs:
    Launcher:
      template: {spec: {containers: [{name: l, image: img/pi, command: [mpirun, -n, "2", /home/mpiuser/pi]}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: w, image: img/pi}]}}
YAML
    run_job mpi.yaml
    refused 127 'error: launcher: /home/mpiuser/pi not found \(image img/pi is not used\); use --map /home/mpiuser=DIR' "what mpirun starts"
else
    skip "no Open MPI" 2
fi

# A volume, a secret and a program: the first is told, and that there are more.
cat >lost.yaml <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: claims}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers:
            - name: pytorch
              image: i
              command: [/opt/lost/train]
              volumeMounts: [{name: a, mountPath: /data}]
              env: [{name: T, valueFrom: {secretKeyRef: {name: hf, key: token}}}]
          volumes: [{name: a, persistentVolumeClaim: {claimName: mine}}]
YAML
run_job lost.yaml
like "$rc $(cat "$err")" '^125 .*T: the secret hf, key token is not given' "several things are missing: the first is told"
like "$(cat "$err")" 'note: 2 more warnings: see .[^ ]*muster explain lost.yaml.$' "several things are missing: and that there are more"
run_muster explain lost.yaml
is "$(cat "$out" "$err" | grep -cE 'warning: (T refers|master: /opt/lost/train not found|volume a: claim mine)')" 3 \
    "several things are missing: explain has them all"

# No Python is asked anything for a job that names no module.
printf '#!/bin/sh\ntouch "%s/asked"\nexec /bin/true\n' "$WORK" >here/python3
chmod +x here/python3
PATH=$WORK/here:$PATH "$MUSTER" explain lost.yaml >"$out" 2>&1
ok "no module, no Python" test ! -e asked

torch_job '[sh, -c, "echo start >>tries; exit 3"]' '[sleep, "60"]' Always >lost.yaml
rm -f tries
run_job --no-restart lost.yaml
is "$rc $(wc -l <tries)" "3 1" "--no-restart: started once"
like "$(cat "$err")" 'note: master: processes are not restarted \(--no-restart\)' "--no-restart: told"

# A role whose failure the file tolerates does not keep the others from running.
cat >tolerant.yaml <<'YAML'
protocolVersion: 2
name: tolerant
type: job
prerequisites: [{name: i, type: dockerimage, uri: img}]
taskRoles:
  main:
    dockerImage: i
    completion: {minFailedInstances: 1, minSucceededInstances: 1}
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands: [echo main ran]
  helper:
    dockerImage: i
    completion: {minFailedInstances: -1, minSucceededInstances: -1}
    resourcePerInstance: {cpu: 1, memoryMB: 100, gpu: 0}
    commands: [mt-no-such-command]
YAML
run_job tolerant.yaml
is "$rc $(cat "$out")" "0 [main-0] main ran" "a missing program that the file tolerates"
like "$(cat "$err")" 'warning: helper: mt-no-such-command not found on PATH' "it is told all the same"
