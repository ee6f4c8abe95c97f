#!/bin/sh
# Kubeflow's MPIJobs run: each version's example with Open MPI, today's with MPICH too. Every rank is in
# the replica of the plan, and the pods find what their operator hands out.
. "${0%/*}/lib.sh"

have_mpi openmpi || skip_all "no Open MPI here"
mkdir "$WORK/kubeflow" # the program is one directory up, as it is in examples
cp "$TOP"/examples/kubeflow/mpi-*.yaml "$WORK/kubeflow"
cp "$PROGRAMS/openmpi/random_walk" "$WORK"
cd "$WORK/kubeflow" || exit

want='0 walk-worker-0
1 walk-worker-0
2 walk-worker-1
3 walk-worker-1'

printed() # "rank host" of what the ranks said, with the label that muster gives them or without
{
    sed -nE 's/^\[[^]]*\] rank ([0-9]+) of [0-9]+ on ([^:]+):.*/\1 \2/p' "$out" | sort -n
}

reported() # "rank host" as the report has it
{
    python3 - "$REPORT" <<'PY'
import json, sys
for r in json.load(open(sys.argv[1]))["attempts"][0]["ranks"]:
    print(r["rank"], "walk-" + r["replica"])
PY
}

for version in v1alpha2 v1 v2beta1; do
    run_job "mpi-$version.yaml"
    is "$rc" 0 "$version: ends with 0"
    is "$(printed)" "$want" "$version: each rank in its replica"
    is "$(reported)" "$want" "$version: and in the report"
    is "$(report job.dialect)" "kubeflow-mpi-$version" "$version: its dialect"
    is "$(survivors "$(run_id)")" "" "$version: nothing is left"
    if [ $version = v1 ]; then # its launcher calls the script of /etc/mpi
        is "$(grep -c '^\[launcher-0\] walk-worker-[01]:2$' "$out")" 2 "v1: hosts with their slots"
    fi
    run_muster validate "mpi-$version.yaml"
    is "$rc" 0 "$version: the example is accepted"
done

# --- what the pods find ---------------------------------------------------------------------------

cat >look.yaml <<'YAML'
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: look, namespace: lab}
spec:
  slotsPerWorker: 1
  runLauncherAsWorker: true
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
            - name: l
              image: i
              command: [sh, -c]
              args:
                - |
                  cat /etc/mpi/hostfile
                  /etc/mpi/discover_hosts.sh | sed 's/^/told /'
                  mpirun -np 3 sh -c 'echo "$OMPI_COMM_WORLD_RANK $K_MPI_JOB_ROLE $MUSTER_HOST"'
                  ssh look-worker-1.look.lab.svc 'echo reached $MUSTER_HOST'
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: w, image: i}]}}
YAML
hosts='look-launcher look-worker-0 look-worker-1'
for level in names none; do
    run_job --isolate $level look.yaml
    is "$rc" 0 "level $level: ends with 0"
    is "$(report attempts.0.ranks.0.replica)" launcher-0 "level $level: the launcher is a worker too"
    like "$(report verdict)" "3 ranks on 3 hosts" "level $level: and counted as a host"
    like "$(cat "$out")" '^\[worker-1/2\] 2 (worker|launcher) look-worker-1$' "level $level: the last rank"
    like "$(cat "$out")" '\] reached look-worker-1$' "level $level: names of the Service lead to replicas"
    [ $level = names ] || continue
    for host in $hosts; do
        like "$(cat "$out")" "^\[launcher-0\] $host.look.lab.svc slots=1$" "$host is in the hostfile"
        like "$(cat "$out")" "^\[launcher-0\] told $host.look.lab.svc$" "and is told"
    done
done
ok "nothing is left on the machine" test ! -e /etc/mpi

# --- init containers, volumes, a launcher that fails ----------------------------------------------

cat >pods.yaml <<'YAML'
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pods}
spec:
  runPolicy: {backoffLimit: 1}
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          initContainers:
            - name: order
              image: i
              command: [sh, -c, 'tac /etc/mpi/hostfile >/ordered/hostfile']
              volumeMounts:
                - {name: ordered, mountPath: /ordered}
                - {name: mpi-job-config, mountPath: /etc/mpi}
          volumes: [{name: ordered, emptyDir: {}}]
          containers:
            - name: l
              image: i
              command: [sh, -c]
              args:
                - |
                  head -1 /ordered/hostfile
                  test -e $MUSTER_RUN_DIR/again || { touch $MUSTER_RUN_DIR/again; exit 5; }
              volumeMounts: [{name: ordered, mountPath: /ordered}]
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: w, image: i}]}}
YAML
run_job pods.yaml
is "$rc" 0 "a launcher that is started again"
like "$(report verdict)" "launcher-0 was restarted once" "as often as backoffLimit says"
like "$(cat "$out")" "^\[launcher-0\] pods-worker-1.pods.default.svc slots=1$" "an init container read the hosts"

# --- MPICH ----------------------------------------------------------------------------------------

if have_mpi mpich; then
    mkdir -p mpich/bin
    ln -s "$(command -v mpiexec.hydra)" mpich/bin/mpirun
    ln -s "$(command -v hydra_pmi_proxy)" mpich/bin/hydra_pmi_proxy
    cp "$PROGRAMS/mpich/random_walk" random_walk
    sed 's/slotsPerWorker: 2/&\n  mpiImplementation: MPICH/' mpi-v2beta1.yaml >mpich/job.yaml
    caller_path=$PATH
    PATH=$PWD/mpich/bin:$PATH
    run_job mpich/job.yaml
    is "$rc" 0 "MPICH: ends with 0"
    is "$(printed)" "$want" "MPICH: each rank in its replica"
    run_muster explain mpich/job.yaml
    unlike "$(cat "$out")" "requires MPICH" "MPICH: it is what the file asks for"
    PATH=$caller_path
    run_muster explain mpich/job.yaml
    like "$(cat "$out")" "requires MPICH; using Open MPI" "another one is told"
else
    skip "no MPICH here" 4
fi

done_testing
