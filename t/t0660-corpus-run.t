#!/bin/sh
# Accepted job files are planned and, with their commands replaced by a program that meets all its peers, run.
#
# Those of examples/ always; of the corpus in MUSTER_CORPUS a few, chosen by MUSTER_TEST_SEED, and in `make soak`
# all. MPI jobs run the program under a real mpirun.
. "${0%/*}/lib.sh"
have_mpi openmpi || skip_all "no Open MPI here"

python=${schema_python:-python3}
[ -n "$schema_python" ] || skip "no python3 here has jsonschema: shapes are not looked at"
export PYTHONDONTWRITEBYTECODE=1
tab=$(printf '\t')

try() # NAME FILE…: a test for each accepted file
{
    name=$1
    shift
    mkdir -p "$WORK/stand-ins"
    "$python" "$TOP/t/corpus_run.py" "$MUSTER" "$PROGRAMS/libprog/documents" "$WORK/stand-ins" "$@" >"$WORK/rows" 2>"$err"
    is "$?" 0 "$name are tried" || diag "$(tail -n 5 "$err")"
    while IFS=$tab read -r what file why; do
        is "$what" fine "${file#"$TOP"/}: ${why%% *} met" || diag "$why"
    done <"$WORK/rows"
    diag "$name: $(grep -c ^fine "$WORK/rows") of $# files are accepted and run"
}

# shellcheck disable=SC2046
try examples $(find "$TOP/examples" -name '*.yaml' -o -name '*.json' | sort)
ok "there are examples of every dialect" test "$(grep -c ^fine "$WORK/rows")" -ge 20

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
like "$(cat "$out")" 'only 2 of 3 are here' "which is told"

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
    try "the corpus' files" $(cat "$WORK/some")
fi
done_testing
