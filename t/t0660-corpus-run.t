#!/bin/sh
# Accepted job files are planned and, with their commands replaced by a program that meets all its peers, run.
#
# Those of examples/ always; of the corpus in MUSTER_CORPUS a few, chosen by MUSTER_TEST_SEED, and in `make soak`
# all. MPI jobs run the program under a real mpirun. Some are run a second time at the level `network`.
. "${0%/*}/lib.sh"
have_mpi openmpi || skip_all "no Open MPI here"

python=${schema_python:-python3}
[ -n "$schema_python" ] || skip "no python3 here has jsonschema: shapes are not looked at"
export PYTHONDONTWRITEBYTECODE=1
tab=$(printf '\t')

try() # NAME LEVEL FILE…: a test for each accepted file
{
    name=$1 level=$2
    shift 2
    mkdir -p "$WORK/stand-ins"
    "$python" "$TOP/t/corpus_run.py" "$MUSTER" "$PROGRAMS/libprog/documents" "$WORK/stand-ins" "$level" "$@" >"$WORK/rows" 2>"$err"
    is "$?" 0 "$name are tried" || diag "$(tail -n 5 "$err")"
    while IFS=$tab read -r what file why; do
        is "$what" fine "${file#"$TOP"/}, $level: ${why%% *} met" || diag "$why"
    done <"$WORK/rows"
    diag "$name, $level: $(grep -c ^fine "$WORK/rows") of $# files are accepted and run"
}

# shellcheck disable=SC2046
try examples auto $(find "$TOP/examples" -name '*.yaml' -o -name '*.json' | sort)
ok "there are examples of every dialect" test "$(grep -c ^fine "$WORK/rows")" -ge 20

# --- init containers ------------------------------------------------------------------------------

# One with a command of the cluster, one with its image's own, and one of each in both roles.
cat >"$WORK/launched.yaml" <<END
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: launched}
spec:
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          initContainers:
          - {name: wait, image: a, command: [/opt/wait-for-workers], args: [--all]}
          - {name: fetch, image: a}
          containers: [{name: c, image: a, command: [mpirun, /opt/train]}]
    Worker:
      replicas: 2
      template:
        spec:
          initContainers: [{name: wait, image: a}]
          containers: [{name: c, image: a}]
END
cat >"$WORK/plain.yaml" <<END
apiVersion: muster/v1
name: plain
roles:
  worker:
    replicas: 2
    command: /opt/train
    init: [{name: fetch, command: [/opt/fetch]}]
END
try "files with init containers" auto "$WORK/launched.yaml" "$WORK/plain.yaml"
is "$(cut -f 3 "$WORK/rows")" "2 on 2, 3 init containers
2 on 2, 1 init containers" "all of them have run"

# --- at the level network --------------------------------------------------------------------------

"$MUSTER" run --isolate network -n 1 -- true >"$out" 2>"$err" </dev/null
network=$?
if [ $network -eq 0 ]; then
    try "some of them" network "$WORK/launched.yaml" "$TOP/examples/openpai/ddp.yaml" "$TOP/examples/kubeflow/tf.yaml"
    is "$(grep -c ^fine "$WORK/rows")" 3 "an MPIJob, an OpenPAI job, a TFJob"
else
    skip "no level network here: $(cat "$err")" 5
fi

# --- it would be seen -----------------------------------------------------------------------------

# A peer that is not there.
cat >"$WORK/two.yaml" <<END
apiVersion: muster/v1
name: two
roles: {worker: {replicas: 2, command: "python3 $TOP/t/lib/meet_all.py \$COUNT", env: {COUNT: "2"}}}
END
run_job "$WORK/two.yaml"
is "$rc $(grep -c 'met 2' "$out")" "0 2" "two meet"
run_job --set roles.worker.env.PATIENCE=1 --set roles.worker.env.COUNT=3 "$WORK/two.yaml"
is "$rc" 1 "two do not make three"
like "$(cat "$err")" 'only 2 of 3 are here' "which is told"

# --- the corpus -----------------------------------------------------------------------------------

if [ -z "${MUSTER_CORPUS:-}" ]; then
    skip "MUSTER_CORPUS is not set"
else
    seed=${MUSTER_TEST_SEED:-$(date +%s)}
    diag "MUSTER_TEST_SEED=$seed"
    find "$MUSTER_CORPUS" \( -name '*.y*ml' -o -name '*.json' \) ! -path '*/crafted/*' | sort >"$WORK/all"
    if [ -z "$SOAK" ]; then
        "$python" -c "import random, sys; print(*random.Random($seed).sample(sys.stdin.read().split(), 20), sep='\n')" \
            <"$WORK/all" >"$WORK/some"
    else
        cp "$WORK/all" "$WORK/some"
    fi
    # shellcheck disable=SC2046
    try "the corpus' files" auto $(cat "$WORK/some")
    # shellcheck disable=SC2046
    [ $network -ne 0 ] || try "the corpus' files" network $(if [ -z "$SOAK" ]; then tail -n 4 "$WORK/some"; else cat "$WORK/some"; fi)
fi
done_testing
