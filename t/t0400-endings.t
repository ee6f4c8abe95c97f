#!/bin/sh
# Every row of endings.tsv, staged for real: exit code, outcome, who was first, how, in what words;
# afterwards nothing of the run is left. ENDINGS="name name" runs only those.
. "${0%/*}/lib.sh"
. "${0%/*}/lib/endings.sh"
have_mpi openmpi || skip_all "no Open MPI here"
in_shares 3 "$0"

cd "$WORK" || exit 1
homes=$WORK
stage_files
if have_mpi mpich; then ln -s "$(command -v mpiexec.hydra)" mpich/bin/mpirun; fi

up() # all four have said so
{
    [ "$(grep -c '\] up' "$out")" -ge 4 ]
}

stage() # runs the row; sets $rc
{
    program=$MUSTER
    [ -z "$fault" ] || program=$MUSTER_FAULTY
    rm -f "$REPORT"
    : >"$out" # the row before may have said "up" in it
    case $form in
    shell) eval "set -- $options -n 4 --hosts 2 -- $command" ;;
    *) eval "set -- $options job.yaml" ;;
    esac
    # a shell's background jobs ignore SIGINT, and muster keeps what was ignored
    MUSTER_FAULT=$fault env --default-signal=INT timeout -k 5 60 "$program" run --report "$REPORT" "$@" >"$out" 2>"$err" </dev/null &
    waiter=$!
    if [ "$send" != - ]; then
        wait_until 30 up || diag "$name: not up after 30 s"
        muster=$(tr -d " " <"/proc/$waiter/task/$waiter/children")
        for signal in $send; do
            kill "-$signal" "$muster"
            sleep 0.3
        done
    fi
    wait $waiter
    rc=$?
}

run_row()
{
    row_options
    if [ "$mpi_dir" = mpich ] && ! have_mpi mpich; then
        skip "$name: no MPICH here"
        return
    fi
    if [ -n "$limit" ] && [ "$(id -u)" -ne 0 ]; then
        skip "$name: only root may set limits here"
        return
    fi
    ln -sf "$PROGRAMS/$mpi_dir/fault" fault
    row_job
    stage
    before=$tests
    if row_report; then
        is "$(survivors "$got_id")" "" "$name: nothing is left"
        is "$(find "$XDG_RUNTIME_DIR" -mindepth 2)" "" "$name: no scratch is left"
    fi
    [ "$tests" -gt "$before" ] || result 1 "$name" "compared nothing"
}

each_row local run_row
if [ -n "$schema_python" ]; then
    ok "the reports' shape" shapes
else
    skip "no python3 here has jsonschema"
fi
done_testing
