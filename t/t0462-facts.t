#!/bin/sh
# What a run finds out about the machine: programs, GPUs, values of secrets.
# shellcheck disable=SC2016 # what is in single quotes is for the shell of a job
. "${0%/*}/lib.sh"
cd "$WORK" || exit 1

# --- programs ------------------------------------------------------------------------------------

mkdir bin
for program in sh sleep cat; do ln -s "$(command -v $program)" bin/; done
cat >bin/python3 <<'SH'
#!/bin/sh
echo "three $*"
SH
chmod +x bin/python3
PATH=$WORK/bin "$MUSTER" run -n 1 -- python -m train >"$out" 2>"$err"
is "$? $(cat "$out")" "0 [worker-0/0] three -m train" "no python here: python3 is used"
sed 's,\./random_walk,python,' "$TOP/examples/mpi-example.yaml" >python.yaml
PATH=$WORK/bin "$MUSTER" explain python.yaml >"$out" 2>"$err"
like "$(cat "$out")" "note: python not found; using $WORK/bin/python3" "explain says so"
PATH=$WORK/bin "$MUSTER" explain "$TOP/examples/mpi-example.yaml" >"$out" 2>"$err"
unlike "$(cat "$out")" "python3 is used" "but not of a job without python"
sed 's/three/two/' bin/python3 >bin/python
chmod +x bin/python
PATH=$WORK/bin "$MUSTER" run -n 1 -- python -m train >"$out" 2>"$err"
is "$? $(cat "$out")" "0 [worker-0/0] two -m train" "where there is one, it is that"
touch x.py
for python in python python3; do
    printf '#!/bin/sh\necho "No module named '"'x'"'"\nexit 1\n' >bin/$python
    PATH=$WORK/bin "$MUSTER" run -n 1 -- $python x.py >"$out" 2>"$err"
    like "$(cat "$err")" "x is not installed for $WORK/bin/$python;" "the interpreter that was used is named: $python"
done
printf '#!/bin/sh\necho "three $*"\n' >bin/python3

version() # TEXT WANT
{
    printf '#!/bin/sh\ncat <<E\n%s\nE\n' "$1" >bin/mpirun
    chmod +x bin/mpirun
    PATH=$WORK/bin "$MUSTER" explain "$TOP/examples/mpi-example.yaml" >"$out" 2>"$err"
    like "$(cat "$out")" "mpirun is $2" "0.2: $2"
}
version 'mpirun (Open MPI) 4.1.4
Report bugs to http://www.open-mpi.org/community/help/' "Open MPI 4, version 4.1.4"
version 'mpirun (Open MPI) 5.0.3' "Open MPI 5, version 5.0.3"
version 'HYDRA build details:
    Version:                                 4.0.2
    Release Date:                            Thu Apr  7 12:34:45 CDT 2022' "MPICH \(Hydra\), version 4.0.2"
version 'Intel(R) MPI Library for Linux* OS, Version 2021.5 Build 20211102 (id: 9279b7d62)' "Intel MPI, version 2021.5"
version 'a wrapper 1. of mine' "an unknown MPI$"
rm bin/mpirun

# --- images --------------------------------------------------------------------------------------

mkdir -p venv/bin conda/bin conda/conda-meta rootfs/etc rootfs/usr/bin empty
touch venv/pyvenv.cfg
for env in venv conda; do
    sed "s/three/$env/" bin/python3 >$env/bin/python
    chmod +x $env/bin/python
