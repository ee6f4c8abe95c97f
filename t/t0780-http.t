#!/bin/sh
# HTTP of the daemon: every route with a good and a bad request, on the unix socket and with a session of `muster open`;
# every answer is as doc/openapi.json promises.
. "${0%/*}/lib.sh"
. "${0%/*}/lib/http.sh"

command -v curl >/dev/null || skip_all "curl not found"
cd "$WORK" || exit 1
export MUSTER_HOME="$WORK/h"
answers=$WORK/answers
: >"$answers"
mkdir -m 700 h
cat >h/config.yaml <<'END'
queues:
  - name: default
  - name: small
    weight: 3
    priority: 7
    quota: {cpus: 1.5, gpus: 1}
END
ok "the daemon is ready" serve --cpus 4 --gpus 2
is "$(stat -c %a "$http")" 600 "the socket is for its user"

# --- small ones
ask GET /healthz
is "$code $(cat body)" "200 ok" "healthz"
ask GET /readyz
is "$code $(cat body)" "200 ok" "readyz"
ask GET /api/v1/version
is "$code $(json api body) $(json user body)" "200 1 $(id -un)" "version"
ask GET /api/v1/openapi.json
ok "the OpenAPI document is that of the source" cmp -s body "$TOP/doc/openapi.json"
ask GET /
is "$code" 200 "the page"
like "$(cat head)" "^Content-Security-Policy: default-src 'none'; script-src 'self';" "with its policy"
etag=$(sed -n 's/^ETag: \(.*\)\r$/\1/p' head)
ask GET / -H "If-None-Match: $etag"
is "$code $(wc -c <body)" "304 0" "which is not sent again"
for file in "$TOP"/src/web/*.css "$TOP"/src/web/*.js; do
    [ -e "$file" ] || continue
    ask GET "/assets/${file##*/}"
    is "$code" 200 "${file##*/}"
    ok "is that of the source" cmp -s body "$file"
done
mkdir web
echo 'body {}' >web/own.css
ask GET /assets/own.css
is "$code $(json error.code body)" "404 not-found" "a file that the page does not have"
like "$(cat head)" '^X-Content-Type-Options: nosniff' "every answer has the headers"
like "$(cat head)" '^Cache-Control: no-store' "and is not kept"
ask GET /nothing
is "$code $(json error.code body)" "404 not-found" "a path that is not there"
ask PUT /api/v1/jobs
is "$code $(json error.code body)" "405 method-not-allowed" "a method that is not allowed"
like "$(cat head)" '^Allow: GET, HEAD, POST' "and those that are"
ask HEAD /api/v1/jobs -I
is "$code $(wc -c <body)" "200 $(stat -c %s head)" "HEAD has no body"

# --- validate and explain
ask_json POST /api/v1/validate '{"text":"apiVersion: muster/v1\nkind: x\n","name":"a.yaml"}'
is "$code $(json verdict body) $(json file body) $(json diagnostics.2.line body)" "200 reject a.yaml 2" "validate: what is wrong, and where"
ask_json POST /api/v1/validate '{"text":7}'
is "$code $(json error.code body)" "400 bad-request" "validate: no text"
ask_json POST /api/v1/validate '{"text":"x","name":"../a"}'
is "$code" 400 "validate: a name with a directory"
ask_json POST /api/v1/validate '{"text":"a","dialect":"none"}'
is "$code" 400 "validate: an unknown dialect"
ask_json POST /api/v1/validate '{"text":'
is "$code $(json error.message body)" "400 invalid JSON at line 1, column 9: unexpected end of file: the object opened at 1:1 is not closed" "broken JSON"
ask_json POST /api/v1/validate '[]'
is "$code" 400 "no object"
ask POST /api/v1/validate
is "$code" 400 "no body"
head -c 1100000 /dev/zero | tr '\0' x >big
python3 -c 'import json; json.dump({"text": open("big").read()}, open("big.json", "w"))'
ask POST /api/v1/validate --data-binary @big.json
is "$code $(json error.code body)" "413 too-large" "a job file that is too large"
head -c 3000000 /dev/zero | tr '\0' x >huge
ask POST /api/v1/validate --data-binary @huge
is "$code $(json error.message body)" '413 Content Too Large: the limit is 2097152 bytes' "a body that is too large"
ask_json POST /api/v1/validate '{"text": "x",
 "nmae": "a"}'
