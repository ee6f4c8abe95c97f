# shellcheck shell=sh disable=SC2016 # variables are for the job's own shell
# The first words of somebody who comes from another tool: accepted, or answered with the line that works.

for words in "-n 2" "-np 2" "--np 2" "--np=2" "--ntasks 2" "--nproc-per-node 2" "--nproc_per_node=1 --nnodes=2" "--nnodes 2 --nproc-per-node 1"; do
    # shellcheck disable=SC2086 # words
    run_job $words sh -c 'echo "$RANK of $WORLD_SIZE"'
    is "$rc $(sed 's/^[^ ]* //' "$out" | sort | tr '\n' ' ')" "0 0 of 2 1 of 2 " "run $words CMD: without --"
done
run_job -n 1 -- sh -c 'echo "$1"' sh --report
is "$(cat "$out")" "[worker-0/0] --report" "a command's options are its own"
run_job -n 1 sh -c 'echo "$1"' sh --report
is "$(cat "$out")" "[worker-0/0] --report" "also without --"

mkdir -p "$WORK/words"
echo 'print("trained")' >"$WORK/words/Train_all.py"
cd "$WORK/words" || exit 1
run_job -n 2 Train_all.py
is "$rc $(grep -c trained "$out") $(report job.name)" "0 2 train-all" "a Python script is started with python3, and names the run"
run_job --name first -n 1 -- true
is "$(report job.name)" first "--name"
run_muster run --name 'Not a name' -n 1 -- true
is "$rc" 125 "--name: a name that cannot be one"

answers() # WORDS ANSWER
{
    # shellcheck disable=SC2086 # words
    run_muster $1
    like "$rc $(cat "$err")" "$2" "muster $1"
}
answers "run Train_all.py" '^125 .*to start Train_all.py: [^ ]*muster run -n 1 -- python3 Train_all.py$'
answers "run python3 Train_all.py --lr 3" '^125 .*: [^ ]*muster run -n 1 -- python3 Train_all.py --lr 3$'
answers "run Train_all.py -n 4" '^125 .*-n must come before the command: [^ ]*muster run -n 4 -- python3 Train_all.py$'
answers "run -n 4 job.yaml" '^125 .*to run the job file: [^ ]*muster run job.yaml'
answers "run -n 3 --hosts 2 true" '^125 .*-n 3 is not a multiple of --hosts 2$'
answers "run -n 2" '^125 .*-n requires a command: [^ ]*muster run -n N -- CMD'
answers "run" '^125 .*a job FILE is required, or -n N -- CMD'
answers "run --name x job.yaml" '^125 .*--name requires -n$'
answers "get" '^2 .*unknown command "get"; use: [^ ]*muster list'
answers "apply -f job.yaml" '^2 .*cannot open job.yaml: No such file or directory'
answers "rm x" '^2 .*unknown command "rm"; use: [^ ]*muster delete RUN'
answers "-n 4 Train_all.py" '^2 .*unknown option "-n"; use: [^ ]*muster run -n N -- CMD'
answers "-V" '^2 .*; use: [^ ]*muster --version'
answers "job.yaml" '^2 .*to run a job file: [^ ]*muster run job.yaml'
answers "lits" '^2 .*did you mean "list"'
run_muster ps
is "$rc" 0 "muster ps is muster list"
run_muster run -n 2 --require-gpus -- true
like "$rc $(cat "$err")" '^125 .*the job requests 2 GPUs' "--require-gpus with -n: one for each process"
cd "$WORK" || exit 1

# What mpirun, torchrun and srun would have understood.
cd "$WORK/words" || exit 1
printf '#!/bin/sh\necho hello\n' >hello
chmod +x hello
answers "run -np 4 -host a:2,b:2 ./hello" '^125 .*unknown option -host; use --hosts H'
answers "run -np 4 -hostfile h ./hello" '^125 .*unknown option -hostfile; use --hosts H'
answers "run -n 2 -x FOO ./hello" '^125 .*unknown option -x; your environment is passed on'
answers "run -n 2 --node_rank 0 ./hello" '^125 .*unknown option --node_rank; Muster sets this'
answers "run --map data=x job.yaml" '^125 .*must be absolute, or the address of an input .*--set inputs.NAME.path=PATH'
answers "run --inputs data=x job.yaml" '^125 .*unknown option --inputs; to set an input: --set inputs.NAME=VALUE'
answers "run --dry-run job.yaml" '^125 .*muster explain FILE'
answers "run -n 0 true" '^125 .*-n must be a number ≥ 1, not "0"'
answers "run -n 2 FOO=1 ./hello" '^125 .*set variables before muster: FOO=1 [^ ]*muster run'
answers "run mpirun -np 2 ./hello" '^125 .*muster run -n 2 -- ./hello$'
answers "run --hosts 2 Train_all.py" '^125 .*muster run -n 2 --hosts 2 -- python3 Train_all.py$'
run_muster run -n 2 'python3 Train_all.py'
like "$rc $(cat "$err")" '^125 .*must not be quoted as a whole: [^ ]*muster run -n 2 -- python3 Train_all.py$' "a command in quotes"
run_job --standalone --nproc-per-node 2 --oversubscribe ./hello
is "$rc $(grep -c hello "$out")" "0 2" "options that say what is so anyway"

# What cannot start: said once, with the remedy, and nothing is left.
rm -rf "$XDG_STATE_HOME/muster"
run_job -n 2 hello
like "$rc $(cat "$err")" "^127 muster: error: hello not found on PATH; $WORK/words/hello exists: use ./hello\$" "a program that is not on PATH but here"
like "$(cat "$err")" '^muster: hello was not started; exit code 127$' "is not started"
is "$(wc -l <"$err") $(report cause.kind) $(find "$XDG_STATE_HOME/muster/runs" -mindepth 1 | wc -l)" "2 exec 0" "with a report, in two lines, leaving nothing"
run_job -n 1 python3 nosuch.py
like "$rc $(cat "$err")" "^127 muster: error: nosuch.py not found in $WORK/words\$" "a script that is not here"
run_muster show 20200101-102259-b78y
like "$(cat "$err")" 'run 20200101-102259-b78y not found' "a run that is gone: no guess"
cd "$WORK" || exit 1
