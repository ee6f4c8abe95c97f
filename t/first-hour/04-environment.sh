# shellcheck shell=sh disable=SC2016 # variables are for the job's own shell
# run -n passes on the caller's environment, as torchrun and mpirun do; a file's job gets the list.

FIRST_HOUR=seen NCCL_DEBUG=INFO "$MUSTER" run -n 1 -- sh -c 'echo "$FIRST_HOUR $NCCL_DEBUG"' >"$out" 2>"$err"
is "$(cat "$out")" "[worker-0/0] seen INFO" "run -n: the caller's variables reach the job"
FIRST_HOUR=seen "$MUSTER" run -n 1 --clean-env -- sh -c 'echo "[$FIRST_HOUR] ${HOME##*/}"' >"$out" 2>"$err"
is "$(cat "$out")" "[worker-0/0] [] home" "run -n --clean-env: only the list"
RANK=9 MUSTER_JOB=x MASTER_PORT=1 "$MUSTER" run -n 1 -- sh -c 'test $RANK = 0 -a $MUSTER_JOB = sh -a $MASTER_PORT != 1' >"$out" 2>"$err"
is $? 0 "run -n: but not those that Muster sets"

MY_API_TOKEN=hunter2 "$MUSTER" run --run-dir "$WORK/secret-run" -n 1 -- sh -c 'test ${#MY_API_TOKEN} = 7' >"$out" 2>"$err"
is "$? $(grep -rl hunter2 "$WORK/secret-run" "$err")" "0 " "run -n: a token reaches the job and no file"

cat >"$WORK/uses.yaml" <<'YAML'
apiVersion: muster/v1
name: uses
roles:
  worker:
    command: echo "model $HF_HOME, $SHELL, ${GIVEN}, ${DEFAULT:-x}"
    env: {GIVEN: y}
YAML
HF_HOME=/models GIVEN=z DEFAULT=z "$MUSTER" run "$WORK/uses.yaml" >"$out" 2>"$err"
like "$(cat "$err")" 'uses HF_HOME, which is set in your environment but not passed on; use --inherit-env HF_HOME' "a file's job: a variable that is not passed on is told"
unlike "$(cat "$err")" 'uses (SHELL|GIVEN|DEFAULT)' "and only such a one"
HF_HOME=/models "$MUSTER" run --inherit-env HF_HOME "$WORK/uses.yaml" >"$out" 2>"$err"
unlike "$(cat "$err")" 'HF_HOME' "--inherit-env: nothing is told"
like "$(cat "$out")" 'model /models,' "and the job has it"