done
rm bin/python
run_on() # NAME=PLACE COMMAND…
{
    map=$1
    shift
    PATH=$WORK/bin "$MUSTER" run --image "$map" -n 1 -- "$@" >"$out" 2>"$err"
    rc=$?
}
run_on '*=host' python -V
is "$rc $(cat "$out")" "0 [worker-0/0] three -V" "0.11: --image NAME=host"
run_on '*=venv' python -V
is "$rc $(cat "$out")" "0 [worker-0/0] venv -V" "0.11: a virtual environment, not the link to python3"
run_on '*=venv' sh -c 'echo $VIRTUAL_ENV'
is "$(cat "$out")" "[worker-0/0] $WORK/venv" "0.11: is named"
run_on '*=conda' sh -c 'python -V; echo $CONDA_PREFIX $CONDA_DEFAULT_ENV'
is "$(sed 's/^[^ ]* //' "$out")" "conda -V
$WORK/conda conda" "0.11: a conda environment"
run_on '*=rootfs' true
is "$rc" 125 "0.11: a root file system is refused"
like "$(cat "$err")" "rootfs is a root file system, which is not supported" "0.11: with the reason"
run_on '*=empty' true
like "$rc $(cat "$err")" "125 .*not a virtual or conda environment" "0.11: so is any directory"
run_on '*=gone' true
like "$rc $(cat "$err")" "125 .*gone: No such file" "0.11: and none"
run_on 'venv' true
like "$rc $(cat "$err")" "125 .*NAME=DIRECTORY" "0.11: and half an option"
image=$(sed -n 's/^ *image: //p' "$TOP/examples/mpi-example.yaml")
run_muster explain --env --image "$image=venv" "$TOP/examples/mpi-example.yaml"
like "$(cat "$out")" "PATH=[^ ]*/bin:$WORK/venv/bin:" "0.11: first in PATH, after the run's own"
like "$(cat "$out")" "using $WORK/venv in place of image $image" "0.11: explain says so"
run_muster explain --image "other=venv" "$TOP/examples/mpi-example.yaml"
like "$rc $(cat "$err")" "^1 .*no role uses image other; the job uses $image" "0.11: an image that is not the job's"

# --- GPUs ----------------------------------------------------------------------------------------

job() # CONTAINER-KEYS COMMAND: a job file; both as JSON
{
    cat >job.yaml <<JSON
{"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "MPIJob", "metadata": {"name": "facts"}, "spec": {
  "worker": {"replicas": 1, "extraMPIArgs": ["-N", "1", "--allow-run-as-root"], "cmd": $2,
    "template": {"spec": {"containers": [{"name": "mpi-worker"$1}]}}}}}
JSON
}
if have_mpi openmpi; then
    job ', "resources": {"limits": {"nvidia.com/gpu": 512}}' '["sh", "-c", "echo devices=$CUDA_VISIBLE_DEVICES"]'
    run_job job.yaml
    is "$rc" 0 "0.16: fewer GPUs than asked for: it runs"
    like "$(cat "$out")" "devices=$" "0.16: with none visible"
    run_job --require-gpus job.yaml
    is "$rc" 125 "0.16: --require-gpus refuses it"
    like "$(cat "$err")" "requests 512 GPUs" "0.16: with the numbers"
    job '' '["true"]'
    run_job --require-gpus job.yaml
    is "$rc" 0 "0.16: a job that asks for none runs"
else
    skip "no Open MPI here" 5
fi

# --- secrets and config maps ---------------------------------------------------------------------

