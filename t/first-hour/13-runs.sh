# shellcheck shell=sh disable=SC2016,SC2154
# Which run is meant, what list shows, and delete and rerun.

runs=$XDG_STATE_HOME/muster/runs
"$MUSTER" prune --keep 0 --outputs --yes >/dev/null
mkdir -p there && cd there || exit 1
run_job -n 1 -- sh -c 'echo first; exit 3'
first=$(run_id)
run_job -n 1 -- sh -c 'echo "second  $1"' x "it's"
second=$(run_id)
cd "$WORK" || exit 1

run_muster show
like "$(cat "$out")" "^sh \\($second, " "runs: show takes the newest"
run_muster show sh -o json
is "$(json job.run_id "$out")" "$second" "runs: of one name, too"
run_muster events
like "$rc:$(tail -n 1 "$out")" "^0:.* ended$" "runs: events likewise"
run_muster logs
like "$rc:$(cat "$out")" "^0:(\\[.*\\] )?second  it's$" "runs: and logs"
run_muster wait
is "$rc" 0 "runs: wait: none runs, so the newest"
run_muster wait "$first"
is "$rc" 3 "runs: another one by its id"
run_muster cancel
like "$rc:$(cat "$err")" "^2:.*no job is running; the last run was $second" "runs: cancel needs one that runs"

is "$(stat -c %a "$runs/$second/command.json")" 600 "rerun: the command line is private"
run_muster show "$second"
like "$(cat "$out")" "^  started as: muster run --report $REPORT -n 1 -- sh -c 'echo \"second  \\\$1\"' x " "rerun: show has the command line"
like "$(cat "$out")" "^  in: $WORK/there\$" "rerun: and its directory"
run_muster rerun --print "$first"
is "$(cat "$out")" "cd $WORK/there && muster run --report $REPORT -n 1 -- sh -c 'echo first; exit 3'" "rerun: --print"
rm "$REPORT"
run_muster rerun "$first"
is "$rc:$(cat "$out")" "3:[worker-0/0] first" "rerun: runs it again, with its code"
third=$(run_id)
is "$(json cwd "$runs/$third/command.json")" "$WORK/there" "rerun: in its directory"
run_muster rerun
is "$rc" 3 "rerun: without an ID, the newest"
rm -r there
run_muster rerun "$first"
like "$rc:$(cat "$err")" "^125:.*cannot change to $WORK/there" "rerun: a directory that is gone"
rm "$runs/$first/command.json"
run_muster rerun "$first"
is "$rc" 125 "rerun: a run that does not say how it was started"

run_muster delete sh
like "$rc:$(cat "$err")" '^2:.*matches 4 runs' "delete: never one of several"
run_muster delete "$first" "$second"
is "$rc:$(cat "$out")" "0:$first: deleted
$second: deleted" "delete: two runs"
ok "delete: they are gone" test ! -e "$runs/$first" -a ! -e "$runs/$second"
run_job --run-dir "$WORK/mine" -n 1 -- sh -c 'echo >"$MUSTER_RUN_DIR/result"'
run_muster delete ./mine
like "$rc:$(cat "$err")" "^1:.*has outputs; delete them too with --yes" "delete: outputs are not lost by accident"
like "$(cat "$err")" "outputs: ./mine/result" "delete: they are named"
run_muster delete --yes ./mine
is "$rc:$(sed -n 2p "$out")" "0:  ./mine/result" "delete: --yes deletes them, and says so"
ok "delete: all of it" test ! -e mine
mkdir -p project/logs && echo x >project/report.json
run_muster delete --yes ./project
like "$rc" "^[12]$" "delete: a directory that is no run is refused"
ok "delete: and still there" test -e project/report.json
run_muster delete
is "$rc" 2 "delete: without an ID"

i=10
while [ $i -lt 35 ]; do
    mkdir -p "$runs/20200101-0000$i-aaaa/logs"
    i=$((i + 1))
done
run_muster list
is "$(grep -c '^20' "$out")" 20 "list: the newest 20"
like "$(cat "$out")" "^$third " "list: in the order of their start"
is "$(cat "$err")" "7 more; use --all to list them" "list: the rest is counted"
run_muster list --all
is "$(grep -c '^20' "$out")" 27 "list: --all"
is "$("$MUSTER" list -q | wc -l)" 27 "list: ids for scripts are complete"

# --- refused starts ------------------------------------------------------------------------------

"$MUSTER" prune --keep 0 --outputs --yes >/dev/null
cat >azure.yaml <<'YAML'
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
name: azure
command: 'true'
environment: azureml:none@latest
compute: azureml:here
YAML
mkdir -p broken
cp "$MUSTER" broken/muster
printf '#!/bin/sh\nexit 1\n' >broken/muster-shim
chmod +x broken/muster-shim
for args in "-n 1 -- true" "--run-dir $WORK/mine -n 1 -- true" azure.yaml; do
    # shellcheck disable=SC2086 # words
    broken/muster run $args >"$out" 2>"$err"
    is $? 125 "refused: $args: a supervisor that does not start"
    is "$(find "$runs" "$XDG_RUNTIME_DIR/muster" -mindepth 1)" "" "refused: leaves nothing"
done
ok "refused: nor elsewhere" test ! -e mine -a ! -L outputs
mkdir mine && : >mine/file
run_job --run-dir "$WORK/mine" -n 1 -- true
is "$rc:$(ls mine)" "125:file" "refused: a run directory that exists is left alone"
