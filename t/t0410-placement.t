#!/bin/sh
# Every rank runs inside its own replica: the (rank, host) pairs that the example prints are the
# plan's, with Open MPI and MPICH, as root and as an ordinary user.
. "${0%/*}/lib.sh"

planned() # FILE: "rank host", three ranks to a worker, workers in the plan's order
{
    "$MUSTER" explain -o json "$1" 2>/dev/null | python3 -c '
import json, sys
job = json.load(sys.stdin)["jobs"][0]
slots = {r["name"]: r["slots"] for r in job["roles"]}
hosts = [p["host"] for p in job["processes"] if p["role"] == "worker"]
for i, host in enumerate(h for h in hosts for _ in range(slots["worker"])):
    print(i, host)'
}

printed() # what the ranks said on stdout: "[worker-1/4] rank 4 of 15 on HOST: …"
{
    sed -nE 's/^\[worker-[0-9]+\/([0-9]+)\] rank ([0-9]+) of [0-9]+ on ([^:]+):.*/\1 \2 \3/p' "$1" |
        awk '$1 == $2 { print $2, $3 }' | sort -n
}

job_dir() # DIR IMPLEMENTATION: the example's file and program; MPICH gets its home and no flags
{
    mkdir -p "$1"
    cp "$PROGRAMS/$2/random_walk" "$1"
    case $2 in
    openmpi) cp "$TOP/examples/mpi-example.yaml" "$1/job.yaml" ;;
    mpich)
        mkdir -p "$1/home/bin"
        ln -s "$(command -v mpiexec.hydra)" "$1/home/bin/mpirun"
        sed -e '/--enable-recovery/d' -e '/--max-restarts/d' -e '/"100"/d' -e '/--allow-run-as-root/d' \
            -e '/mca:/d' -e '/btl:/d' -e "s,mpiHome:.*,mpiHome: $1/home," \
            "$TOP/examples/mpi-example.yaml" >"$1/job.yaml"
        ;;
    esac
}

check() # WHO IMPLEMENTATION OUTPUT REPORT FILE
{
    is "$rc" 0 "$1, $2: ends with 0"
    is "$(printed "$3")" "$(planned "$5")" "$1, $2: each rank in the replica of the plan"
    is "$(json 'attempts.0.ranks.#' "$4")" 15 "$1, $2: 15 ranks in the report"
    is "$(json status.phase "$4")" Succeeded "$1, $2: T9k's phase"
}

for mpi in openmpi mpich; do
    if ! have_mpi $mpi; then
        skip "no $mpi here" 8
        continue
    fi
    job_dir "$WORK/$mpi" $mpi
    run_job "$WORK/$mpi/job.yaml"
    check "this user" $mpi "$out" "$REPORT" "$WORK/$mpi/job.yaml"

    if ! can_be_user; then
        skip "cannot become a user that may have namespaces" 4
        continue
    fi
    user_copy
    job_dir "$USER_DIR/$mpi" $mpi
    chown -R "$USER_ID" "$USER_DIR/$mpi"
    as_user timeout 60 "$USER_DIR/muster" run --report "$USER_DIR/$mpi/report" "$USER_DIR/$mpi/job.yaml" \
        >"$out" 2>"$err" </dev/null
    rc=$?
    check "an ordinary user" $mpi "$out" "$USER_DIR/$mpi/report" "$USER_DIR/$mpi/job.yaml"
done
done_testing
