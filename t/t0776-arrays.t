#!/bin/sh
# Arrays: submit --matrix and --count, the words for all jobs of one, and what list makes of them.
. "${0%/*}/lib.sh"
. "${0%/*}/lib/daemon.sh"

cd "$WORK" || exit 1
names() # [ARG…] - of list, in order of their index
{
    "$MUSTER" list -o json "$@" >list.json
    python3 -c 'import json; print(*sorted(j["name"] for j in json.load(open("list.json"))["jobs"]))'
}
ok "the daemon is ready" serve --cpus 4

# --- a matrix
# shellcheck disable=SC2016 # for the job's shell
run_muster submit --name train --matrix lr=0.1,0.01 --matrix seed=1,2 -n 1 -- \
    sh -c 'echo "$lr/$seed {lr}-{seed} {other} $MUSTER_ARRAY_ID $MUSTER_ARRAY_INDEX/$MUSTER_ARRAY_COUNT $MUSTER_JOB" >>all.txt'
is "$rc" 0 "submit --matrix"
is "$(wc -l <"$out")" 4 "prints an id for each combination"
first=$(head -n 1 "$out")
last=$(tail -n 1 "$out")
run_muster wait "@$last"
is "$rc" 0 "wait @ID waits for all"
is "$(sort all.txt | tr '\n' ' ')" \
    "0.01/1 0.01-1 {other} $first 2/4 train-2 0.01/2 0.01-2 {other} $first 3/4 train-3 0.1/1 0.1-1 {other} $first 0/4 train-0 0.1/2 0.1-2 {other} $first 1/4 train-1 " \
    "each has its variables, values for {NAME}, and its place"
is "$(names)" "train-0 train-1 train-2 train-3" "and its name"
like "$("$MUSTER" list)" "$last +train-3 .* lr=0.01 seed=2" "list shows the values"
"$MUSTER" list -o json >list.json
has_shape list list.json "list -o json is as promised"

# --- a job file, whose variables the matrix replaces
cat >job.yaml <<'YAML'
apiVersion: muster/v1
name: filed
roles: {worker: {command: 'echo "$lr" >>filed.txt; exit ${code:-3}', env: {lr: "0.5"}}}
YAML
run_muster submit --in-place --array-id --matrix lr=1,2 --count 2 job.yaml
array=$(cat "$out")
like "$array" '^@[0-9]{8}-[0-9]{6}-[a-z0-9]{4}$' "--array-id prints one word"
run_muster wait "$array"
is "$rc" 3 "with the code of the first that failed"
is "$(sort filed.txt | tr '\n' ' ')" "1 1 2 2 " "--count repeats each combination"
is "$(names "$array")" "filed-0 filed-1 filed-2 filed-3" "list @ID"
is "$(names trai)" "train-0 train-1 train-2 train-3" "list NAME"
is "$(names nothing)" "" "no job has that name"
is "$(names --state failed | wc -w)" 4 "list --state"
is "$("$MUSTER" list -o name --state succeeded,failed | wc -l)" 8 "several states, ids only"
is "$(names --queue other)" "" "list --queue"
like "$("$MUSTER" list -o wide)" '^ID +NAME +DIALECT +QUEUE +PRIORITY +SUBMITTED +STATE' "-o wide"
like "$("$MUSTER" list -o wide)" 'filed-0 +muster-v1 +default +50 +20..-..-..T..:..:..Z +failed' "has more columns"
like "$("$MUSTER" list -o yaml)" '^- id: ' "-o yaml"
run_muster list --watch -o json
is "$rc" 2 "--watch is a table"
run_muster delete "$array"
is "$rc" 0 "delete @ID"
is "$(names)" "train-0 train-1 train-2 train-3" "deletes all of them"

# --- cancelled as a whole, while some wait
array=$("$MUSTER" submit --array-id --count 6 --name held -n 1 -- sleep 60)
running()
{
    [ "$("$MUSTER" list -q --state running | wc -l)" = 4 ]
}
ok "some run" wait_until 20 running
is "$("$MUSTER" list -q -s waiting | wc -l)" 2 "and some wait"
"$MUSTER" list --watch >watched &
watcher=$!
ok "list --watch prints what there is" wait_until 20 grep -q 'held-5 .*waiting' watched
run_muster cancel "$array"
is "$rc" 0 "cancel @ID"
is "$(grep -c 'being stopped' "$out")" 6 "cancels all"
run_muster wait "$array"
is "$rc" 143 "none is left"
ok "and then what changed" wait_until 20 grep -q 'held-5 .*cancelled' watched
kill "$watcher"
wait "$watcher" 2>/dev/null
is "$("$MUSTER" list -r -q | wc -l)" 0 "nothing runs"

