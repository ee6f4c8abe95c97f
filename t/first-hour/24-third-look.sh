# shellcheck shell=sh disable=SC2016,SC2154 # variables are for the job's own shell; those of lib.sh
# What a third new user stumbled over.

# Variables of the caller that Muster sets itself: ignored, and said so.
MASTER_PORT=29501 RANK=3 OTHER=x "$MUSTER" run -n 1 -- sh -c 'echo "$RANK $OTHER $MASTER_PORT"' >"$out" 2>"$err"
like "$(cat "$err")" 'warning: ignoring (MASTER_PORT, RANK|RANK, MASTER_PORT) from your environment: Muster sets them for every process; to use port 29501: -- env MASTER_PORT=29501 CMD' "MASTER_PORT of the caller: ignored with a warning"
like "$(cat "$out")" '^.worker-0/0. 0 x [0-9]+$' "and the others are passed on"
unlike "$(cat "$out")" ' 29501$' "the port is Muster's"
WORLD_SIZE=7 "$MUSTER" run -n 1 -- true >"$out" 2>"$err"
like "$(cat "$err")" 'warning: ignoring WORLD_SIZE from your environment: Muster sets it for every process$' "one variable: no port to speak of"
(
    unset MASTER_ADDR MASTER_PORT RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE NODE_RANK
    "$MUSTER" run -n 1 -- env MASTER_PORT=29501 sh -c 'echo "$MASTER_PORT"' >"$out" 2>"$err"
)
is "$(cat "$out") $(grep -c ignoring "$err")" "[worker-0/0] 29501 0" "what the warning says to type works, and is not warned about"
RANK=3 "$MUSTER" run -n 1 --clean-env -- true >"$out" 2>"$err"
unlike "$(cat "$err")" ignoring "--clean-env: nothing is passed on, nothing is ignored"

# A batch script for Slurm.
mkdir slurm
cd slurm || exit 1
slurm() # LINES ANSWER NAME
{
    printf "#!/bin/bash\n%b" "$1" >batch.sh
    run_muster run batch.sh
    is "$rc $(cat "$err")" "125 muster: error: batch.sh: Slurm batch script; #SBATCH options are not read
try: $MUSTER run $2" "Slurm: $3"
}
slurm '#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=2 # each\nsrun python3 train.py --lr 3\n' "-n 4 --hosts 2 -- python3 train.py --lr 3" "nodes and tasks per node"
slurm '#SBATCH -N 2 -n8\n\nmpirun -np 8 ./pi\n' "-n 8 --hosts 2 -- ./pi" "letters, mpirun"
slurm '#SBATCH --ntasks 3\n#SBATCH -N2-4\nsrun ./a\n' "-n 3 -- ./a" "tasks that the nodes do not divide"
slurm '#SBATCH --nodes=2\nsrun python3 train.py $ARGS\n' "-n 2 --hosts 2 -- CMD…" "what only a shell can read"
slurm '#SBATCH --nodes=2\nsrun ./a\nsrun ./b\n' "-n 2 --hosts 2 -- CMD…" "two steps"
slurm '#SBATCH --nodes=2\nsrun --mpi=pmix ./a\n' "-n 2 --hosts 2 -- CMD…" "options of srun"
slurm '#SBATCH --time=1:00\npython3 train.py\n#SBATCH --nodes=9\n' "-n 1 -- bash batch.sh" "no step; options end at the first command"
run_muster run bash batch.sh
like "$rc $(cat "$err")" "^125 .*batch.sh: Slurm batch script" "Slurm: with its interpreter"
printf '#!/bin/bash\n#SBATCH --nodes=2\necho "ran $RANK"\n' >batch.sh
run_job -n 1 batch.sh
is "$rc $(cat "$out")" "0 [worker-0/0] ran 0" "Slurm: with -n it is a script like any other"
like "$(cat "$err")" "note: the #SBATCH options of batch.sh are not read" "Slurm: and its options are mentioned"
printf '#!/bin/bash\necho "#SBATCH"\n' >batch.sh
run_muster run batch.sh
like "$(cat "$err")" "to start batch.sh: .* -- bash batch.sh$" "Slurm: a script without options is none"
cd "$WORK" || exit 1

# Hints name the program as it was typed, unless it is on PATH.
(
    cd "${MUSTER%/*}" || exit 1
    ./muster run train.py >"$out" 2>"$err"
    ./muster get >"$out" 2>>"$err"
    ./muster show no-such-run >"$out" 2>>"$err"
)
is "$(grep -c ' \./muster \(run\|list\|--help\)' "$err") $(grep -c ' muster \(run\|list\|--help\)' "$err")" "5 0" "hints: ./muster is what was typed" || diag "$(cat "$err")"
(PATH=${MUSTER%/*}:$PATH && muster run train.py) >"$out" 2>"$err"
like "$(cat "$err")" "to start train.py: muster run -n 1 -- python3 train.py" "hints: on PATH it is muster"
mkdir -p "with space"
ln -s "$MUSTER" "with space/muster"
"with space/muster" get >"$out" 2>"$err"
like "$(cat "$err")" "^try: 'with space/muster' --help$" "hints: quoted for the shell"
"$MUSTER" run -n 1 -- 'the muster runs' >"$out" 2>"$err"
like "$(cat "$err")" "the muster runs" "hints: a word of a sentence stays"

# cancel is named, not the signal that stands for it.
"$MUSTER" run --report "$REPORT" --name called-off -n 1 -- sh -c 'echo up; exec sleep 60' >"$out" 2>"$err" &
pid=$!
wait_until 20 grep -q up "$out"
"$MUSTER" cancel called-off >/dev/null
wait $pid
is "$? $(report outcome) $(report cause.kind) $(report exit_code)" "143 cancelled cancelled 143" "cancel: exit code and outcome"
like "$(report verdict)" "^cancelled by muster cancel" "cancel: the verdict names it"
like "$(cat "$err")" "called-off cancelled by muster cancel" "cancel: on the screen too"
run_muster events called-off
like "$(cat "$out")" "cancel +SIGTERM +requested" "cancel: in the journal"

# A script that reads RANK, started as an MPI world.
if have_mpi openmpi; then
    run_job -n 2 --mpi -- python3 -c 'import os; os.environ["RANK"]'
    like "$(cat "$err")" 'hint: RANK is not set in this job, which mpirun starts; without --mpi, [^ ]*muster run -n sets it' "--mpi: RANK is not set"
else
    skip "no Open MPI here"
fi
