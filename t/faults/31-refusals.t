#!/bin/sh
# A file that was accepted and a job that never begins: the report says why.
. "${0%/*}/lib.sh"

refused() # NAME KIND ERE ARG…
{
    name=$1 kind=$2 words=$3
    shift 3
    rm -f "$REPORT"
    run_job "$@"
    is "$rc" 125 "$name: exit code"
    like "$(cat "$err")" "$words" "$name: it is said"
    is "$(report outcome) $(report exit_code) $(report cause.kind) $(report cause.replica)" "failed 125 $kind null" "$name: the report"
    like "$(report verdict)" "^failed: .*$words" "$name: the verdict"
    like "$(report cause.message)" "$words" "$name: the message"
    is "$(report attempts.0.replicas.0.outcome)" never-started "$name: no replica was started"
    is "$(stat -c %a "$REPORT")" 600 "$name: nobody else reads it"
    has_shape report "$REPORT" "$name: its shape"
    is "$(ls "$XDG_STATE_HOME/muster/runs" 2>/dev/null)" "" "$name: no run directory stays"
}

native() # LINES of the role
{
    printf 'apiVersion: muster/v1\nname: never\n%s\nroles:\n  worker:\n    replicas: 2\n    command: "true"\n%s\n' "$2" "$1" >job.yaml
}

native '    ports: {service: 34567}' ''
python3 -c '
import socket, time
s = socket.socket(); s.bind(("", 34567)); s.listen(1); print("up", flush=True); time.sleep(120)' >listening &
holder=$!
wait_until 20 grep -q up listening
refused "a taken port" port 'port 34567' --isolate none job.yaml
kill $holder
wait $holder 2>/dev/null

cat >secret.yaml <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: never}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers:
            - {name: pytorch, image: none, command: ["true"], env: [{name: T, valueFrom: {secretKeyRef: {name: token, key: k}}}]}
YAML
refused "a missing secret" secret 'token' secret.yaml
sed 's/env: .*}/volumeMounts: [{name: v, mountPath: \/mnt\/s}]}/; s/^          containers:/          volumes: [{name: v, secret: {secretName: token}}]\n          containers:/' secret.yaml >secret-volume.yaml
refused "a missing secret that is a volume" secret 'token' secret-volume.yaml

sed 's/secret: {secretName: token}/persistentVolumeClaim: {claimName: data}/' secret-volume.yaml >claim.yaml
refused "a missing volume claim" unschedulable 'claim data is not available locally' claim.yaml
sed 's/secret: {secretName: token}/hostPath: {path: \/no\/such}/' secret-volume.yaml >host-path.yaml
refused "a missing host path" unschedulable '/no/such does not exist' host-path.yaml
if unshare --mount true 2>/dev/null; then
    sed 's/secret: {secretName: token}/emptyDir: {}/; s/mountPath: [^}]*/mountPath: \/etc\/passwd/' secret-volume.yaml >over-file.yaml
    refused "a directory over a file" unschedulable 'volume v is a directory and cannot be mounted at /etc/passwd, which is a file' --isolate names over-file.yaml
    sed 's/secret: {secretName: token}/hostPath: {path: \/etc\/passwd}/; s/mountPath: [^}]*/mountPath: \/mnt/' secret-volume.yaml >over-dir.yaml
    refused "a file over a directory" unschedulable 'volume v is a file and cannot be mounted at /mnt, which is a directory' --isolate names over-dir.yaml
else
    skip "no mount namespaces here" 18
fi

native '    resources: {gpu: 2}' ''
if [ -e /dev/nvidiactl ]; then
    skip "this machine may have GPUs"
else
    refused "GPUs that are not here" unschedulable GPU --require-gpus job.yaml
fi
if unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_mnt_namespaces' 2>/dev/null; then
    real=$MUSTER
    cat >no-mounts <<'SH'
#!/bin/sh
echo 0 >/proc/sys/user/max_mnt_namespaces
exec "$REAL" "$@"
SH
    printf '#!/bin/sh\nREAL=%s exec unshare -Ur %s/no-mounts "$@"\n' "$real" "$WORK" >muster
    chmod +x no-mounts muster
    MUSTER=$WORK/muster
    refused "an isolation level that cannot be had" unschedulable 'isolation level .names. is not available' --isolate names -n 1 -- true
    MUSTER=$real
else
    skip "no user namespaces here" 9
fi
native '' ''
refused "an image that cannot be mapped" image 'not a virtual or conda environment' --image "*=$WORK/home" job.yaml
refused "a directory for an image that is not there" image 'No such file' --image "*=$WORK/missing" job.yaml
sed 's/command: \["true"\], env: .*}/args: [x]}/' secret.yaml >entry.yaml
refused "an entry point that is not here" exec 'has no command' entry.yaml
cat >input.yaml <<'YAML'
command: cat ${{inputs.data}}
environment: {image: none}
inputs: {data: {type: uri_folder, path: azureml:data:1}}
YAML
refused "an input that is not here" unschedulable 'input data is not available locally' input.yaml
echo text >file
refused "no place for the run directory" unschedulable 'is not a directory' --run-dir "$WORK/file/x" job.yaml
refused "a run directory that is there" unschedulable 'cannot create the run directory /etc: File exists' --run-dir /etc job.yaml
mkdir bin
for program in /usr/bin/* /bin/*; do
    case ${program##*/} in
    mpi* | orte* | hydra* | prte* | prun*) ;;
    *) ln -sf "$program" bin/ ;;
    esac
done
path=$PATH
PATH=$WORK/bin
refused "no mpirun" exec 'mpirun not found' --mpi -n 2 -- true
PATH=$path
rm -f out.json
"$MUSTER" run --report - --image "*=$WORK/home" job.yaml >out.json 2>"$err"
is "$? $(json cause.kind out.json)" "125 image" "--report -: on stdout"

# a run directory beside /usr has a parent too, and a slash at the end makes none
top=/muster-test.$$
if mkdir -m 700 "$top" 2>/dev/null; then
    rmdir "$top"
    run_job --run-dir "$top" job.yaml
    is "$rc $(report outcome) $(json outcome "$top/report.json")" "0 succeeded succeeded" "--run-dir below /: it runs" || diag "$(cat "$err")"
    rm -rf "$top"
else
    skip "/ is not writable"
fi
run_job --run-dir "$WORK/chosen//" job.yaml
is "$rc $(json outcome chosen/report.json)" "0 succeeded" "--run-dir DIR/: it runs" || diag "$(cat "$err")"
rm -f "$REPORT"
run_job --image 'other=host' job.yaml
ok "an option that names nothing is bad usage: no report" test ! -e "$REPORT"
done_testing