run_muster list -q "${first%?}"
is "$(cat "$out")" "$first" "list ID, or the beginning of one"
run_muster list -s runing
is "$rc" 2 "a state that there is not"
like "$(cat "$err")" 'unknown state "runing"; did you mean running\?' "is refused"
run_muster list -s 'failed,nothing like it'
like "$(cat "$err")" 'unknown state "nothing like it"; states are waiting, ' "also in a list"

# --- placeholders that nothing fills in
# shellcheck disable=SC2016 # for the job's shell
run_muster submit --matrix rate=1,2 -n 1 -- sh -c 'echo {rat} {rat} {rate} {} ${HOME} {a,b} {1..3}; f() { true; }'
is "$rc" 0 "an unknown placeholder is passed on"
is "$(grep -c warning "$err")" 1 "with one warning"
like "$(cat "$err")" 'warning: \{rat\} in the command is not a name of --matrix, and is passed on as it is; did you mean \{rate\}\?' "that names it"
run_muster submit --count 2 -n 1 -- echo '{index}'
like "$(cat "$err")" '\{index\} .*MUSTER_ARRAY_INDEX' "--count has none"
run_muster submit -n 1 -- echo '{index}'
is "$(cat "$err")" "" "a job that is no array may have any"
run_muster wait --all

# --- many: one request, one commit, one line
array=$("$MUSTER" submit --array-id --count 40 --name many -n 1 -- sleep 60)
ok "some run" wait_until 20 running
waits=$("$MUSTER" list -q -s waiting "$array" | tail -n 1)
run_muster pause "$array"
is "$(wc -l <"$out")" 1 "pause @ID prints one line for many jobs"
is "$("$MUSTER" list -q -s waiting "$array" | wc -l)" 0 "none waits"
run_muster resume "$array"
like "$(cat "$out")" "^$array: [0-9]+ jobs: " "resume @ID"
run_muster cancel "@$waits"
is "$(cat "$out")" "@$waits: 40 jobs: being stopped" "cancel with the id of any of them"
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
"$MUSTER" serve --cpus 4 2>>serve.log &
daemon=$!
ok "another daemon" wait_until 20 ready
run_muster wait "$array"
is "$rc" 143 "is not forgotten"
is "$("$MUSTER" list -q -s cancelled "$array" | wc -l)" 40 "all are cancelled"
like "$("$MUSTER" show "$waits")" 'cancelled before it was started' "show of one that waited"
"$MUSTER" show -o json "$waits" >report.json
has_shape report report.json "with a report"
run_muster events "$waits"
like "$(cat "$err")" 'ended before it was started' "and without events"
run_muster cancel "$array"
is "$rc$(cat "$out")" 0 "once more: nothing to do"
run_muster cancel @nonesuch
is "$rc" 2 "an array that is not there"
like "$(cat "$err")" 'array "@nonesuch" not found' "says so"

# --- refused
for bad in lr =1 lr= lr=1,,2 'lr=1,' 1x=2 MUSTER_X=1; do
    run_muster submit --matrix "$bad" -n 1 -- true
    is "$rc" 2 "refused: --matrix $bad"
done
run_muster submit --matrix a=1 --matrix a=2 -n 1 -- true
like "$(cat "$err")" '"a" twice; give all values in one option' "a name that is given twice"
run_muster submit --matrix a=1,2 --count 10000 -n 1 -- true
like "$(cat "$err")" 'more than 10000 jobs' "too many jobs"
# shellcheck disable=SC2016 # for the job's shell
id=$("$MUSTER" submit --matrix a=1 -n 1 --name single -- sh -c 'echo "a=$a {a}"')
"$MUSTER" wait "$id"
is "$("$MUSTER" logs "$id")" "a=1 1" "one value is a value"
run_muster wait @nothing
is "$rc" 125 "no such array"
finish
is "$?" 0 "the daemon ends"
done_testing
