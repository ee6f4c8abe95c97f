#!/bin/sh
# muster sim: what happens to a job file if …, as a time line. The job's own files, no processes.
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1
cp "$TOP/examples/mpi-example.yaml" mpi.yaml
cp "$TOP/examples/azureml/tf-ps.yaml" tf.yaml
cp "$TOP/examples/openpai/ddp.yaml" ddp.yaml

says() # ERE NAME: a line of the time line
{
    like "$(cat "$out")" "$1" "$2"
}

refused() # MESSAGE NAME ARG…
{
    message=$1 name=$2
    shift 2
    run_muster sim "$@"
    is "$rc" 2 "refused: $name"
    like "$(cat "$err")" "$message" "says why"
    is "$(cat "$out")" "" "plays nothing"
}

# --- nothing goes wrong --------------------------------------------------------------------------

run_muster sim mpi.yaml
is "$rc" 0 "a job is played"
says '^00:00:00.000  start +worker-0, worker-1, worker-2, worker-3, worker-4$' "workers first"
says '^00:00:00.100  start +launcher-0$' "the launcher when they answer"
says '^mpi-example: succeeded: 15 ranks on 5 workers exited with status 0$' "the verdict"
says '^run would exit with 0$' "the exit code"
is "$(find "$XDG_STATE_HOME" "$XDG_RUNTIME_DIR" -mindepth 1)" "" "nothing is written"

run_muster sim --duration 2h --scale worker=2 mpi.yaml
says '^02:00:00.400  rank-exited' "--duration"
says '6 ranks on 2 workers' "--scale as in run"

# --- something does ------------------------------------------------------------------------------

run_muster sim --fail worker-2@5m:exit=1 mpi.yaml
is "$rc" 0 "a job that fails is played too"
says '^00:05:00.000  rank-exited  worker-2/6: exit code 1$' "worker 2 fails at minute five"
says '^00:06:00.000  stop +SIGTERM to all \(stalled\)$' "--enable-recovery: mpirun waits, Muster does not"
says '^mpi-example: failed: rank 6 on worker-2 exited with status 1 after 5 min 0 s' "the verdict"
says '^run would exit with 1$' "the exit code"

run_muster sim --fail worker-2@5m:exit=1 --recovery-timeout 10s mpi.yaml
says '^00:05:10.000  stop ' "--recovery-timeout"
run_muster sim --fail worker-2@5m:exit=1 --output 5s mpi.yaml
says '^00:10:1[0-9].[0-9]*  stop ' "output postpones it: the others go on to their end"

run_muster sim --fail worker-1@90s:kill tf.yaml
says '^00:01:30.000  exited +worker-1: ended by SIGKILL$' "a worker is killed"
says '^00:01:30.200  exited +parameter_server-0, parameter_server-1, worker-0, ' "the others are stopped"
says '^run would exit with 137$' "128 + 9"
run_muster sim tf.yaml
says '^00:10:00.101  stop +SIGTERM to all \(completed\)$' "0.32: parameter servers serve until the workers have ended"

run_muster sim --fail worker-1@1s:oom --fail worker-0@500ms:signal=SEGV ddp.yaml
says '^00:00:00.500  exited +worker-0: ended by SIGSEGV$' "a signal by name"
says '^run would exit with 139$' "the first failure counts"

run_muster sim --cancel 3m ddp.yaml
says '^00:03:00.000  cancel +SIGTERM$' "cancelled"
says '^run would exit with 143$' "128 + 15"

run_muster sim --pause 2m --resume 1h ddp.yaml
says '^00:02:00.000  stop +SIGTERM to all \(pause\)$' "paused: everything is stopped"
says '^01:00:00.000  attempt' "resumed: it begins anew"
says '^01:10:00.1[0-9]*  ended +succeeded$' "and runs to its end"
run_muster sim --pause 2m ddp.yaml
says '  ~ +nothing more will happen' "paused, and nobody resumes it"
run_muster sim --debug --resume 1h ddp.yaml
says '^01:00:00.000  stop +SIGTERM to all \(debug\)$' "debugged: until it is resumed"
says '^run would exit with 0$' "and then run"
run_muster sim --hold-on-failure --fail worker-1@1m:exit=4 --resume 10m ddp.yaml
says '^00:01:00.[0-9]*  held +worker-1 exited with status 4' "held after its failure"
says '^run would exit with 4$' "until it is resumed"
run_muster sim --hang 4m ddp.yaml
says '^run would exit with 124$' "found to hang"
run_muster sim --lost 4m ddp.yaml
says '^run would exit with 125$' "its supervisor dies"

# --- by chance -----------------------------------------------------------------------------------

for seed in 1 2 3 4 5; do
    run_muster sim --faults all --seed $seed --fail worker-2@5m:exit=9 mpi.yaml
    cp "$out" first
    run_muster sim --faults all --seed $seed --fail worker-2@5m:exit=9 mpi.yaml
    ok "seed $seed: the same course of events twice" cmp first "$out"
    says '^run would exit with 9$' "seed $seed: the same end whatever gets lost"
done
run_muster sim --faults all --seed 6 --fail worker-2@5m:exit=9 mpi.yaml
differ() { ! cmp -s "$1" "$2"; }
ok "another seed, another course of events" differ first "$out"
run_muster sim --faults crash --seed 1 mpi.yaml
says '~ +the core crashes' "--faults crash"

# --- wrong usage ---------------------------------------------------------------------------------

refused 'exactly one job file is required' "no file"
refused 'REPLICA@TIME:HOW' "no time" --fail worker-2 mpi.yaml
refused 'replica worker-9 not found; did you mean worker-[0-4]' "nobody" --fail worker-9@5m:kill mpi.yaml
refused 'the time must be a duration' "no duration" --fail worker-1@5:kill mpi.yaml
refused 'HOW must be exit=' "no ending" --fail worker-1@5m:exit=256 mpi.yaml
refused 'HOW must be exit=' "no signal" --fail worker-1@5m:signal=FOO mpi.yaml
refused 'not "dorp"' "no fault" --faults drop,dorp mpi.yaml
echo 'a: [' >bad.yaml
refused 'bad.yaml' "a broken file" bad.yaml
refused 'none.yaml' "a missing file" none.yaml

done_testing
