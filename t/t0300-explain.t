#!/bin/sh
# explain: the plan of the example, as a page and as JSON, and what it says of bad files.
. "${0%/*}/lib.sh"

example=$TOP/examples/mpi-example.yaml
unset OMPI_MCA_mpi_yield_when_idle

# An installation that looks enough like Open MPI to be found as one: the plan does not run it.
home=$WORK/openmpi
mkdir -p "$home/bin"
for program in orterun orted; do
    printf '#!/bin/sh\n' >"$home/bin/$program"
    chmod +x "$home/bin/$program"
done
ln -s orterun "$home/bin/mpirun"
job=$WORK/job.yaml
sed "s,^  mpiHome: .*,  mpiHome: $home," "$example" >"$job"

origins() # FILE: every variable has one
{
    python3 - "$1" <<'PYTHON'
import json, sys
for process in (p for j in json.load(open(sys.argv[1]))['jobs'] for p in j['processes']):
    assert process['env'].keys() == process['env_origin'].keys(), process['replica']
PYTHON
}

# --- JSON ----------------------------------------------------------------------------------------

run_muster explain -o json "$job"
is "$rc" 0 "the example can be explained"
is "$(cat "$err")" "" "without a word on stderr"
has_shape explain "$out" "its JSON has the promised shape"
ok "every variable has an origin" origins "$out"
is "$(json jobs.0.name "$out")" mpi-example "name"
is "$(json jobs.0.dialect "$out")" t9k-mpi "dialect"
is "$(json jobs.0.framework "$out")" mpi "framework"
is "$(json jobs.0.isolation "$out")" names "isolation"
is "$(json jobs.0.roles "$out")" '[{"name": "launcher", "replicas": 1, "slots": 1}, {"name": "worker", "replicas": 5, "slots": 3}]' "roles"
is "$(json jobs.0.processes.# "$out")" 6 "a launcher and five workers"
is "$(json jobs.0.processes.0.replica "$out")" launcher-0 "the launcher's name"
is "$(json jobs.0.processes.0.host "$out")" mpi-example-launcher "its host"
is "$(json jobs.0.processes.1.host "$out")" mpi-example-worker-0 "a worker's host"
is "$(json jobs.0.processes.1.address "$out")" 127.1.0.2 "its address"
is "$(json jobs.0.processes.1.argv "$out")" null "a worker only waits"

run_dir=$XDG_STATE_HOME/muster/runs/RUN_ID scratch=$XDG_RUNTIME_DIR/muster/RUN_ID
is "$(json jobs.0.processes.0.argv "$out")" \
    "[\"$home/bin/mpirun\", \"--prefix\", \"$home\", \"--hostfile\", \"$run_dir/hostfile\", \"-mca\", \"btl\", \"^openib\", \"-N\", \"3\", \"--enable-recovery\", \"--max-restarts\", \"100\", \"--allow-run-as-root\", \"-bind-to\", \"none\", \"./random_walk\", \"20\", \"40\", \"2\"]" \
    "the composed line"
is "$(json jobs.0.processes.0.workdir "$out")" "$WORK" "no /usr/local/code: beside the job file"
is "$(json jobs.0.processes.0.env.OMPI_MCA_orte_fork_agent "$out")" "$scratch/bin/muster-rank" "a default"
is "$(json jobs.0.processes.0.env_origin.OMPI_MCA_orte_fork_agent "$out")" muster "its origin"
is "$(json jobs.0.processes.0.env_origin.HOME "$out")" caller "a variable of the caller"
like "$(json jobs.0.notes "$out")" "working directory /usr/local/code does not exist" "a fallback is told"
like "$(json jobs.0.notes "$out")" "image t9kpublic/mpi-tutorial:2021022-2 is not used" "so is the image"

