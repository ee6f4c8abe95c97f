#!/bin/sh
# A job that was converted to muster/v1 finds the host names and variables of the platform it was written for.
# The examples of this tree always; those of MUSTER_CORPUS where there are any.
. "${0%/*}/lib.sh"

tab=$(printf '\t')

ok "files are compared" python3 "$TOP/t/same_platform.py" "$MUSTER" "$TOP/t/platform-differences.tsv" "$TOP/examples" \
    ${MUSTER_CORPUS:+"$MUSTER_CORPUS"}
cp "$WORK/ok" "$WORK/rows"
while IFS=$tab read -r result what why; do
    case $result in
    fine | wrong) is "$result${why:+: $why}" fine "$what" ;;
    unused) is "$what" "" "every row of the table is needed" ;;
    counts) diag "$what" ;;
    esac
done <"$WORK/rows"
like "$(cat "$WORK/rows")" '^counts' "to the end"
[ -n "${MUSTER_CORPUS:-}" ] || skip "MUSTER_CORPUS is not set: only the examples of this tree were compared"

# --- the key --------------------------------------------------------------------------------------

job() # PLATFORM: two workers of a job `j`
{
    printf 'apiVersion: muster/v1\nname: j\nnamespace: n\nframework: tensorflow\nplatform: %s\nroles: {worker: {replicas: 2, command: [w]}}\n' \
        "$1" >"$WORK/j.yaml"
    run_muster explain -o json "$WORK/j.yaml"
}
job muster
is "$rc $(json jobs.0.processes.1.host "$out")" "0 worker-1" "Muster's own host names"
job tfjob
is "$rc $(json jobs.0.processes.1.host "$out")" "0 j-worker-1" "a TFJob's"
like "$(json jobs.0.processes.1.env.TF_CONFIG "$out")" 'j-worker-0.n.svc:' "and its Services"
job '{like: tfjob, hosts: by-role, services: none}'
is "$(json jobs.0.processes.1.host "$out")" worker-1 "parts may differ from the platform"
unlike "$(json jobs.0.processes.1.env.TF_CONFIG "$out")" 'svc' "each of them"
job kubeflow
is "$rc" 2 "an unknown platform is refused"
like "$(cat "$err")" 'j.yaml:5:11: error\[E[0-9]+\].*platform.*kubeflow' "at its place"

# What it does not keep is told, where a command names it.
cat >"$WORK/azure.yaml" <<'END'
$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json
command: echo $AZUREML_PARAMETER_n $AZUREML_RUN_ID
inputs: {n: 3}
environment: azureml:e:1
compute: azureml:c
END
run_muster convert --to muster "$WORK/azure.yaml"
is "$(grep -c '^lost: roles.node.variables.AZUREML_PARAMETER_n' "$err") $(grep -c AZUREML_RUN_ID "$err")" "1 0" "an input is lost, the run's id is not"

# The status of a run is in the words of its platform.
printf 'apiVersion: muster/v1\nname: j\nplatform: {status: openpai}\nroles: {worker: {command: ["true"]}}\n' >"$WORK/j.yaml"
run_job "$WORK/j.yaml"
is "$rc $(report job.dialect) $(report status.state)" "0 muster-v1 SUCCEEDED" "the report's status, too"
done_testing
