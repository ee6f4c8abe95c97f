# shellcheck shell=sh disable=SC2154 # $out and $err are those of lib.sh
# What is said is short: nothing twice, equal things once, everything that is missing at once.

# --- the verdict ---------------------------------------------------------------------------------

terminal() # COMMAND…: what it shows on a terminal of 24 rows
{
    python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$@" 2>&1 | tr -d '\r'
}
# shellcheck disable=SC2016 # for the shells of the job
one='[ $RANK = 1 ] || sleep 60; echo the reason; exit 4'
is "$(terminal "$MUSTER" run -n 2 -- sh -c "$one" | grep -c 'the reason')" 1 "on a terminal the last lines are not repeated"
# shellcheck disable=SC2016
is "$(terminal "$MUSTER" run -n 2 -- sh -c '[ $RANK = 1 ] || sleep 60; seq 100; echo the reason; exit 4' |
    grep -c 'the reason')" 2 "but where there was more than fits"
run_job -n 2 -- sh -c "$one"
is "$(grep -c 'the reason' "$err")" 1 "and where they went elsewhere"
is "$(report cause.log_tail.0)" "the reason" "the report has them in any case"

# --- notes and diagnostics -----------------------------------------------------------------------

cat >many.yaml <<'END'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: many}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers:
            - {name: pytorch, image: i:1, imagePullPolicy: Always, command: ['true'], env: [{name: A, valu: 1}]}
    Worker:
      template:
        spec:
          containers:
            - {name: pytorch, image: i:1, imagePullPolicy: Always, command: ['true'], env: [{name: A, valu: 1}]}
END
run_muster validate many.yaml
is "$(grep -c 'unknown key .valu' "$err") $(grep -c '= also at line 15' "$err")" "1 2" "validate: equal findings are one"
run_muster validate -o json many.yaml
is "$(grep -c 'unknown key .valu' "$out")" 2 "validate: programs get all of them"
run_muster explain many.yaml
ok "explain: the image comes before its pull policy" sh -c \
    "sed -n '/^Notes/,\$p' '$out' | grep -n 'image i:1\\|imagePullPolicy' | head -n 1 | grep -q 'image i:1'"
like "$(cat "$out")" 'imagePullPolicy.*\(also at line 15\)' "explain: equal notes are one"
run_muster run many.yaml
ok "run: at most three warnings and a count" test "$(grep -c '^muster: \(warning\|note\)' "$err")" -le 4
like "$(cat "$err")" 'note.*: see .[^ ]*muster explain many.yaml.$' "run: where the others are"

sed 's/command: \[.true.\], //' many.yaml >none.yaml
run_muster run none.yaml
is "$rc" 125 "roles without a command"
like "$(cat "$err")" "master .image i:1., worker .image i:1. have no command" "all of them are named"
like "$(cat "$err")" "use --entrypoint master='CMD' --entrypoint worker='CMD'" "with the options that help"

# --- kinds that are not run ----------------------------------------------------------------------

while read -r version kind hint; do
    printf 'apiVersion: %s\nkind: %s\n' "$version" "$kind" >kind.yaml
    run_muster validate kind.yaml
    like "$(cat "$out" "$err")" "hint: .*$hint" "$version $kind: what to use instead"
done <<'END'
batch/v1 Job muster/v1
training.kubedl.io/v1alpha1 PyTorchJob kubeflow.org/v1
batch.paddlepaddle.org/v1 PaddleJob muster/v1
trainer.kubeflow.org/v1alpha1 TrainJob PyTorchJob
END
echo 'type: sweep_job' >kind.yaml
run_muster validate kind.yaml
like "$(cat "$err")" "an Azure ML sweep job is not supported" "Azure's sweep_job by its name"
