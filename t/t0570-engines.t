#!/bin/sh
# Every engine does what engine.h promises: t/libprog/engines.c asks each the same. And --on chooses one.
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1
cat >job.yaml <<'YAML'
protocolVersion: 2
name: engines
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: none}
taskRoles:
  a:
    instances: 2
    completion: {minFailedInstances: 1, minSucceededInstances: -1}
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 256, gpu: 0}
    commands: ["exec sleep 1000"]
  b:
    instances: 1
    completion: {minFailedInstances: 1, minSucceededInstances: -1}
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 256, gpu: 0}
    commands: ["exec sleep 1000"]
YAML

# --- the same script for each --------------------------------------------------------------------

mkdir bin && cp "$MUSTER_TEST_PROGRAMS/libprog/engines" "$MUSTER_TEST_PROGRAMS/muster-shim" bin || exit 1

keeps() # NAME PROGRAM ENGINE FILE SCRIPT
{
    name=$1
    shift
    "$@" >"$out" 2>"$err"
    rc=$?
    grep '^not ok' "$out" >"$WORK/broken"
    is "$rc:$(cat "$WORK/broken")" "0:" "$name"
    [ "$rc" = 0 ] || sed 's/^/# /' "$out" "$err"
}

sed 's|exec sleep 1000|exit 7|' job.yaml >fails.yaml
for engine in local sim; do
    export MUSTER_SIM_DURATION=1h
    keeps "$engine keeps every promise" bin/engines $engine job.yaml calls
    keeps "$engine runs a whole job" bin/engines $engine job.yaml job
    keeps "$engine takes calls in any order" bin/engines $engine job.yaml order
    export MUSTER_SIM_LOST=2s
    keeps "$engine is lost" bin/engines $engine job.yaml lost
    unset MUSTER_SIM_LOST
    export MUSTER_SIM_DURATION=50ms MUSTER_SIM_STATUS=7
    keeps "$engine reports failures" bin/engines $engine fails.yaml fails
    unset MUSTER_SIM_DURATION MUSTER_SIM_STATUS
done

# A shim that never comes to be ready: it hangs up, and stays. The loop does not wait for its end.
mkdir false && cp bin/engines false || exit 1
cat >false/muster-shim <<SHIM
#!/bin/bash
[ "\$1" = supervise ] || exec "$WORK/bin/muster-shim" "\$@"
for fd in /proc/self/fd/*; do
    fd=\${fd##*/}
    [ "\$fd" -gt 2 ] && eval "exec \$fd>&-"
done
exec sleep 1000
SHIM
chmod +x false/muster-shim
keeps "local: a shim that is never ready" false/engines local job.yaml refused

# --- a master that is killed, and another ---------------------------------------------------------

sed "\$s|exec sleep 1000|until [ -e $WORK/go ]; do sleep 0.05; done; exit 7|" job.yaml >attach.yaml
cp "$MUSTER_TEST_PROGRAMS/libprog/attach" bin || exit 1
bin/attach attach.yaml "$WORK/go" >"$out" 2>"$err"
rc=$?
is "$rc:$(grep '^not ok' "$out")" "0:" "a job goes on without its master, and with another"
[ "$rc" = 0 ] || sed 's/^/# /' "$out" "$err"

# --- --on ----------------------------------------------------------------------------------------

export MUSTER_SIM_DURATION=10ms
run_muster run --on sim --report "$REPORT" job.yaml
is "$rc" 0 "a run without processes"
is "$(report engine):$(report outcome)" "sim:succeeded" "its report says so"
like "$(cat "$err")" "no process is started" "and so does a note"
run_muster run --on sim -n 2 -- /no/such/program
is "$rc" 0 "nothing is executed"
run_muster explain --on sim -o json job.yaml
is "$rc" 0 "explain takes it"
MUSTER_SIM_DURATION=long
run_muster run --on sim job.yaml
is "$rc" 125 "a duration that is none"
run_muster run --on slurm job.yaml
is "$rc" 125 "run refuses slurm"
like "$(cat "$err")" "engine slurm is not implemented yet" "in words"
run_muster explain --on slurm job.yaml
is "$rc" 1 "explain refuses it"

# another program has this engine; there is no cluster here
run_muster run --on kubernetes job.yaml
is "$rc" 125 "run refuses kubernetes without a kubeconfig"
like "$(cat "$err")" '^muster: error: no kubeconfig: KUBECONFIG is not set and .*/\.kube/config does not exist' "in words"
run_muster explain --on kubernetes job.yaml
is "$rc" 0 "explain needs none"
like "$(cat "$out")" 'in the working directory of its image$' "its page"
run_muster explain --on kubernetes -o json job.yaml
has_shape explain "$out" "its JSON"
run_muster explain --on kubernetes -o yaml job.yaml
like "$(cat "$out")" '^kind: Pod$' "its objects"
run_muster explain -o yaml job.yaml
is "$rc" 2 "no objects on this machine"
run_muster run --on laptop job.yaml
is "$rc" 125 "an engine that nobody knows"
run_muster explain --on laptop job.yaml
is "$rc" 2 "is bad usage"

MUSTER_SIM_DURATION=10ms
mkdir -p config/muster
echo 'on: sim' >config/muster/config.yaml
XDG_CONFIG_HOME=$WORK/config run_muster run --report "$REPORT" job.yaml
is "$rc:$(report engine)" "0:sim" "the configuration chooses"
XDG_CONFIG_HOME=$WORK/config run_muster run --on local --report "$REPORT" -n 1 -- true
is "$rc:$(report engine)" "0:local" "the option wins"
echo 'on: laptop' >config/muster/config.yaml
XDG_CONFIG_HOME=$WORK/config run_muster explain job.yaml
is "$rc" 1 "a configuration with errors is refused"

done_testing