OMPI_MCA_odls_base_num_threads=4 SOMETHING=else run_muster explain -o json "$job"
is "$(json jobs.0.processes.0.env.OMPI_MCA_odls_base_num_threads "$out")" 4 "the caller wins over a default"
is "$(json jobs.0.processes.0.env_origin.OMPI_MCA_odls_base_num_threads "$out")" caller "and is named"
like "$(json jobs.0.processes.0.env.SOMETHING "$out")" "^no " "other variables are not passed on"

run_muster explain -o json "$job" "$job"
is "$(json jobs.# "$out")" 2 "several files"

# --- MPICH ---------------------------------------------------------------------------------------

rm "$home/bin/orted" "$home/bin/orterun"
for program in mpiexec.hydra hydra_pmi_proxy; do
    printf '#!/bin/sh\n' >"$home/bin/$program"
    chmod +x "$home/bin/$program"
done
ln -sf mpiexec.hydra "$home/bin/mpirun"
run_muster explain -o json "$job"
is "$(json jobs.0.processes.0.argv "$out")" \
    "[\"$home/bin/mpirun\", \"-f\", \"$run_dir/hostfile\", \"-ppn\", \"3\", \"-n\", \"15\", \"-bind-to\", \"none\", \"$scratch/bin/muster-rank\", \"./random_walk\", \"20\", \"40\", \"2\"]" \
    "Hydra's line"
like "$(json jobs.0.notes "$out")" "no equivalent of -mca btl '\^openib', --enable-recovery" "what it lacks is named"

# --- the page ------------------------------------------------------------------------------------

run_muster explain "$job"
is "$rc" 0 "a page for people"
like "$(cat "$out")" "^mpi-example: t9k-mpi M1, framework mpi, isolation names" "the job"
like "$(cat "$out")" "worker +5 replicas of 3 slots" "its roles"
like "$(cat "$out")" "15 ranks expected" "its ranks"
like "$(cat "$out")" "worker-4 +127.1.0.6 +mpi-example-worker-4" "its hosts"
like "$(cat "$out")" "$home/bin/mpirun -f $run_dir/hostfile" "the launcher's line"
like "$(sed -n '/^Notes/,/^Roles/p;/^Roles/q' "$out" | tail -n 1)" "^Roles" "notes come first"
like "$(cat "$out")" "[0-9]+ variables added; use --env" "the environment is counted"
unlike "$(cat "$out")" "\(caller\)" "variables are left out"
run_muster explain --env "$job"
like "$(cat "$out")" "HYDRA_IFACE=lo +\(muster: connects the replicas\)" "a default and its reason"
like "$(cat "$out")" "HOME=$HOME +\(caller\)" "--env shows them"
is "$(grep -c 'MUSTER_INDEX=' "$out")" 6 "of every process"

# --- bad files and bad usage ---------------------------------------------------------------------

sed 's/replicas: 5/replicas: five/' "$example" >"$WORK/bad.yaml"
run_muster explain "$WORK/bad.yaml"
is "$rc" 2 "a bad file"
like "$(cat "$err")" "bad.yaml:7:15: error\[E[0-9]+\]" "is told like a compiler does"
run_muster explain -o json "$WORK/bad.yaml" "$job"
is "$rc" 2 "a bad file among good ones"
is "$(json jobs.# "$out")" 1 "does not hide them"
run_muster explain "$WORK/missing.yaml"
is "$rc" 2 "a missing file"
like "$(cat "$err")" "missing.yaml" "is named"
run_muster explain
is "$rc" 2 "no file at all"
run_muster explain --dialekt x "$job"
is "$rc" 2 "an unknown option"
like "$(cat "$err")" "did you mean --dialect\?" "gets the nearest"
run_muster explain --dialect nonsense "$job"
is "$rc" 2 "an unknown dialect"
run_muster explian "$job"
is "$rc" 2 "an unknown verb"
like "$(cat "$err")" 'did you mean "explain"\?' "gets the nearest"
run_muster explain --help
is "$rc" 0 "help"
like "$(cat "$out")" "^usage: muster explain" "says how"
"$MUSTER" explain "$job" >/dev/full 2>"$err"
is $? 1 "output that cannot be written is a failure"

done_testing
