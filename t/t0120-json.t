#!/bin/sh
# JSON job files: our reader and Python's agree on thousands of random texts, good and spoilt; and
# what validate tells about JSON.
#
# MUSTER_TEST_SEED repeats a run; `make soak` makes more texts.
. "${0%/*}/lib.sh"

seed=${MUSTER_TEST_SEED:-$(date +%s)}
count=6000
[ -z "$SOAK" ] || count=200000
diag "MUSTER_TEST_SEED=$seed"

# --- against Python --------------------------------------------------------------------------------

ok "texts are made" python3 "$TOP/t/json_texts.py" "$seed" "$count" "$WORK/texts" "$WORK/want"
"$PROGRAMS/libprog/json_dump" <"$WORK/texts" >"$WORK/got" 2>"$err"
is "$?" 0 "our reader reads them: $(tail -n 5 "$err")"
is "$(wc -l <"$WORK/got")" "$count" "all of them"
python3 - "$WORK/texts" "$WORK/want" "$WORK/got" >"$WORK/differ" <<'PYTHON'
import sys
texts, want, got = (open(f, 'rb') for f in sys.argv[1:])
for w, g in zip(want, got):
    text = texts.read(int(texts.readline()))
    w, g = w.decode().rstrip('\n'), g.decode().rstrip('\n')
    if w != g and not (w.startswith('reject') and g.startswith('reject')):
        print(repr(text), 'Python:', w, 'we:', g)
PYTHON
is "$(head -n 5 "$WORK/differ")" "" "and finds in each what Python finds"
accepted=$(grep -c ^accept "$WORK/got")
diag "$accepted of $count are good"
ok "enough of them are good" [ "$accepted" -gt $((count / 4)) ]
ok "and enough are not" [ "$accepted" -lt $((count * 3 / 4)) ]

# --- validate --------------------------------------------------------------------------------------

cd "$WORK" || exit 1
printf '"jobEnvs": {\n    "paiAzRDMA": true\n  }\n' >part.json
run_muster validate part.json
is "$rc" 2 "3.14: a fragment is refused"
like "$(cat "$err")" '^part.json:1:10: error\[E0129\]: property "jobEnvs" is outside of any object' "3.14: and told as one"
"$MUSTER" validate - <part.json >"$out" 2>"$err"
is "$? $(cat "$out")" "2 -: not a job file" "3.14: on standard input too"

# The good job as JSON, with what a file may have: a mark, CRLF, comments.
python3 - "$TOP/t/validate/m1.json" <<'PYTHON'
import sys
text = open(sys.argv[1], encoding='utf-8').read()
for name, t in {'good.json': text, 'job': text, 'flow.yaml': text.replace('// two hosts', ''),
                'crlf.json': '\ufeff' + text.replace('\n', '\r\n'),
                'bad.json': text.replace('"replicas": 2,', '"replicas": 2').replace('\n', '\r\n')}.items():
    open(name, 'w', encoding='utf-8', newline='').write(t)
PYTHON
for f in good.json job flow.yaml crlf.json; do
    run_muster validate $f
    is "$rc $(cat "$out" "$err")" "0 $f: accepted, t9k-mpi, launcher 1, worker 2 x 4 slots" "$f"
done
"$MUSTER" validate - <good.json >"$out" 2>"$err"
is "$?" 0 "standard input that begins with a bracket"
run_muster validate bad.json
is "$rc $(cat "$out")" "2 bad.json: rejected, t9k-mpi, 1 error" "a missing comma"
cat >want <<'TEXT'
bad.json:7:20: error[E0121]: missing comma after the number 2 (detected at 8:7)
    7 |       "replicas": 2 // two hosts
      |                    ^
      = hint: add the comma
TEXT
is "$(cat "$err")" "$(cat want)" "is told behind the value"
: >empty.json
run_muster validate empty.json
is "$rc $(cat "$out")" "2 empty.json: not a job file" "an empty file"
python3 -c 'print("[" * 200000)' >deep.json
run_muster validate deep.json
like "$(cat "$err")" 'E0005.: more than 128 levels of nesting' "a deep one"
printf '[1, 2]' >list.json
run_muster validate list.json
is "$rc $(cat "$out")" "2 list.json: not a job file" "a list"

# --- secrets of a file that cannot be read ---------------------------------------------------------

head='{"protocolVersion": 2, "name": "x", "type": "job",'
printf '%s "secrets": {\n"key": "s3cret"\n"k": s3cret, "l": "s3cret", "m": 0s3cret, "n": "s3cret' "$head" >1.json
printf '%s "prerequisites": [{"auth": {\n  "password": s3cret}}]' "$head" >2.json
printf 'protocolVersion: 2\nname: x\nsecrets:\n  key: "s3cret\ntaskRoles: {}\n' >3.yaml
printf 'protocolVersion: 2\nprerequisites:\n- auth:\n  - {password: s3cret\n  x\n' >4.yaml
printf '\n  - s3cret}: {\n' | sed '1s/^/secrets :/' >5.yaml
printf 'secrets: {a: b}\ntaskRoles:\n  a: b: shown\n' >6.yaml
for f in 1.json 2.json 3.yaml 4.yaml 5.yaml; do
    run_muster validate $f
    is "$rc" 2 "$f is broken"
    like "$(cat "$err")" "^$f:[0-9]+:[0-9]+: error" "which is told"
    unlike "$(cat "$out" "$err")" 's3cret' "and its secret is not"
    run_muster validate -o json $f
    unlike "$(cat "$out" "$err")" 's3cret' "nor in JSON"
done
run_muster validate 6.yaml
like "$(cat "$err")" 'a: b: shown' "lines that hold none are shown"
done_testing