is "$code $(json error.message body)" '400 unknown key "nmae" at line 2, column 2' "a key that there is not"
is "$(json error.hint body)" 'did you mean "name"?' "with the nearest one"
for path in jobs explain; do
    ask_json POST /api/v1/$path '{"text": "x", "bogus": 1}'
    like "$(json error.message body) $(json error.hint body)" 'unknown key "bogus" at line 1, column 15 known: text, name,' "$path: and those that there are"
done
cat >job.yaml <<'END'
apiVersion: muster/v1
name: two
roles:
  worker:
    replicas: 2
    command: [sh, -c, "echo one; sleep ${SECONDS_:-0}; echo err >&2; exit 0"]
END
body_of() # FILE [MORE] - {"text":…} on stdout
{
    python3 -c 'import json, sys; print(json.dumps({"text": open(sys.argv[1]).read(), **json.loads(sys.argv[2])}))' "$1" "${2:-{\}}"
}
body_of job.yaml '{"options": ["--set", "roles.worker.replicas=3"]}' >explain.json
ask POST /api/v1/explain --data-binary @explain.json
is "$code $(json jobs.0.processes.# body)" "200 3" "explain: with options" || cat body
ask_json POST /api/v1/explain '{"text":"apiVersion: muster/v1\n"}'
is "$code $(json error.code body)" "422 invalid-job" "explain: a file with errors"
like "$(json error.diagnostics.0.code body)" '^E[0-9]*$' "has its diagnostics"
ask_json POST /api/v1/explain '{"text":"x","options":["--secrets","/etc"]}'
# shellcheck disable=SC2016 # no command, or the job's
is "$code $(json error.message body)" '400 option "--secrets" is not allowed in `options`' "an option that names a directory"
for option in '"--fit=1"' '"--set"' '"x"' '"--help"' '"--"'; do
    ask_json POST /api/v1/explain "{\"text\":\"x\",\"options\":[$option]}"
    is "$code" 400 "options: $option is refused"
done

# --- a job from submission to deletion
body_of job.yaml '{"priority": 70, "queue": "default", "name": "x.yaml"}' >submit.json
ask POST /api/v1/jobs --data-binary @submit.json
is "$code" 201 "submit" || cat body
id=$(json ids.0 body)
run_muster wait "$id"
is "$rc" 0 "the job runs"
ask GET "/api/v1/jobs/$id"
is "$code $(json outcome body) $(json priority body) $(json live body) $(json source body)" "200 succeeded 70 null daemon" "one job"
python3 - body "$TOP/doc/schema/report.json" >"$out" <<'END'
import json, sys
from jsonschema import Draft7Validator
report, schema = (json.load(open(f)) for f in sys.argv[1:])
for key in 'id', 'source', 'queue', 'priority', 'place', 'submitted', 'started', 'ended', 'waiting', 'live':
    report.pop(key)
for e in Draft7Validator(schema).iter_errors(report):
    print(list(e.path), e.message)
