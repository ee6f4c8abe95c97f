#!/bin/sh
# The rows of t/endings.tsv whose engines have kubernetes among them, staged on a real cluster: the same outcome, cause, rank
# and sentence as on one machine (t/t0400-endings.t), and nothing left in the cluster. ENDINGS="name name" runs only those.
#
# about: src/engine/kubernetes src/engine/frames src/shim src/job src/plan t/endings.tsv t/lib/endings.sh
. "${0%/*}/lib.sh"
. "$TOP/t/lib/endings.sh"
need_cluster
have_mpi openmpi || skip_all "no Open MPI here"
in_shares 4 "$TOP/t/kubernetes/endings-table.t"

admin=$KUBECONFIG homes=/muster/run/code
mkdir code.openmpi
(cd code.openmpi && stage_files && cp "$PROGRAMS/openmpi/fault" .)
if have_mpi mpich; then
    cp -R code.openmpi code.mpich
    cp "$PROGRAMS/mpich/fault" code.mpich
    printf '#!/bin/sh\nexec mpiexec.hydra "$@"\n' >code.mpich/mpich/bin/mpirun
    chmod +x code.mpich/mpich/bin/mpirun
fi

up() # all four have said so
{
    [ "$(grep -c '\] up' "$out")" -ge 4 ]
}

stage() # runs the row; sets $rc
{
    rm -f "$REPORT"
    : >"$out"
    set -- --on kubernetes --namespace "$NS" --report "$REPORT" --image "*=local.test/$mpi_dir:4" --code "code.$mpi_dir"
    case $form in
    shell) eval "set -- \"\$@\" $options -n 4 --hosts 2 -- $command" ;;
    *) eval "set -- \"\$@\" $options job.yaml" ;;
    esac
    # a shell's background jobs ignore SIGINT, and muster keeps what was ignored
    env --default-signal=INT timeout -k 5 "$LIMIT" "$MUSTER" run "$@" >"$out" 2>"$err" </dev/null 9>&- &
    waiter=$!
    if [ "$send" != - ]; then
        wait_until 90 up || diag "$name: not up after 90 s"
        muster=$(tr -d " " <"/proc/$waiter/task/$waiter/children")
        for signal in $send; do
            kill "-$signal" "$muster"
            sleep 0.3
        done
    fi
    wait $waiter
    rc=$?
}

left() # ID: what of that run is there, besides pods that are ending
{
    KUBECONFIG=$admin kube get job,configmap,service,secret -l "muster.internal/run=$1" -o name
    KUBECONFIG=$admin kube get pod -l "muster.internal/run=$1" -o 'go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{end}}{{end}}'
}

nothing_left() # ID
{
    [ -z "$(left "$1")" ]
}

run_row()
{
    row_options
    if [ "$mpi_dir" = mpich ] && ! have_mpi mpich; then
        skip "$name: no MPICH here"
        return
    fi
    row_job
    # Two gangs that each have half of the nodes' CPUs would wait for each other.
    case $form in
    gang | tasks | pai1) exec 9>"$ENDINGS_QUEUE.gang" && flock 9 ;;
    esac
    stage
    exec 9>&-
    before=$tests
    if row_report; then
        is "$(report engine)" kubernetes "$name: ran in pods"
        ok "$name: nothing is left" wait_until 60 nothing_left "$got_id"
    fi
    [ "$tests" -gt "$before" ] || result 1 "$name" "compared nothing"
}

KUBECONFIG=$(tester "$TOP/doc/kubernetes-role.yaml") && export KUBECONFIG
each_row kubernetes run_row
if [ -n "$schema_python" ]; then
    ok "the reports' shape" shapes
else
    skip "no python3 here has jsonschema"
fi
done_testing
