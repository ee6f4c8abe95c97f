#!/bin/sh
# validate: verdicts, the place of every finding, the shapes of its outputs, exit codes.
. "${0%/*}/lib.sh"

data=$TOP/t/validate
good=$data/m1.yaml

# --- every row of the table ----------------------------------------------------------------------

rows=$WORK/rows
mkdir "$rows"
tab=$(printf '\t')
grep -v '^#' "$data/edits.tsv" >"$WORK/table"
n=100
while IFS=$tab read -r base _ _ script; do
    n=$((n + 1))
    [ "$script" != - ] || script=
    sed "$script" "$data/$base.yaml" >"$rows/$n.yaml"
done <"$WORK/table"

run_muster validate -o json "$rows"/*.yaml
is "$rc" 2 "one bad file makes the exit code"
is "$(cat "$err")" "" "all is told on stdout"
has_shape validate "$out" "the JSON of all rows has the promised shape"
python3 - "$out" >"$WORK/told" <<'PYTHON'
import json, sys
for f in json.load(open(sys.argv[1]))['files']:
    found = ' '.join('{code}@{line}:{column}'.format(**d) for d in f['diagnostics'])
    print(f['verdict'], found or '-')
PYTHON
while IFS=$tab read -r base verdict findings script; do
    read -r told <&3
    is "$told" "$verdict $findings" "$base $script"
done <"$WORK/table" 3<"$WORK/told"

# --- the seed ------------------------------------------------------------------------------------

example=$TOP/examples/mpi-example.yaml
is "$(sha256sum <"$example")" \
    "cce8ccc83c579320ff6e3c08bb0c15c87260c8c007ebda00f8655ba41080210d  -" "the example is the original"
run_muster validate "$example"
is "$rc" 0 "it is accepted"
is "$(cat "$out")" "$example: accepted, t9k-mpi, launcher 1, worker 5 x 3 slots" "with one line"
is "$(cat "$err")" "" "and nothing to say about it"

# --- for people ----------------------------------------------------------------------------------

cd "$WORK" || exit 1
sed 's/replicas: 2/replicas: "2"/; s/value: fast/valu: 塔/; s/mountPath/"塔":	x\n                mountPath/' \
    "$good" >bad.yaml
cat >want <<'TEXT'
bad.yaml:8:15: error[E0107]: `replicas` must be an integer, not the string "2"
    8 |     replicas: "2"
      |               ^
      = hint: remove the quotes
bad.yaml:19:17: warning[W0101]: unknown key `valu` in an env entry
   19 |                 valu: 塔
      |                 ^~~~
      = hint: did you mean `value`?
bad.yaml:28:17: warning[W0101]: unknown key `塔` in a volumeMounts entry
   28 |                 "塔":    x
      |                 ^
      = hint: known keys: name, mountPath, readOnly, recursiveReadOnly, subPath, subPathExpr, mountPropagation
TEXT
run_muster validate bad.yaml
is "$rc" 2 "a bad file"
is "$(cat "$out")" "bad.yaml: rejected, t9k-mpi, 1 error, 2 warnings" "its line"
is "$(cat "$err")" "$(cat want)" "its diagnostics"
run_muster validate -q bad.yaml
is "$(cat "$out")" "" "-q: no line"
is "$(grep -c warning "$err")" 0 "-q: no warnings"
is "$(grep -c error "$err")" 1 "-q: the error"

printf 'apiVersion: muster/v1\nname: j\nqueue: q\nroles: {worker: {replicas: "2", command: x}}\n' >notes.yaml
run_muster validate notes.yaml
is "$(grep -c 'note\[' "$err") $(tail -n 1 "$err")" "0 notes.yaml: 1 note is hidden until the errors are fixed" \
    "notes do not hide an error"
run_muster validate -o json notes.yaml
is "$(json files.0.diagnostics.# "$out")" 2 "in JSON they are there"

printf 'apiVersion: batch.tensorstack.dev/v1beta1\nkind: MPIJob\n"a\\e[31m": 1\nspec: {"\\x9b": 2}\n' >esc.yaml
run_muster validate esc.yaml
is "$(tr -d '[:print:]\n' <"$err" | wc -c)" 0 "what would act on a terminal is escaped"
run_muster validate -o json esc.yaml
is "$(python3 -c 'import json,sys
print(sum(ord(c) < 32 or 127 <= ord(c) < 160 for c in str(json.load(sys.stdin))))' <"$out")" 0 "in JSON too"

# --- files and options ---------------------------------------------------------------------------

run_muster validate none.yaml "$good"
is "$rc" 2 "a missing file"
is "$(cat "$err")" "muster validate: cannot open none.yaml: No such file or directory" "is told"
is "$(cat "$out")" "$good: accepted, t9k-mpi, launcher 1, worker 2 x 4 slots" "the others are read"
run_muster validate -o json none.yaml
is "$(json files.0.diagnostics.0.code "$out")" E0006 "in JSON it is a finding"
has_shape validate "$out" "of the promised shape"
run_muster validate .
is "$rc $(cat "$err")" "2 muster validate: cannot read .: Is a directory" "a directory"
head -c 1048577 /dev/zero | tr '\0' '#' >big.yaml
run_muster validate big.yaml
is "$rc $(cat "$err")" "2 muster validate: big.yaml is larger than the limit of 1048576 bytes" "too large"
: >empty.yaml
run_muster validate empty.yaml
is "$rc $(cat "$out")" "2 empty.yaml: not a job file" "an empty file"
"$MUSTER" validate - <"$good" >"$out" 2>"$err"
is "$? $(cat "$out")" "0 -: accepted, t9k-mpi, launcher 1, worker 2 x 4 slots" "standard input"

run_muster validate
is "$rc" 2 "no file is bad usage"
run_muster validate --dialect t9k-mpj "$good"
is "$rc" 2 "so is an unknown dialect"
like "$(cat "$err")" 'did you mean "t9k-mpi"' "the nearest is told"
printf 'kind: x\n' >x.yaml
run_muster validate --dialect t9k-mpi -o json x.yaml
is "$(json files.0.verdict "$out") $(json files.0.dialect "$out")" "reject t9k-mpi" "--dialect decides"

# --- texts made to hurt --------------------------------------------------------------------------

python3 - <<'PYTHON'
def write(name, text):
    open(name, 'w').write(text)
write('deep-flow.yaml', 'a: ' + '[' * 200000)
write('deep-block.yaml', ''.join(' ' * i + 'a:\n' for i in range(900)))
write('laughs.yaml', 'a0: &a0 [x]\n' + ''.join(
    f'a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * 9)}]\n' for i in range(1, 30)))
write('keys.yaml', ''.join(f'k{i}: 1\n' for i in range(50000)))
write('items.yaml', '- 1\n' * 200000)
write('documents.yaml', '--- x\n' * 1000)
write('explicit.yaml', '? ' * 5000 + 'a\n')
PYTHON
LIMIT=10
for f in deep-flow deep-block laughs keys items documents explicit; do
    run_muster validate -o json $f.yaml
    is "$rc $(json files.0.verdict "$out")" "2 reject" "$f"
    like "$(json files.0.diagnostics "$out")" '"E0005"' "$f: the limit is named"
done

# --- several files -------------------------------------------------------------------------------

good=$TOP/examples/kubeflow/mpi-v2beta1.yaml
echo 'a: [' >bad.yaml
"$MUSTER" validate "$good" bad.yaml "$good" missing.yaml "$good" >both 2>&1
is "$(grep -oE 'accepted|error\[E0001\]|rejected|cannot open' both | tr '\n' ' ')" \
    'accepted error[E0001] rejected accepted cannot open accepted ' "lines and diagnostics stand in the order of the files"

# --- the list of codes ---------------------------------------------------------------------------

find "$TOP/src" -name '*.c' ! -path '*/test/*' -exec grep -ohE '"[EWN]0[0-9]{3}"' {} + | tr -d '"' | sort -u >used
grep -oE '^\| [EWN]0[0-9]{3}' "$TOP/doc/diagnostics.md" | cut -c3- | sort -u >listed
is "$(comm -3 used listed)" "" "doc/diagnostics.md lists the codes that exist"

done_testing