word=sesame-$$-open
mkdir -m 700 secrets secrets/vault && mkdir -p configmaps/settings
printf %s "$word" >secrets/vault/token
printf %s "$word-whole" >secrets/vault/OTHER
chmod 600 secrets/vault/*
printf three >configmaps/settings/LEVEL
if have_mpi openmpi; then
    job ', "env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "vault", "key": "token"}}},
      {"name": "LEVEL", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "LEVEL"}}},
      {"name": "MAYBE", "valueFrom": {"secretKeyRef": {"name": "vault", "key": "none", "optional": true}}}],
      "envFrom": [{"prefix": "V_", "secretRef": {"name": "vault"}}]' \
        '["sh", "-c", "printf %s \"$TOKEN\" | md5sum; printf %s \"$V_OTHER\" | md5sum; echo level=$LEVEL ${MAYBE-unset}"]'
    run_job job.yaml
    is "$rc" 125 "4.20: without the secret it does not start"
    like "$(cat "$err")" "vault.*--secrets DIR" "4.20: what is missing, and what gives it"
is "$(report cause.kind)" secret "4.20: and the report has the cause"
    run_muster explain -o json --env job.yaml
    is "$rc" 0 "explain shows the job nevertheless"
    like "$(cat "$out")" '"TOKEN": "\*\*\*"' "with ***"
    like "$(cat "$out" "$err")" "vault.*--secrets" "and a warning"
    run_job --secrets secrets --configmaps configmaps job.yaml
    is "$rc" 0 "with both directories it runs" || diag "$(cat "$err")"
    like "$(cat "$out")" "$(printf %s "$word" | md5sum)" "4.20: the value arrives, to the byte"
    like "$(cat "$out")" "$(printf %s "$word-whole" | md5sum)" "4.21: a whole one with its prefix"
    like "$(cat "$out")" "level=three unset" "4.21: a config map; an optional one that is not there"
    run_dir=$(report run_dir)
    run_muster explain --env -o json --secrets secrets --configmaps configmaps job.yaml
    is "$(grep -rlF -e "$word" "$run_dir" "$REPORT" "$out" "$err" "$XDG_STATE_HOME")" "" "the secret is in no file of the run, nor in the report or explain"
    chmod 644 secrets/vault/token
    run_job --secrets secrets --configmaps configmaps job.yaml
    is "$rc" 125 "a secret that others may read is refused"
    like "$(cat "$err")" "vault/token is accessible by other users" "and named"
else
    skip "no Open MPI here" 13
fi

# Commands that hold a secret: OpenPAI writes it into the text.
cat >pai.yaml <<YAML
protocolVersion: 2
name: told
type: job
secrets: {key: $word}
prerequisites: [{type: dockerimage, name: image, uri: none}]
taskRoles:
  worker:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 64, gpu: 0}
    commands:
      - k=<% \$secrets.key %>
      - printf %s "\$k" | md5sum
      - until [ -e $WORK/go ]; do sleep 0.05; done
YAML
if "$MUSTER" validate pai.yaml >/dev/null 2>&1; then
    "$MUSTER" run --report "$REPORT" pai.yaml >"$out" 2>"$err" &
    pid=$!
    ok "1: a command with a secret runs" wait_until 20 grep -q "$(printf %s "$word" | md5sum)" "$out"
    printf '%s\n' "$word" >word
    seen=$(grep -lasF -f word /proc/[0-9]*/cmdline)
    is "$seen" "" "its text is in no list of processes"
    touch go
    wait $pid
    is "$? $(report outcome)" "0 succeeded" "it succeeds"
    run_muster explain --env -o json pai.yaml
    is "$(grep -rlF -e "$word" "$(report run_dir)" "$REPORT" "$out" "$err")" "" "nor in a file of the run, the report or explain"
else
    skip "no dialect with secrets in commands yet" 4
fi

# --- RDMA ----------------------------------------------------------------------------------------

cat >rdma.json <<'JSON'
{"jobName": "rdma", "image": "none", "jobEnvs": {"paiAzRDMA": true},
  "taskRoles": [{"name": "main", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 64, "command": "true"}]}
JSON
if [ -e /dev/infiniband ] && [ -e /etc/dat.conf ]; then
    skip "this machine has RDMA" 2
elif "$MUSTER" validate rdma.json >/dev/null 2>&1; then
    run_job rdma.json
    is "$rc" 0 "3.1: paiAzRDMA without RDMA: the job runs"
    like "$(cat "$err")" "paiAzRDMA: no /dev/infiniband, no /etc/dat.conf.*; using TCP" "3.1: with a warning of what is missing"
else
    skip "no OpenPAI yet" 2
fi
done_testing
