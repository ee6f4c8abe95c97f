# shellcheck shell=sh disable=SC2016,SC2154
# What a job leaves in its run directory stays; other runs are kept by number, age and size.

runs=$XDG_STATE_HOME/muster/runs
config=$XDG_CONFIG_HOME/muster/config.yaml

run_job -n 1 -- sh -c 'echo weights >"$MUSTER_RUN_DIR/model.pt"'
kept=$(run_id)
like "$(cat "$err")" "^  outputs: $runs/$kept/model\\.pt$" "outputs: the verdict says where they are"
is "$(report outputs.0)" "$runs/$kept/model.pt" "outputs: the report too"
has_shape report "$REPORT" "outputs: in the promised shape"
run_muster show
like "$(cat "$out")" "^  outputs: $runs/$kept/model\\.pt$" "outputs: and show"
run_job -n 1 -- true
is "$(report outputs)" "[]" "outputs: a job that leaves nothing has none"
unlike "$(cat "$err")" "outputs:" "outputs: then nothing is said"

cat >azure.yaml <<'YAML'
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
name: azure
command: 'mkdir -p ./outputs && echo 1 >./outputs/checkpoint && echo 2 >${{outputs.model}}/weights'
environment: azureml:none@latest
compute: azureml:here
outputs:
  model: {type: uri_folder}
YAML
run_job azure.yaml
is "$rc $(report outputs.0)" "0 $runs/$(run_id)/outputs" "outputs: those of an Azure job"
azure=$(run_id)

# Two at once in one directory have one ./outputs: the second is told so, and nothing of it goes to the first.
sed 's/^name: .*/name: twice/; s/^command: .*/command: "until [ -e may-end ]; do sleep 0.05; done; echo 1 >.\/outputs\/late"/' azure.yaml >twice.yaml
"$MUSTER" run twice.yaml >"$WORK/first.out" 2>&1 &
pid=$!
wait_until 20 test -L outputs
run_job azure.yaml
first=$(our_runs -r)
is "$rc" 125 "outputs: of another run that lives"
like "$(cat "$err")" "error: $WORK/outputs belongs to run $first, which is still running; wait for it \\([^ ]*muster wait $first\\)" \
    "outputs: the run is named"
is "$(find "$runs" -name checkpoint | wc -l)" 1 "outputs: the refused one wrote nothing"
: >may-end
wait $pid
is "$?:$(ls "$runs/$first/outputs")" "0:$(printf 'late\nmodel')" "outputs: the first has its own"
rm may-end
"$MUSTER" delete --yes "$first" >/dev/null

# 60 older ones, of which every tenth has an output
i=100
while [ $i -lt 160 ]; do
    old=$runs/20200101-00${i#1}00-aaaa
    mkdir -p "$old/logs"
    echo line >"$old/logs/worker-0.log"
    [ $((i % 10)) -ne 0 ] || echo x >"$old/result"
    i=$((i + 1))
done
run_job -n 1 -- true
# these, and 2 + 6 with outputs
is "$(find "$runs" -mindepth 1 -maxdepth 1 | wc -l)" 58 "outputs: of runs without outputs the newest 50 are kept"
ok "outputs: runs with outputs stay" test -e "$runs/$kept/model.pt" -a -e "$runs/$azure/outputs/checkpoint"
is "$(find "$runs" -name result | wc -l)" 6 "outputs: however old they are"

run_muster prune --older-than 365d
like "$(cat "$out")" "^20200101-005900-aaaa +[0-9]+ d +4 KiB +no +$runs/20200101-005900-aaaa$" "prune: shows runs with age and size"
like "$(cat "$out")" "^would remove 48 of 58 runs, [0-9.]+ [KM]iB$" "prune: and the sum"
like "$(cat "$out")" "^8 kept because of their outputs" "prune: what is kept is counted"
is "$(find "$runs" -mindepth 1 -maxdepth 1 | wc -l)" 58 "prune: without --yes nothing is removed"
run_muster prune --older-than 365d --yes
is "$rc $(find "$runs" -mindepth 1 -maxdepth 1 | wc -l)" "0 10" "prune: --yes removes them"
run_muster prune --older-than 365d --outputs --yes
is "$rc $(find "$runs" -mindepth 1 -maxdepth 1 | wc -l)" "0 4" "prune: --outputs includes the others"
ok "prune: what is newer stays" test -e "$runs/$kept/model.pt"

"$MUSTER" run -n 1 -- sh -c 'touch "$0"; until [ -e "$1" ]; do sleep 0.05; done' "$WORK/lives" "$WORK/may-end" >/dev/null 2>&1 &
pid=$!
wait_until 20 test -e "$WORK/lives"
run_muster prune --keep 0 --yes
is "$rc:$(our_runs -r | wc -l)" "0:1" "prune: a run that lives is not touched"
is "$(our_runs | wc -l)" 3 "prune: --keep 0 leaves it and those with outputs"
: >"$WORK/may-end"
wait $pid
run_muster prune --max-size 0 --outputs -y
is "$(ls "$runs")" "" "prune: --max-size"
run_muster prune --older-than soon
like "$rc:$(cat "$err")" "^2:.*--older-than must be a duration" "prune: a bad duration"

mkdir -p "${config%/*}"
printf 'retention:\n  keep: 2\n  max-age: 30d\n' >"$config"
for i in 1 2 3 4; do "$MUSTER" run -n 1 -- true >/dev/null 2>&1; done
is "$(our_runs | wc -l)" 2 "retention: the configuration says how many are kept"
printf 'retention:\n  keeep: 2\n' >"$config"
run_job -n 1 -- true
is "$rc" 125 "retention: an unknown key is refused"
like "$(cat "$err")" "config.yaml:2:3: error.* unknown key .keeep." "retention: with its place"
like "$(cat "$err")" "did you mean .keep." "retention: and the nearest key"
rm "$config"
run_muster prune --keep 0 --outputs --yes