END
is "$(cat "$out")" "" "is the report and what the daemon adds"
ask GET "/api/v1/jobs/$id/events"
is "$code $(json events.0.type body)" "200 created" "its events"
n=$(json events.# body)
ask GET "/api/v1/jobs/$id/events?after=$((n - 1))"
is "$(json events.# body) $(json events.0.seq body) $(json events.0.type body)" "1 $n ended" "the last of them"
ask GET "/api/v1/jobs/$id/events?after=x"
is "$code" 400 "after what?"
ask GET "/api/v1/jobs/$id/logs"
is "$code $(json lines.# body)" "200 4" "its logs"
ask GET "/api/v1/jobs/$id/logs?replica=worker-1&grep=er"
is "$(json lines.# body) $(json lines.0.text body) $(json lines.0.replica body)" "1 err worker-1" "of one replica, with some text"
ask GET "/api/v1/jobs/$id/logs?before=x"
is "$code" 400 "a cursor that is none"
ask GET "/api/v1/jobs/$id/plan"
is "$code $(json jobs.0.processes.# body)" "200 2" "its plan"
ask GET "/api/v1/jobs/$id/plan?from=1&n=5"
is "$(json jobs.0.processes.# body) $(json jobs.0.processes.0.index body)" "1 1" "a part of it"
ask GET "/api/v1/jobs/$id/file"
is "$code $(json file body) $(json validate.verdict body)" "200 x.yaml accept" "its file"
is "$(json text body)" "$(cat job.yaml)" "as it was submitted"
printf '{"ms":1000,"of":[["worker-0",0,500,1000,10,20],["worker-1",1,0,1,2,3]]}\n{"ms":2000,"of":[["worker-0",0,1500,2000,11,21]]}\nnonsense\n' \
    >"$MUSTER_HOME/runs/$id/usage.jsonl"
ask GET "/api/v1/jobs/$id/usage"
is "$code $(json ms body) $(json ranks.0.cpu body) $(json ranks.1.memory body)" "200 [1000, 2000] [50, 100] [1, null]" "what it used"
ask GET "/api/v1/jobs/$id/hang"
is "$code" 404 "it has no hang report"
cat >"$MUSTER_HOME/runs/$id/hang.json" <<'END'
{"version":1,"job":"x","at":"2026-01-01T00:00:00.000Z","kind":"quiet","timeout_ms":1,"verdict":"v","processes":[
{"replica":"worker-0","rank":0,"pid":1,"command":"c","waits":"rank 0 on worker-0 waits for rank 3 on worker-1: tcp","waits_in":null,
"place":{"file":"a.py","line":3,"function":"f","source":null}}]}
END
echo text >"$MUSTER_HOME/runs/$id/hang.txt"
ask GET "/api/v1/jobs/$id/hang"
is "$code $(json waits.0.for body) $(json waits.0.place body)" "200 [3] a.py:3 in f" "one that has"
for what in cancel pause resume; do
    ask POST "/api/v1/jobs/$id/$what"
    is "$code $(json error.code body)" "409 conflict" "$what: it has ended"
done
ask POST "/api/v1/jobs/$id/retry"
is "$code" 201 "retry" || cat body
again=$(json ids.0 body)
run_muster wait "$again"
ask GET "/api/v1/jobs/$again"
is "$(json outcome body) $(json job.name body) $(json priority body)" "succeeded two 70" "is the same submission once more"
ask GET '/api/v1/jobs?limit=1&order=asc'
is "$code $(json jobs.# body) $(json jobs.0.id body) $(json total body) $(json next body)" "200 1 $id 2 $id" "a page of the list"
ask GET "/api/v1/jobs?limit=1&order=asc&after=$id"
is "$(json jobs.0.id body) $(json next body)" "$again null" "the next one"
ask GET '/api/v1/jobs?q=TW&state=succeeded,failed&queue=default'
is "$(json jobs.# body) $(json counts.succeeded body)" "2 2" "those that are wanted"
ask GET '/api/v1/jobs?state=failed'
is "$(json jobs.# body)" 0 "and none"
for bad in limit=0 limit=9999 sort=x order=x 'q=%00' 'state=%' state=bogus state=failed,bogus after=garbage stat=failed; do
    ask GET "/api/v1/jobs?$bad"
    is "$code" 400 "the list: $bad is refused"
done
ask GET '/api/v1/jobs?state=faild'
# shellcheck disable=SC2016 # no command
is "$(json error.message body) $(json error.hint body)" 'unknown `state` "faild" did you mean "failed"?' "a state that there is not: what may be meant"
ask GET '/api/v1/jobs?stat=failed'
is "$(json error.message body) $(json error.hint body)" 'unknown parameter "stat" did you mean "state"?' "a parameter that there is not"
ask GET '/api/v1/jobs?after=garbage'
# shellcheck disable=SC2016 # no command
is "$(json error.message body)" '`after` must be `next` of an earlier answer; "garbage" is not in this list' "a cursor that is none"
python3 - "$TOP/doc/openapi.json" >calls <<'END'
import json, sys
for path, item in json.load(open(sys.argv[1]))["paths"].items():
    if path.startswith("/api/v1/") and "get" in item:
        for p in item["get"].get("parameters", []):
            if p["in"] == "query":
                print(path, p["name"])
        print(path, "bogus")
END
while read -r path name; do
    [ "$path" = /api/v1/stream ] && [ "$name" != bogus ] && continue
    ask GET "$(echo "$path" | sed "s/{id}/$id/")?$name="
    wanted=0
    [ "$name" = bogus ] && wanted=1
    is "$(grep -c 'unknown parameter' body)" "$wanted" "$path?$name"
done <calls
ask DELETE "/api/v1/jobs/$again"
is "$code $(wc -c <body)" "204 0" "delete" || cat body
ok "with its directory" test ! -e "$MUSTER_HOME/runs/$again"
ask DELETE "/api/v1/jobs/$again"
is "$code" 404 "it is gone"
touch "$MUSTER_HOME/runs/$id/result"
ask DELETE "/api/v1/jobs/$id"
is "$code $(json error.message body) ($(json error.hint body))" \
    "409 job $id has outputs and is not deleted: $MUSTER_HOME/runs/$id/result (requests do not delete outputs)" "outputs are not deleted"
like "$("$MUSTER" show "$id")" '^  submitted over HTTP, as by: muster submit ' "show says how the job came"
for path in "" /events /logs /plan /file /usage /hang; do
    ask GET "/api/v1/jobs/nope$path"
    is "$code $(json error.code body)" "404 not-found" "a job that is not there: $path"
done

# --- one with a GPU
ask_json POST /api/v1/jobs '{"text":"apiVersion: muster/v1\nname: g\nroles: {w: {replicas: 2, command: sleep 60, resources: {gpu: 1}}}\n","name":"g.yaml"}'
is "$code" 201 "submit: a job with GPUs" || cat body
id=$(json ids.0 body)
begun() { ask GET "/api/v1/jobs/$id" && [ "$(json live.replicas.1.state body)" = running ]; }
ok "it runs" wait_until 20 begun
is "$(json live.replicas.0.gpus.0 body) $(json live.replicas.1.gpus.0 body) $(json live.replicas.0.gpus.# body)" "0 1 1" "each replica has one"
ask_json POST "/api/v1/jobs/$id/cancel" '{"now":true}'
is "$code" 202 "cancel"
run_muster wait "$id"
is "$rc" 143 "it ends"

# --- one that runs, and one that waits
ask_json POST /api/v1/jobs '{"argv":["-n","2","--name","long","--","sh","-c","echo begun; sleep 60"]}'
is "$code" 201 "submit: a command" || cat body
id=$(json ids.0 body)
runs() { ask GET "/api/v1/jobs/$id" && [ "$(json live.ranks.1.state body)" = running ]; }
ok "it runs" wait_until 20 runs
is "$(json phase body) $(json live.ranks.# body) $(json live.replicas.0.name body) $(json outcome body) $(json live.replicas.0.gpus body)" "running 2 worker-0 null null" "what it does"
ask GET "/api/v1/jobs/$id/file"
is "$code" 404 "it has no file"
ask DELETE "/api/v1/jobs/$id"
is "$code" 409 "it cannot be deleted"
ask POST "/api/v1/jobs/$id/retry"
is "$code" 409 "nor be retried"
ask_json POST /api/v1/jobs '{"argv":["-n","4","--","true"]}'
waits=$(json ids.0 body)
ask GET /api/v1/queue
is "$code $(json machine.cpus body) $(json machine.used.cpus body) $(json machine.gpus.# body)" "200 4 2 2" "the queue: the machine"
is "$(json queues.0.name body) $(json queues.0.quota body) $(json queues.0.share body)" "default null 0.5" "a queue"
is "$(json queues.1.weight body) $(json queues.1.priority body) $(json queues.1.quota.cpus body) $(json queues.1.quota.gpus body) $(json queues.1.quota.memory body)" \
    "3 7 1.5 1 null" "one with a quota"
is "$(json running.0.id body) $(json waiting.0.id body) $(json waiting.0.place body)" "$id $waits 1" "who runs and who waits"
like "$(json waiting.0.waiting body)" 'CPU' "and why"
ask GET "/api/v1/jobs/$waits"
is "$code $(json phase body) $(json place body)" "200 waiting 1" "one that waits"
ask POST "/api/v1/jobs/$waits/pause"
is "$code $(json phase body)" "202 paused" "pause: it is passed over"
ask POST "/api/v1/jobs/$waits/pause"
is "$code" 409 "twice"
ask POST "/api/v1/jobs/$waits/resume"
is "$code $(json phase body)" "202 waiting" "resume"
ask GET "/api/v1/jobs/$waits/logs"
is "$code" 404 "it has no logs"
ask_json POST "/api/v1/jobs/$waits/cancel" '{"now":"x"}'
is "$code" 400 "cancel: now is true or false"
ask_json POST "/api/v1/jobs/$waits/cancel" '{}'
is "$code" 202 "cancel"
ask GET '/api/v1/jobs?state=cancelled'
is "$(json jobs.0.id body)" "$waits" "it is cancelled"
ask GET /metrics
is "$code" 200 "metrics"
like "$(cat body)" '^muster_jobs\{queue="default",state="running"\} 1$' "have jobs by state"
like "$(cat body)" '^muster_job_ends_total\{outcome="cancelled"\} 2$' "ends by outcome"
like "$(cat body)" '^muster_cpus_used 2.000$' "and what is used"
ask_json POST "/api/v1/jobs/$id/cancel" '{"now":true}'
is "$code" 202 "cancel now"
run_muster wait "$id"
is "$rc" 143 "it is cancelled"

# --- what is refused at submission
for bad in '{}' '{"text":"x","argv":["--","true"]}' '{"argv":["true"]}' '{"argv":["-n","2"]}' '{"argv":["--secrets","/etc","--","true"]}' \
    '{"argv":["--help","--","true"]}' '{"argv":["--"]}' '{"text":"x","cwd":"relative"}' '{"text":"x","cwd":"/does/not/exist"}' \
    '{"text":"x","name":"-f.yaml"}' '{"text":"x","name":"a/b.yaml"}' '{"text":"x","priority":101}' '{"text":"x","count":0}' '{"text":"x","queue":"-x"}' \
    '{"text":"x","options":"--fit"}' '{"argv":[7]}' '{"words":["submit","--secrets","/etc","x"]}'; do
    ask_json POST /api/v1/jobs "$bad"
    is "$code $(json error.code body)" "400 bad-request" "submit: $bad is refused"
done
ask_json POST /api/v1/jobs '{"text":"apiVersion: muster/v1\n"}'
is "$code $(json error.code body) $(json error.diagnostics.0.severity body)" "422 invalid-job error" "submit: a file with errors"
ask_json POST /api/v1/jobs '{"argv":["-n","64","--name","x","--nproc","x=1","--","true"]}'
like "$code" '^4' "submit: an option that does not fit"
sed 's/SECONDS_:-0/SECONDS_:-60/' job.yaml >slow.yaml
body_of slow.yaml >slow.json
ask POST /api/v1/jobs --data-binary @slow.json
is "$code" 201 "a name"
ask POST /api/v1/jobs --data-binary @slow.json
is "$code $(json error.code body)" "409 conflict" "that is in use"
body_of slow.yaml '{"replace": true}' >slow.json
ask POST /api/v1/jobs --data-binary @slow.json
is "$code" 201 "replace"
slow=$(json ids.0 body)
ask_json POST "/api/v1/jobs/$slow/cancel" '{"now":true}'
is "$code" 202 "and cancel"
cat >secret.yaml <<'END'
protocolVersion: 2
name: withsecret
type: job
prerequisites: [{name: i, type: dockerimage, uri: x}]
secrets:
  token: hunter2
taskRoles:
  worker:
    dockerImage: i
    resourcePerInstance: {cpu: 1, memoryMB: 64, gpu: 0}
    commands: ["echo <% $secrets.token %> | wc -c", "sleep 1"]
END

# --- OpenPAI
pai=/rest-server/api/v2/jobs
me=$(id -un)
ask POST $pai --data-binary @secret.yaml -H 'Content-Type: text/yaml'
is "$code $(json status body)" "202 202" "OpenPAI: submit" || cat body
ask GET "$pai/$me~withsecret"
is "$code $(json name body) $(json username body)" "200 withsecret $me" "OpenPAI: one job"
pai_ended() { ask GET "$pai/$me~withsecret" && [ "$(json state body)" = SUCCEEDED ]; }
ok "OpenPAI: it succeeds" wait_until 20 pai_ended
is "$(json taskRoles.worker.taskStatuses.0.taskState body) $(json jobStatus.appExitCode body)" "SUCCEEDED 0" "OpenPAI: its tasks"
ask GET "$pai?state=SUCCEEDED&keyword=with&withTotalCount=true"
is "$code $(json totalCount body) $(json data.0.name body)" "200 1 withsecret" "OpenPAI: the list"
ask GET "$pai?username=nobody-else"
is "$(cat body)" "[]" "OpenPAI: of another user"
ask GET "$pai/$me~withsecret/config"
is "$code" 200 "OpenPAI: the configuration"
unlike "$(cat body)" hunter2 "OpenPAI: without secrets"
is "$(python3 -c 'import yaml; print(yaml.safe_load(open("body"))["secrets"]["token"])')" '***' "OpenPAI: it is YAML"
ask GET "$pai/$me~withsecret/attempts/0"
is "$code" 200 "OpenPAI: an attempt"
ask GET "$pai/$me~withsecret/attempts/1"
is "$code $(json code body)" "404 NoJobError" "OpenPAI: one that is not there"
task=$pai/$me~withsecret/attempts/0/taskRoles/worker/taskIndex/0/attempts/0/logs
ask GET "$task"
is "$code $(json locations.0.name body) $(json locations.0.uri body)" "200 all $task/all" "OpenPAI: where its log is"
ask GET "$task/all"
is "$code $(cat body)" "200 8" "OpenPAI: its log"
ask GET "$pai/$me~withsecret/attempts/0/taskRoles/..%2f..%2f/taskIndex/0/attempts/0/logs/all"
is "$code" 404 "OpenPAI: a log elsewhere"
ask_json PUT "$pai/$me~withsecret/executionType" '{"value":"STOP"}'
is "$code $(json code body)" "409 ConflictJobError" "OpenPAI: it has completed"
ask_json PUT "$pai/$me~withsecret/executionType" '{"value":"x"}'
is "$code $(json code body)" "400 InvalidParametersError" "OpenPAI: an execution type that is none"
sed 's/sleep 1/sleep 60/' secret.yaml >longer.yaml
ask POST $pai --data-binary @longer.yaml
ask_json PUT "$pai/$me~withsecret/executionType" '{"value":"STOP"}'
is "$code" 202 "OpenPAI: stop"
pai_stopped() { ask GET "$pai/$me~withsecret" && [ "$(json state body)" = STOPPED ]; }
ok "OpenPAI: it is stopped" wait_until 20 pai_stopped
ask POST $pai --data-binary 'protocolVersion: 2'
is "$code $(json code body)" "400 InvalidProtocolError" "OpenPAI: a job with errors"
for who in "nobody~withsecret" "$me~nope" withsecret; do
    ask GET "$pai/$who"
    is "$code $(json code body)" "404 NoJobError" "OpenPAI: $who is not there"
done
ask GET "/api/v1/jobs?q=withsecret"
pai_id=$(json jobs.0.id body)
ask GET "/api/v1/jobs/$pai_id/file"
unlike "$(cat body)" hunter2 "the file has no secret either"
ask GET "/api/v1/jobs/$pai_id/plan"
unlike "$(cat body)" hunter2 "nor has the plan"
ask GET "/api/v1/jobs/$pai_id"
unlike "$(cat body)" hunter2 "nor has the job"

# --- runs in the foreground
"$MUSTER" run -n 2 --name front -- sh -c 'echo shown; sleep 60' >"$out" 2>&1 &
front=$!
is_front() { ask GET '/api/v1/jobs?q=front' && [ "$(json jobs.0.ranks.running body) $(json jobs.0.phase body)" = "2 running" ]; }
ok "a run in the foreground is listed" wait_until 20 is_front
is "$(json jobs.0.source body) $(json jobs.0.queue body)" "run null" "as what it is"
id=$(json jobs.0.id body)
ask GET "/api/v1/jobs/$id"
is "$code $(json live.ranks.# body) $(json source body)" "200 2 run" "with what it does"
logged() { ask GET "/api/v1/jobs/$id/logs" && [ "$(json lines.# body)" = 2 ]; }
ok "with its logs" wait_until 10 logged
ask GET "/api/v1/jobs/$id/plan"
is "$code $(json jobs.0.processes.# body)" "200 2" "and its plan"
ask POST "/api/v1/jobs/$id/retry"
# shellcheck disable=SC2016 # no command, or the job's
is "$code $(json error.hint body)" '409 use `muster rerun`' "which cannot be retried here"
kill -STOP $front
ask GET "/api/v1/jobs/$id"
is "$code" 200 "one that is stopped is in nobody's way"
kill -CONT $front
ask_json POST "/api/v1/jobs/$id/cancel" '{}'
is "$code" 202 "it can be cancelled"
wait $front
is "$?" 143 "and is"
over() { ask GET "/api/v1/jobs/$id" && [ "$(json outcome body)" = cancelled ]; }
ok "which is seen" wait_until 10 over
ask DELETE "/api/v1/jobs/$id"
is "$code" 204 "it can be deleted" || cat body

# --- the page's port
# proof_of TOKEN NONCE: the body that asks for a proof; file "proof" has what must be answered
proof_of()
{
    python3 - "$1" "$2" "${base##*:}" <<'EOF'
import hashlib, hmac, json, sys
key = hashlib.sha256(sys.argv[1].encode()).digest()
text = "muster-session\n127.0.0.1:%s\n%s" % (sys.argv[3], sys.argv[2])
open("proof", "w").write(hmac.new(key, text.encode(), hashlib.sha256).hexdigest())
print(json.dumps({"id": hashlib.sha256(key).hexdigest()[:16], "nonce": sys.argv[2]}))
EOF
}
run_muster open --no-browser
is "$rc" 0 "muster open"
like "$(cat "$out")" '^http://127\.0\.0\.1:[0-9]+/#once=[0-9a-f]{64}$' "prints a link"
base=$(sed 's|/#.*||' "$out") once=$(sed 's/.*once=//' "$out")
via="$base"
ask GET /
is "$code" 200 "the page needs no session"
ask GET /api/v1/jobs
is "$code $(json error.code body)" "401 unauthorized" "jobs do"
like "$(cat head)" '^WWW-Authenticate: Bearer' "and it is said"
ask GET $pai
is "$code $(json code body)" "401 UnauthorizedUserError" "OpenPAI's words for it"
ask GET /metrics
is "$code" 401 "metrics do, too"
ask_json POST /api/v1/session "{\"once\":\"$once\"}"
is "$code" 200 "the key becomes a session"
token=$(json token body)
ask_json POST /api/v1/session "{\"once\":\"$once\"}"
is "$code $(json error.code body)" "410 gone" "once"
ask_json POST /api/v1/session '{"once":7}'
is "$code" 400 "a key that is none"
ask GET /api/v1/jobs -H "Authorization: Bearer $token"
is "$code" 200 "with the session"
nonce=0123456789abcdef0123456789abcdef
ask_json POST /api/v1/session/proof "$(proof_of "$token" $nonce)"
is "$code $(json proof body)" "200 $(cat proof)" "the server proves that it knows the session"
ask_json POST /api/v1/session/proof "$(proof_of "${token%?}" $nonce)"
is "$code" 404 "of another one it knows nothing"
ask_json POST /api/v1/session/proof "$(proof_of "$token" "${nonce%?}G")"
is "$code" 400 "a nonce that is none"
ask GET /api/v1/jobs -H "Authorization: Bearer ${token%?}"
is "$code" 401 "with a part of it"
ask GET "/api/v1/jobs?token=$token"
is "$code" 401 "a token in the URL is none"
for host in evil.example "evil.example:${base##*:}" 127.0.0.1 "127.0.0.1:1" "localhost.evil.example:${base##*:}" ''; do
    ask GET /api/v1/jobs -H "Authorization: Bearer $token" -H "Host: $host"
    is "$code $(json error.code body)" "403 forbidden" "the host \"$host\" is not this server"
    ask GET / -H "Host: $host"
    is "$code" 403 "nor for the page"
done
ask GET /api/v1/version -H "Authorization: Bearer $token" -H "Host: localhost:${base##*:}"
is "$code" 200 "localhost is"
run_muster open "$pai_id"
like "$(cat "$out")" "#once=[0-9a-f]*&job=$pai_id\$" "a link to a job"
run_muster open nope
is "$rc" 2 "one that is not there"

# --- streams
# shellcheck disable=SC2016 # no command, or the job's
"$MUSTER" submit -n 2 -- sh -c 'for i in 1 2 3; do echo line $i; sleep 0.4; done; exit 3' >id
id=$(cat id)
curl -sSN --max-time 30 -H "Authorization: Bearer $token" "$base/api/v1/stream?job=$id&logs=1&after=0/0.0." >stream 2>&1
is "$?" 0 "a stream ends with the job" || tail -n 3 stream
is "$(grep -c '^event: end' stream)" 1 "which it tells once"
is "$(grep -c '^event: event' stream)" "$("$MUSTER" events -o json "$id" | wc -l)" "each event once"
is "$(sed -n '/^event: lines/,/^$/s/^data: //p' stream | python3 -c 'import json,sys; l=[x for d in sys.stdin for x in json.loads(d)["lines"]]; print(len(l), [x["at"] for x in l]==sorted(x["at"] for x in l))')" \
    "6 True" "each line once, in the order of time"
is "$(sed -n '/^event: job/,/^$/s/^data: //p' stream | tail -n 1 | python3 -c 'import json,sys; print(json.load(sys.stdin)["exit_code"])')" 3 "and the report"
ask GET '/api/v1/stream?job=nope' -H "Authorization: Bearer $token"
is "$code" 404 "a stream of nothing"
curl -sSN --max-time 4 -H "Authorization: Bearer $token" "$base/api/v1/stream" >list 2>/dev/null &
sleep 1
"$MUSTER" submit -n 1 --name seen -- true >id
wait $!
is "$(sed -n '2s/.*: //p' list)" 1 "a stream of the list begins with its cursor"
like "$(cat list)" "^data: .\"changed\":\\[.\"id\":\"$(cat id)\"" "and has what changes"
like "$(cat list)" '"name":"seen".*"outcome":"succeeded"' "until it ends"
echo "GET /api/v1/stream 200 list" >>"$answers"

# --- a daemon that is killed
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
ok "the next daemon" serve --cpus 4
ask GET /api/v1/jobs -H "Authorization: Bearer $token"
is "$code" 200 "has the same port and knows the session"
is "$(stat -c %a "$MUSTER_HOME/run/daemon/sessions")" 600 "which it found in a file for its user"
ok "without the token in it" test -z "$(grep -rl "$token" "$MUSTER_HOME" serve.log)"
unlike "$(cat serve.log)" "$once" "keys are in no log"
finish

# --- development of the page
MUSTER_WEB_DIR=$WORK/web
export MUSTER_WEB_DIR
ok "a daemon with MUSTER_WEB_DIR" serve
via=
ask GET /assets/own.css
is "$code $(cat body)" "200 body {}" "serves files from there"
ln -s /etc/passwd web/link.css
ask GET /assets/link.css
is "$code" 404 "but no links"
ask GET '/assets/..%2Fserve.log'
is "$code" 404 "and nothing outside"
finish
unset MUSTER_WEB_DIR

python3 "$TOP/t/http_schema.py" "$TOP/doc/openapi.json" "$answers" >"$out" 2>&1
is "$(sed '$d' "$out")" "" "every answer is as the document promises, and every path had a good one"
like "$(tail -n 1 "$out")" '^[1-9][0-9][0-9]+$' "of more than a hundred answers"
done_testing
