#!/bin/sh
# OpenPAI's two job files: what is read, the text that bash runs, and that no secret is shown.
. "${0%/*}/lib.sh"
cd "$WORK" || exit 1

shell_of() # FILE PROCESS: its command as explain shows it
{
    run_muster explain -o json "$1"
    json "jobs.0.processes.$2.shell" "$out"
}

# --- the seed ------------------------------------------------------------------------------------

seed=$TOP/examples/openpai/horovod-job.json
run_muster validate -o json "$seed"
is "$rc $(json files.0.verdict "$out") $(json files.0.dialect "$out")" "0 accept openpai-v1" "3.4: seed 003"
has_shape validate "$out" "3.4: the JSON of it has the promised shape"
is "$(shell_of "$seed" 0)" "sleep 1000 &&  Your codeÔºÅ" "3.8: its command is kept as it is"
is "$(json jobs.0.processes.0.host "$out") $(json jobs.0.processes.1.host "$out")" "master-0 worker-0" \
    "3.13: hosts are called after role and index"
is "$(json jobs.0.processes.0.env.paiAzRDMA "$out")" true "3.10: jobEnvs are exported"

# --- one text out of commands, deployment and plugins --------------------------------------------

cat >plugins.yaml <<'YAML'
protocolVersion: 2
name: plugins
type: job
parameters: {word: hello}
secrets: {token: "s3cret&<'x'>"}
prerequisites:
  - {type: dockerimage, name: image, uri: u}
  - type: script
    name: hook
    plugin: com.microsoft.pai.runtimeplugin.cmd
    callbacks:
      - {event: taskStarts, commands: [export LOST=1, "echo start ${UNSET-} $UNSET_TOO"]}
      - {event: taskSucceeds, commands: [echo end]}
taskRoles:
  fine:
    dockerImage: image
    prerequisites: [hook]
    resourcePerInstance: {cpu: 1, memoryMB: 256, gpu: 0}
    commands:
      - echo "<% $parameters.word %> ${LOST-unset}"
      - MINE=kept
      - |
        cat <<X # a here-document and a comment at the end
        $MINE
        X
      - exit 0 # commands to come after this are run all the same
  fails:
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 256, gpu: 0}
    commands: [echo before, "false", echo never]
  secret:
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 256, gpu: 0}
    commands: ["T=\"<% $secrets.token %>\"", "test ${#T} = 12"]
deployments:
  - name: here
    taskRoles:
      fine: {preCommands: [echo deployed], postCommands: [echo too late]}
defaults: {deployment: here}
extras:
  com.microsoft.pai.runtimeplugin:
    - plugin: cmd
      taskroles: [fine]
      failurePolicy: ignore
      parameters: {preCommands: ["false", echo ignored], postCommands: [echo last but one]}
    - plugin: cmd
      taskroles: [fails]
      parameters: {postCommands: [echo not after a failure]}
YAML
strict()
{
    bash -o errexit -o nounset -o pipefail -c "$1" 2>&1
}
run_muster validate plugins.yaml
is "$rc $(cat "$err")" "0 " "a file with plugins is accepted"
is "$(strict "$(shell_of plugins.yaml 0)"; echo $?)" "start
ignored
deployed
hello unset
kept
last but one
end
0" "plugins before and after, in their order, after an exit 0 too"
is "$(strict "$(shell_of plugins.yaml 1)"; echo $?)" "before
1" "a failure ends the commands and nothing comes after it"

# --- secrets -------------------------------------------------------------------------------------

is "$(shell_of plugins.yaml 2)" "T=\"***\"
test \${#T} = 12" "a secret is not shown"
cat "$out" "$err" >all
for verb in explain validate 'explain -o json' 'validate -o json'; do
    # shellcheck disable=SC2086 # words
    run_muster $verb plugins.yaml
    cat "$out" "$err" >>all
done
sed 's/^secrets: .*/secrets: s3cret/' plugins.yaml >bad.yaml
run_muster validate bad.yaml
is "$rc" 2 "secrets that are no mapping"
cat "$out" "$err" >>all
sed 's/^secrets: .*/secrets: {token: s3cret, token: s3cret2}/' plugins.yaml >bad.yaml
run_muster validate bad.yaml
like "$(cat "$err")" 'E0007.*token' "a secret given twice"
cat "$out" "$err" >>all
sed 's/uri: u}/uri: u, auth: {password: s3cret, username: 5}}/' plugins.yaml >bad.yaml
run_muster validate bad.yaml
like "$(cat "$err")" 'E0107.*username' "a password in the file"
cat "$out" "$err" >>all
unlike "$(cat all)" s3cret "no output has a secret in it"

# --- running -------------------------------------------------------------------------------------

printf '%s\n' '{"jobName": "one", "image": "i", "taskRoles": [' \
    '{"name": "main", "memoryMB": 512, "command": "exit 7"}]}' >one.json
run_job one.json
is "$rc" 7 "1.1: one role with one task: its exit code is the run's"
# shellcheck disable=SC2016 # for the job's shell
sed 's/exit 7/test $(hostname) = main-0/' one.json >host.json
run_job host.json
is "$rc" 0 "3.13: in a host of its own"

# shellcheck disable=SC2016 # for the job's shell
printf '%s\n' '{"jobName": "odd.Name_x", "image": "i", "taskRoles": [' \
    '{"name": "ps_server", "memoryMB": 512, "minSucceededTaskCount": 1, "command":' \
    ' "for h in a.b~c-0 Big-0 ps_server-0; do until ssh $h true; do sleep 0.1; done; done"},' \
    '{"name": "a.b~c", "memoryMB": 512, "command": "sleep 2"},' \
    '{"name": "Big", "memoryMB": 512, "command": "sleep 2"}]}' >odd.json
run_job odd.json
is "$rc $(report outcome)" "0 succeeded" "3.13: ssh reaches every task, whatever signs its role's name has"

# --- a part of a file ----------------------------------------------------------------------------

printf '"jobEnvs": {\n    "paiAzRDMA": true\n  }\n' >part.json
run_muster validate part.json
is "$rc" 2 "3.14: a part of a file is refused"
like "$(cat "$err")" '^part.json:1:[0-9]+: error' "3.14: with a place"

done_testing
