#!/bin/sh
# muster report: a run as a page, as text, as JSON; the time line of muster show.
# shellcheck disable=SC2016 # variables are for the job's own shell
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1
check()
{
    python3 "$TOP/t/page_check.py" "$1"
}
run_dir()
{
    report run_dir
}

# --- a run in which a rank fails
cat >job.sh <<'SH'
echo "rank $RANK says <script>alert(1)</script>"
printf '\033[2J\342\200\256 hidden\n'
sleep 2
[ "$RANK" != 2 ] || { echo '</pre><img src=x onerror=alert(1)>'; exit 7; }
exec sleep 1000
SH
INHERITED=not-for-a-ticket run_job -n 4 --hosts 2 -- sh job.sh
is "$rc" 7 "a rank fails"
id=$(run_id)
run_muster show "$id"
like "$(cat "$out")" '^time line:$' "show of an ended job has a time line"
like "$(cat "$out")" '^  worker-1/2 +\|=+X *\| exit 7, failed first$' "with who failed first"
like "$(cat "$out")" '^  worker-0/0.* \|=+ *\| SIGTERM, stopped$' "who was stopped"
like "$(cat "$out")" '3 others were stopped because of worker-1/2' "and why"
like "$(cat "$out")" '^events:$' "the events follow"
is "$(sed -n '/^time line/,/^events/p' "$out" | awk 'length > 80' | wc -l)" 0 "it fits into 80 columns"

run_muster report -o html "$id"
is "$rc" 0 "report -o html"
is "$(cat "$out")" "$id.html" "says which file it wrote"
is "$(stat -c %a "$id.html")" 600 "which only its owner can read"
is "$(check "$id.html")" ok "it has balanced tags, no script and no reference"
page=$(cat "$id.html")
like "$page" 'failed: rank 2 on worker-1 exited with status 7' "the verdict"
like "$page" 'exit 7, failed first' "who failed first"
like "$page" '3 others were stopped because of worker-1/2' "who was stopped because of it"
like "$page" 'says &lt;script&gt;alert\(1\)&lt;/script&gt;' "the end of its log, as text"
like "$page" 'x1b\[2J' "with controls made visible"
like "$page" 'class="hot" d="M' "a line of what it used"
like "$page" '<td class="text mono">sh job.sh</td>' "the command"
unlike "$page" 'not-for-a-ticket' "no variable that was inherited"
run_muster report "$id"
is "$rc" 0 "as text"
like "$(cat "$out")" 'failed: rank 2 on worker-1 exited with status 7' "with the verdict"
like "$(cat "$out")" '^  worker-1/2 .*failed first$' "the time line"
like "$(cat "$out")" '^  worker-1/2 +[0-9.]+ m?s +[0-9]+% +[0-9.]+ [KM]iB$' "and what each rank has used"
run_muster report -o json "$id"
has_shape report "$out" "as JSON it is the report of show"
cp "$out" one.json
run_muster report -o json --output both.json "$id"
ok "--output names the file" cmp both.json one.json
run_muster report -o html --output - "$id"
like "$(head -n 1 "$out")" '^<!DOCTYPE html>$' "- is stdout"
run_muster report -o html no-such-run
is "$rc" 2 "a run that is not there"
run_muster report -o html --output /nowhere/x.html "$id"
is "$rc" 1 "a directory that is not there"
mkfifo pipe
if [ "$(id -u)" = 0 ] && chown -h 12345 pipe; then
    run_muster report --output pipe "$id"
    is "$rc" 1 "a pipe of somebody else's is refused"
    ln -s victim link && chown -h 12345 link
    run_muster report --output link "$id"
    is "$rc" 1 "and so is a link"
    ok "which is not followed" test ! -e victim
else
    skip "links of other users need root" 3
fi

# --- secrets
cat >secret.yaml <<'YAML'
protocolVersion: 2
name: secretive
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: none}
secrets: {password: hunter2hunter2}
taskRoles:
  w:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 256, gpu: 0}
    commands: ["echo the password is <% $secrets.password %>", "echo again hunter2hunter2", "sleep 2", "exit 4"]
