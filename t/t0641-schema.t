#!/bin/sh
# Schemas and manual pages are made from the tables by which files are read: both agree with what is read.
. "${0%/*}/lib.sh"

run_muster schema --list
is "$rc" 0 "the dialects are listed"
cut -d ' ' -f 1 "$out" >"$WORK/dialects"
like "$(cat "$WORK/dialects")" '^muster-v1$' "Muster's own among them"
run_muster schema muster-v2
is "$rc" 2 "a dialect that is not there is refused"
like "$(cat "$err")" 'did you mean muster-v1' "with the nearest"

# --- files against schemas ------------------------------------------------------------------------

if [ -n "$schema_python" ]; then
    # shellcheck disable=SC2046 # names without spaces
    "$schema_python" "$TOP/t/schema.py" "$MUSTER" "$PROGRAMS/libprog/documents" $(
        find "$TOP/examples" "$TOP/fuzz/corpus" ${MUSTER_CORPUS:+"$MUSTER_CORPUS"} \
            '(' -name '*.yaml' -o -name '*.yml' -o -name '*.json' -o -name '*.jsonc' ')'
    ) >"$WORK/answers" 2>&1
    is "$?" 0 "every schema is one of draft 7"
    is "$(grep -vE '^[a-z0-9-]+ [0-9]+ [0-9]+$' "$WORK/answers")" "" "accepted files conform, misspelt keys do not"
    is "$(sed 's/ .*//' "$WORK/answers")" "$(cat "$WORK/dialects")" "of all dialects"
    is "$(grep ' 0 [0-9]*$' "$WORK/answers")" "" "each has at least one file"
    diag "dialect, documents, misspelt keys: $(tr '\n' ';' <"$WORK/answers")"
else
    skip "no python3 here has jsonschema" 4
fi

run_muster schema muster-v1
is "$(json definitions.role.properties.replicas.minimum "$out")" 0 "bounds are the table's"
is "$(json properties.framework.enum "$out")" '["none", "mpi", "pytorch", "tensorflow", null]' "and so are words"
is "$(json definitions.role.additionalProperties "$out")" false "unknown keys are refused"
is "$(json required "$out")" '["apiVersion", "roles"]' "what is required is"

# --- pages ----------------------------------------------------------------------------------------

mkdir "$WORK/man"
ok "the pages are made" "$TOP/tools/dialect-pages" "$MUSTER" "$WORK/man"
while read -r dialect; do
    page=$WORK/man/muster-${dialect#muster-}.5
    if command -v mandoc >/dev/null; then
        is "$(mandoc -Tlint -W warning "$page" 2>&1)" "" "$dialect: mandoc has nothing to say"
    else
        skip "mandoc is not installed"
    fi
done <"$WORK/dialects"
page=$WORK/man/muster-v1.5
for key in slots succeedsAfter elastic divisor; do
    like "$(cat "$page")" "^\.It Cm $key\$" "a key of every mapping: $key"
done
like "$(cat "$page")" '^\.Ss roles\.NAME\.mounts' "with its path"
like "$(cat "$page")" '^\.Ss Ranks' "and what people wrote of it"
like "$(cat "$WORK/man/muster-t9k-mpi.5")" 'Ignored, with a note: it is set by the cluster' "what is ignored is said"
like "$(cat "$WORK/man/muster-t9k-mpi.5")" 'Any other key is ignored, with a warning' "and what becomes of other keys"
done_testing
