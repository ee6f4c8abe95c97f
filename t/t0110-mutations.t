#!/bin/sh
# Wrong files, made at random: never a crash, never a leak, never a message without a place.
#
# MUSTER_TEST_SEED repeats a run; `make soak` makes more of them.
. "${0%/*}/lib.sh"

seed=${MUSTER_TEST_SEED:-$(date +%s)}
count=100
[ -z "$SOAK" ] || count=3000
diag "MUSTER_TEST_SEED=$seed"

files=$WORK/files
mkdir "$files"
ok "mutations are made" python3 "$TOP/t/mutate.py" "$seed" "$count" "$files" \
    "$TOP/examples/mpi-example.yaml" "$TOP/t/validate/m1.yaml" "$TOP/t/validate/m2.yaml" \
    "$TOP/examples/azureml/"*.yaml "$TOP/examples/openpai/"*.yaml "$TOP/examples/openpai/"*.json \
    "$TOP/t/validate/m1.json" "$TOP/fuzz/corpus/openpai-v2/templates.yaml" "$TOP"/fuzz/corpus/kubeflow-*/*.yaml

keep() # FILE: what made a test fail outlives it
{
    cp "$1" "/tmp/mutation-$seed-${1##*/}" && diag "kept as /tmp/mutation-$seed-${1##*/}"
}

told=$WORK/told
mkdir "$told"
accepted=0
for f in "$files"/*; do
    name=${f##*/}
    run_muster validate -o json "$f"
    cp "$out" "$told/$name"
    case $rc in
    0)
        accepted=$((accepted + 1))
        run_muster explain -o json "$f"
        is "$rc" 0 "$name: what is accepted can be explained" || keep "$f"
        ;;
    2)
        run_muster validate "$f"
        like "$(cat "$err")" ':[0-9]+:[0-9]+: error\[E[0-9]{4}\]: .' "$name: for people" || keep "$f"
        ;;
    *)
        is "$rc" "0 or 2" "$name: $(tail -n 20 "$err")" || keep "$f"
        ;;
    esac
done
diag "$accepted of $count are still good"

"${schema_python:-python3}" - "$TOP/doc/schema/validate.json" "$told"/* >"$WORK/checked" <<'PYTHON'
import json, os, sys
try:
    from jsonschema import Draft7Validator
    validate = Draft7Validator(json.load(open(sys.argv[1]))).validate
except ImportError:
    print('# SKIP the schema: python3 has no jsonschema')
    validate = lambda told: None
for path in sys.argv[2:]:
    try:
        told = json.load(open(path))
        validate(told)
        file, = told['files']
        errors = [d for d in file['diagnostics'] if d['severity'] == 'error']
        assert (file['verdict'] == 'accept') == (not errors), 'errors without a verdict'
        assert all(d['line'] >= 1 and d['column'] >= 1 for d in file['diagnostics']), 'no place'
        print(os.path.basename(path), 'fine')
    except Exception as e:
        print(os.path.basename(path), type(e).__name__, str(e).split('\n')[0])
PYTHON
grep '^#' "$WORK/checked"
grep -v '^#' "$WORK/checked" >"$WORK/results"
while read -r name result; do
    is "$result" fine "$name: the JSON" || keep "$files/$name"
done <"$WORK/results"
done_testing