YAML
run_job secret.yaml
is "$rc" 4 "a job with a secret"
run_muster report -o html --output secret.html
is "$(check secret.html)" ok "has a page"
unlike "$(cat secret.html)" 'echo the password is hunter2' "without the secret in its command"
unlike "$(sed -n '/Ends of logs/,/<h2>Plan/p' secret.html)" 'hunter2hunter2' "or in its log"
like "$(cat secret.html)" 'the password is \*\*\*' "which is masked"
like "$(cat secret.html)" 'the job has secrets' "and other logs are left out"

# --- what a job may put into its run directory
echo "token of mine" >"$HOME/private.log"
run_job -n 1 -- sh -c 'echo fine; sleep 1.5
    ln -sf "$HOME/private.log" "$MUSTER_RUN_DIR/logs/extra.log"'
id=$(run_id)
python3 - "$(run_dir)/report.json" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
r['attempts'][0]['ranks'][0]['log'] = '../../../../../home/private.log'
r['attempts'][0]['replicas'][0]['logs'] = ['extra.log', '/etc/passwd.log', 'worker-0.rank-0.log']
r['job']['run_id'] = '../../outside'
r['verdict'] = '<b>' + 'x' * 100000
json.dump(r, open(sys.argv[1], 'w'))
PY
head -c 3000000 /dev/urandom >"$(run_dir)/usage.jsonl"
run_muster report -o html "$(run_dir)"
is "$rc" 0 "records that were tampered with"
is "$(cat "$out")" muster-report.html "do not say where the page goes"
is "$(check muster-report.html)" ok "the page is one"
unlike "$(cat muster-report.html)" 'token of mine' "no file outside of the logs is read"
like "$(cat muster-report.html)" 'worker-0.rank-0.log' "a log is"
ok "and nothing makes it large" test "$(wc -c <muster-report.html)" -lt 100000

# --- attempts and a run that lives
cat >again.sh <<'SH'
[ "$MUSTER_ATTEMPT" = 2 ] && exit 0
sleep 0.5
exit 3
SH
cat >again.yaml <<'YAML'
protocolVersion: 2
name: again
type: job
jobRetryCount: 1
prerequisites:
  - {name: image, type: dockerimage, uri: none}
taskRoles:
  w:
    instances: 2
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 256, gpu: 0}
    commands: ["sh again.sh"]
YAML
run_job again.yaml
is "$rc" 0 "a job that succeeds at its second attempt"
run_muster show
like "$(cat "$out")" '^  attempt +1 .*2' "the time line has both attempts"
like "$(cat "$out")" 'attempt 1: w-[01]: exit 3' "and why the first one failed"
run_muster report -o html --output again.html
is "$(check again.html)" ok "and so has the page"
like "$(cat again.html)" 'attempt 1: w-[01]: exit 3' "with the reason"
is "$(tr '\n' ' ' <again.html | sed 's/<[^>]*>/ /g' | grep -o 'MUSTER_ATTEMPT *[=]* *[0-9]' | grep -o '.$' | sort -u)" 2 "and the environment of the last one"
"$MUSTER" run --report "$REPORT" -n 1 -- sh -c 'echo on; exec sleep 1000' >/dev/null 2>&1 &
job=$!
is_running()
{
    "$MUSTER" list -r | grep -q running
}
ok "a job that runs" wait_until 20 is_running
run_muster report -o html --output live.html
is "$rc" 0 "has a page too"
is "$(check live.html)" ok "which is one"
kill "$job"
wait "$job"

# --- many
run_job -n 512 --hosts 8 -- sh -c 'sleep 1; [ "$RANK" != 300 ] || exit 9; exec sleep 1000'
is "$rc" 9 "one of 512 fails"
run_muster show
like "$(cat "$out")" '^  worker-4/300 +\| *=+X *\| exit 9, failed first' "it is in the time line"
ok "which is short" test "$(sed -n '/^time line/,/^events/p' "$out" | wc -l)" -le 28
run_muster report -o html --output many.html
is "$(check many.html)" ok "and in a page"
like "$(cat many.html)" 'worker-4/300' "by name"
ok "of bounded size" test "$(wc -c <many.html)" -lt 400000
done_testing
