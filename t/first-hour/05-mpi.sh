# shellcheck shell=sh disable=SC2016 # variables are for the job's own shell
# run -n of an MPI program: one world, never several of size 1 that succeed.

for mpi in openmpi mpich; do
    if ! have_mpi $mpi; then
        skip "no $mpi here" 4
        continue
    fi
    run_job -n 4 --hosts 2 -- "$PROGRAMS/$mpi/random_walk" 20 10 5
    is "$rc $(grep -c '^\[worker-[01]/[0-3]\] rank [0-3] of 4' "$out")" "0 4" "run -n, $mpi: one world of four ranks"
    like "$(cat "$err")" 'is linked with libmpi.*: started as one MPI world with mpirun' "run -n, $mpi: which is told"
    is "$(report attempts.0.ranks.#) $(report job.framework)" "4 mpi" "run -n, $mpi: the report has its ranks"
    run_job -n 2 --no-mpi -- "$PROGRAMS/$mpi/random_walk" 20 10 5
    is "$rc $(grep -c 'rank 0 of 1' "$out")" "0 2" "run -n --no-mpi, $mpi: separate processes if that is wanted"
done
if have_mpi openmpi; then
    run_job -n 1 -- "$PROGRAMS/openmpi/random_walk" 20 10 5
    is "$rc $(report job.framework)" "0 none" "run -n 1: a single process needs no launcher"
    run_job -n 2 --mpi -- sh -c 'echo "$OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE"; exit 3'
    is "$rc $(report job.framework)" "3 mpi" "run -n --mpi: whatever the program is"
    echo words | "$MUSTER" run -n 2 --mpi -- cat >"$out" 2>"$err"
    is "$(cat "$out")" "[worker-0/0] words" "run -n --mpi: rank 0 reads stdin"
else
    skip "no Open MPI here" 3
fi

mkdir -p "$WORK/py"
echo 'from mpi4py import MPI' >"$WORK/py/world.py"
printf 'try:\n    import mpi4py\nexcept ImportError:\n    pass\nprint("fine")\n' >"$WORK/py/maybe.py"
for command in "python3 world.py" "python3 -u world.py x" "world.py"; do
    # shellcheck disable=SC2086 # words
    (cd "$WORK/py" && exec "$MUSTER" run -n 2 -- $command) >"$out" 2>"$err"
    is $? 125 "$command: not started without a word"
    like "$(cat "$err")" 'world.py imports mpi4py: use --mpi .* or --no-mpi' "$command: the option is named"
done
(cd "$WORK/py" && exec "$MUSTER" run -n 2 -- python3 maybe.py) >"$out" 2>"$err"
is "$? $(grep -c fine "$out")" "0 2" "an import that may not happen is none"
# One that may not happen at this place may happen all the same.
printf 'def main():\n    import mpi4py\nif False:\n    main()\n' >"$WORK/py/later.py"
(cd "$WORK/py" && exec "$MUSTER" run -n 2 -- python3 later.py) >"$out" 2>"$err"
like "$? $(cat "$err")" '^0 .*warning: later.py may import mpi4py: .* world of size 1; use --mpi' "an import inside a function is warned about"
(cd "$WORK/py" && exec "$MUSTER" run -n 2 --no-mpi -- python3 later.py) >"$out" 2>"$err"
unlike "$(cat "$err")" 'mpi4py' "not with --no-mpi"

# What starts another program is looked through: wrappers, a shell, a script.
if have_mpi openmpi; then
    mkdir -p "$WORK/wrapped"
    cd "$WORK/wrapped" || exit 1
    ln -s "$PROGRAMS/openmpi/random_walk" walk
    for wrapper in "nice -n 1" "env A=1" "timeout 50"; do
        # shellcheck disable=SC2086 # words
        run_job -n 2 -- $wrapper ./walk 20 10 5
        is "$rc $(grep -c 'rank [01] of 2' "$out")" "0 2" "run -n, $wrapper: one world"
    done
    run_job -n 2 -- sh -c './walk 20 10 5'
    is "$rc $(grep -c 'rank [01] of 2' "$out")" "0 2" "run -n, sh -c: one world"
    printf '#!/bin/sh\nset -e\n./walk 20 10 5\necho after\n' >start.sh
    chmod +x start.sh
    for command in "./start.sh" "bash start.sh"; do
        # shellcheck disable=SC2086 # words
        run_job -n 2 -- $command
        is "$rc $(cat "$out")" "125 " "run -n, $command: not started without a word"
        like "$(cat "$err")" './walk is linked with libmpi.*: use --mpi .* or --no-mpi' "run -n, $command: the options are named"
    done
    run_job -n 2 --mpi -- ./start.sh
    is "$rc $(grep -c 'rank [01] of 2' "$out")" "0 2" "run -n --mpi, a script: one world"
    cat >native.yaml <<'YAML'
apiVersion: muster/v1
name: native
roles: {worker: {replicas: 2, command: ./walk 20 10 5}}
YAML
    run_muster run native.yaml
    like "$(cat "$err")" 'warning: worker: ./walk is linked with libmpi.*world of size 1; use .framework: mpi' "a file whose processes would be worlds of size 1"
    sed -i 's/^roles:.*/framework: mpi\nroles: {worker: {replicas: 2, command: .\/walk 20 10 5}}/' native.yaml
    run_muster run native.yaml
    is "$rc $(grep -c 'rank [01] of 2' "$out") $(grep -c 'size 1' "$err")" "0 2 0" "a file: what the warning says to add works"
    if command -v mpicc.openmpi gcc >/dev/null; then
        echo '#include <mpi.h>
int go(void) { int n; MPI_Init(0, 0); MPI_Comm_size(MPI_COMM_WORLD, &n); MPI_Finalize(); return n == 2 ? 0 : 9; }' >go.c
        echo 'int go(void); int main(void) { return go(); }' >main.c
        mpicc.openmpi -shared -fPIC -o libgo.so go.c && gcc -o through main.c -L. -lgo -Wl,-rpath,"\$ORIGIN"
        run_job -n 2 -- ./through
        like "$rc $(cat "$err")" '^9 .*warning: ./through is linked with libgo.so, which needs libmpi.*world of size 1; use --mpi' \
            "run -n: a library of the program needs an MPI"
        run_job -n 2 --mpi -- ./through
        is "$rc" 0 "run -n --mpi: what the warning says to add works"
    else
        skip "no compiler" 2
    fi
    cd "$WORK" || exit 1
else
    skip "no Open MPI here" 13
fi

# Several copies of a launcher are never meant.
run_muster run -n 4 -- mpirun -np 2 ./pi
like "$rc $(cat "$err")" '^125 .*-n 4 would start mpirun 4 times; .*: [^ ]*muster run -n 4 -- ./pi$' "run -n 4 mpirun: the line that works"
run_muster run -n 4 --hosts 2 -- torchrun --nproc-per-node 2 train.py
like "$rc $(cat "$err")" '^125 .*muster run -n 4 --hosts 2 -- python3 train.py$' "run -n 4 torchrun: the line that works"
run_muster run -n 4 -- mpirun --bind-to core -np 2 ./pi
like "$rc $(cat "$err")" '^125 .*-n 4 would start mpirun 4 times; to start it once: [^ ]*muster run -n 1 -- mpirun --bind-to core -np 2 ./pi$' "run -n 4 mpirun: with other options"
