#!/bin/sh
# muster serve and muster submit: jobs in a queue, the verbs on them, and what is refused.
. "${0%/*}/lib.sh"
. "${0%/*}/lib/daemon.sh"

cd "$WORK" || exit 1

# --- without a daemon
submit --no-autostart -n 1 -- true
is "$rc" 1 "--no-autostart refuses without a daemon"
like "$(cat "$err")" 'the daemon is not running; start it with .*muster serve' "and says how to start one"

# --- one job from beginning to end
ok "the daemon is ready" serve --cpus 2
run_muster serve
is "$rc" 1 "a second one"
like "$(cat "$err")" 'already running' "is refused"
# shellcheck disable=SC2016 # for the job's shell
submit -n 1 -- sh -c 'echo out; echo $MUSTER_RUN_ID; pwd; exit 7'
is "$rc" 0 "submit"
like "$id" '^[0-9]{8}-[0-9]{6}-[a-z0-9]{4}$' "prints the id"
is "$(wc -l <"$out")" 1 "and nothing else"
run_muster wait "$id"
is "$rc" 7 "wait has its exit code"
run_muster logs "$id"
like "$(cat "$out")" "$id" "logs has its output"
like "$(cat "$out")" "$WORK\$" "which ran where it was submitted"
run_muster show "$id"
like "$(cat "$out")" 'exited with status 7' "show has the verdict"
like "$(cat "$out")" 'started as: muster submit -n 1' "and how it was started"
run_muster show -o json "$id"
cp "$out" report.json
has_shape report report.json "its report is as promised"
is "$(json phase report.json)" ended "with the phase"
run_muster events "$id"
like "$(cat "$out")" 'exit code 7' "events has its end"

# --- what a shell hands on
# shellcheck disable=SC2016,SC3045 # for the job's shell; dash has these options of ulimit
(
    umask 0027
    ulimit -S -n 123
    ulimit -H -c 7
    exec "$MUSTER" submit -n 1 -- sh -c 'umask; ulimit -S -n; ulimit -H -c; ulimit -H -n'
) >"$out"
id=$(cat "$out")
run_muster wait "$id"
run_muster logs "$id"
# shellcheck disable=SC3045
is "$(sed 's/^\[[^]]*\] //' "$out" | paste -sd' ')" "0027 123 7 $(ulimit -H -n)" "a job has umask and limits of its submitter"

# --- a job file, names, and the environment
cat >job.yaml <<'YAML'
apiVersion: muster/v1
name: trainer
roles:
  worker: {replicas: 2, command: 'echo $MUSTER_INDEX; until [ -e finish ]; do sleep 0.05; done'}
YAML
submit --in-place job.yaml
first=$id
ok "a job file runs" wait_until 20 is_in "$first" running
submit --in-place job.yaml
is "$rc" 1 "a second job of that name is refused"
like "$(cat "$err")" "\"trainer\" is in use by $first \(running\); use --replace" "with the id of the first"
is "$(cat "$out")" "" "and no id"
cp job.yaml kept.yaml
submit --in-place --replace job.yaml
is "$rc" 0 "--replace"
second=$id
run_muster wait "$first"
is "$rc" 143 "cancels it"
echo 'not: a job' >job.yaml
ok "the second starts" wait_until 20 is_in "$second" running
run_muster pause "$second"
ok "pause" wait_until 20 is_in "$second" paused
run_muster resume "$second"
ok "resume" wait_until 20 is_in "$second" running
run_muster exec "$second" worker-1 -- hostname
is "$rc" 0 "exec"
touch finish
run_muster wait "$second"
is "$rc" 0 "the file is that of the submission, whatever became of it"
submit --in-place job.yaml
is "$rc" 2 "a file that is no job is bad usage"

# --- waiting, with the reason
rm -f finish
cp kept.yaml job.yaml
submit --in-place job.yaml
holder=$id
submit -n 2 -- true
waits=$id
submit -n 1 --priority 90 -- true
urgent=$id
submit -n 1 --after "$waits" -- true
after=$id
is "$(state "$waits")" waiting "a job that does not fit waits"
is "$(state "$waits" waiting)" 'needs 2 CPUs, 0 free; ahead: 1 job' "with the reason, after one of higher priority"
is "$(state "$urgent" waiting)" 'needs 1 CPU, 0 free' "which is first"
is "$(state "$after" waiting)" "waits for job $waits to succeed" "one that waits for another"
"$MUSTER" list -o json >list.json
has_shape list list.json "list -o json is as promised"
like "$("$MUSTER" list)" "$waits.* waiting .*needs 2 CPUs, 0 free; ahead: 1 job" "list shows the reason"
like "$("$MUSTER" show "$waits")" 'waiting: needs 2 CPUs, 0 free' "so does show"
run_muster show -o json "$waits"
cp "$out" report.json
has_shape report report.json "show -o json of a job that waits"
run_muster logs "$waits"
like "$(cat "$err")" 'has not started yet: needs 2 CPUs' "logs says that there are none yet"
run_muster pause "$waits"
is "$(state "$waits" waiting)" paused "a waiting job is paused"
run_muster resume "$waits"
submit -n 1 -- true
run_muster cancel "$id"
run_muster wait "$id"
is "$rc" 143 "a waiting job is cancelled"
run_muster show "$id"
like "$(cat "$out")" 'never-started' "and has a report"
submit -n 1 --after "$id" -- true
is "$rc" 0 "after a job that did not succeed"
run_muster wait "$id"
is "$rc" 125 "a job fails without having been started"
like "$("$MUSTER" show "$id")" 'which it waits for, did not succeed' "and says why"
unlike "$("$MUSTER" show "$id")" 'was removed|took -' "and nothing that is not so"
touch finish
run_muster wait "$holder" "$waits" "$urgent" "$after"
is "$rc" 0 "all of them end"
submit -n 1 --count 3 -- true
is "$(sort -u "$out" | wc -l)" 3 "--count 3 has three ids"
run_muster wait --all
is "$rc" 7 "wait --all: a job that failed before counts"
like "$(cat "$err")" 'note: .* ended with exit code 7' "and is named"
# shellcheck disable=SC2046 # words
"$MUSTER" delete --yes $("$MUSTER" list -o name --state failed,cancelled) >/dev/null 2>&1
run_muster wait --all
is "$rc" 0 "without it and those that failed, all have succeeded" || cat "$err"
cat >large.yaml <<'YAML'
apiVersion: muster/v1
name: large
roles: {worker: {command: 'true', resources: {cpu: 100}}}
YAML
submit large.yaml
is "$rc" 1 "a job that can never start is refused"
like "$(cat "$err")" 'needs 100 CPUs, this machine has 2: it can never start' "with the numbers"
run_muster delete "$holder"
is "$rc" 0 "delete"
unlike "$("$MUSTER" list -q)" "$holder" "the job is gone"

# --- attach
submit -n 2 -- sh -c 'echo first words; until [ -e attached ]; do sleep 0.05; done; echo last words; exit 6'
holder=$id
submit -n 2 -- sh -c 'echo later words; exit 3'
"$MUSTER" attach "$id" >later.out 2>later.err &
later=$!
"$MUSTER" attach "$holder" >attach.out 2>attach.err &
attached=$!
ok "attach shows the output" wait_until 20 grep -q 'first words' attach.out
kill -INT "$attached"
wait "$attached"
is "$?" 0 "Ctrl-C ends it"
like "$(cat attach.err)" "detached; the job continues: muster attach $holder" "and says how to come back"
is "$(state "$holder")" running "the job continues"
"$MUSTER" attach "$holder" >attach.out 2>attach.err &
attached=$!
ok "it can be attached to again" wait_until 20 grep -q 'first words' attach.out
touch attached
wait "$attached"
is "$?" 6 "attach has the exit code"
like "$(cat attach.out)" 'last words' "and all of the output"
like "$(cat attach.err)" 'exited with status 6' "and the verdict"
wait "$later"
is "$?" 3 "a job that waits is waited for"
like "$(cat later.out)" 'later words' "with its output"

# --- deadlines, commands that are not there
submit -n 1 --max-duration 1s -- sleep 60
run_muster wait "$id"
is "$rc" 124 "--max-duration ends a job with 124"
submit -n 1 -- /nowhere/prog
run_muster wait "$id"
is "$rc" 127 "a command that is not there"

# --- cancel: while the job is about to run, and once more while it is about to end
for _ in 1 2 3 4 5 6 7 8 9 10; do
    submit -n 1 -- sleep 60
    "$MUSTER" cancel "$id"
    "$MUSTER" cancel "$id"
done >cancel.out 2>&1
unlike "$(cat cancel.out)" 'respond|replied|No such file' "a job that does not listen yet, or has just ended, is waited for"
is "$(wc -l <cancel.out):$(grep -cvE ': being stopped$|has ended: cancelled, exit code 143$' cancel.out)" 20:0 "both have a true answer" || cat cancel.out
run_muster wait --all
unlike "$("$MUSTER" list -r)" ' ended ' "list -r has none that has ended"

# so many starts take some seconds
submit -n 8000 --hosts 2 -- sleep 600
[ "$(nproc)" -ge 16 ] || like "$(cat "$err")" 'warning: 8000 processes on [0-9]* CPUs?: the start is slow' "submit warns"
ok "a job of many ranks begins" wait_until 60 grep -q '"started"' "$MUSTER_HOME/runs/$id/journal.jsonl"
run_muster cancel "$id"
is "$rc:$(cat "$out")" "0:$id: being stopped" "it is cancelled" || cat "$err"
run_muster wait "$id"
is "$rc" 143 "and ends"
"$MUSTER" events "$id" >events.out
ok "many of its ranks were not started" test "$(grep -c ' start-failed ' events.out)" -gt 1000
like "$(grep -m 1 start-failed events.out)" 'start-failed .* the job was stopped before it started' "events says so"
run_muster show -o json "$id"
ok "so does its report" grep -q '"never-started"' "$out"
"$MUSTER" delete "$id" >/dev/null

# --- the daemon ends: the job goes on
submit -n 1 -- sh -c 'until [ -e go ]; do sleep 0.05; done; echo last words; touch gone; exit 5'
ok "a job runs" wait_until 20 is_in "$id" running
running=$id
submit -n 2 --name next -- true
next=$id id=$running
finish
is "$?" 0 "the daemon ends with 0 at SIGTERM"
run_muster list
like "$(cat "$err")" 'note: the daemon is not running, and 1 job waits in its store; start it with .*muster serve' "list says that it may not be complete"
for verb in show cancel logs wait delete; do
    run_muster $verb "$next"
    like "$(cat "$err")" 'not found; the daemon is not running, and 1 job waits in its store; start' "$verb of a job that waits says where it may be"
done
run_muster cancel next
like "$(cat "$err")" '"next" not found; the daemon is not running' "also by its name"
run_muster attach "$id"
is "$rc" 125 "attach needs a daemon"
like "$(cat "$err")" "$id continues, but the daemon that runs it is not running" "and says so"
run_muster top --once
like "$(cat "$err")" '1 job waits in its store' "top, too"
like "$("$MUSTER" list 2>/dev/null)" "$id.* no daemon" "list says that there is no daemon"
like "$("$MUSTER" list -r)" "$id.* no daemon" "its job has not ended"
like "$("$MUSTER" show "$id")" '1 processes running, 0 ended; the daemon that runs it is not running' "show says so, and does not call it lost"
run_muster cancel "$id"
like "$(cat "$err")" 'continues, but the daemon' "and so do verbs that need one"
run_muster delete "$id"
is "$rc" 1 "such a job is not deleted"
"$MUSTER" wait "$id" 2>/dev/null &
waiter=$!
touch go
ok "the job ends without a daemon" wait_until 20 test -e gone
ok "another daemon" serve --cpus 2
wait "$waiter"
is "$?" 5 "knows how it ended, and so does whoever waited"
like "$("$MUSTER" logs "$id")" 'last words' "what it has written meanwhile is there"
run_muster wait "$next"
is "$rc" 0 "the job that waited runs"
kill -9 "$daemon"
wait "$daemon"
like "$("$MUSTER" list 2>&1)" 'the daemon is not running, and jobs may wait in its store' "of a daemon that was killed, nobody knows"
run_muster wait --all
is "$rc" 125 "wait --all cannot wait for them"
ok "a daemon" serve --cpus 2
submit -n 1 -- sleep 60
ok "a job runs" wait_until 20 is_in "$id" running
finish
ok "with --stop-jobs" serve --cpus 2 --stop-jobs
finish
is "$?" 0 "the daemon ends with 0"
is "$(survivors "$id")" "" "and its jobs end"
like "$("$MUSTER" show "$id")" 'cancelled' "as cancelled ones"

# --- a job that would be planned differently now, as after an upgrade
rm -f go
ok "a daemon" serve --cpus 2
submit -n 1 -- sh -c 'until [ -e go ]; do sleep 0.05; done; exit 8'
ok "a job runs" wait_until 20 is_in "$id" running
finish
python3 - "$MUSTER_HOME/daemon/jobs.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE job SET site = replace(site, 'names', 'none')")
db.commit()
PY
ok "another daemon" serve --cpus 2
like "$(cat serve.log)" "$id cannot be planned as before: .*; it continues" "says what it can do with it"
touch go
run_muster wait "$id"
is "$rc" 8 "it ends with its exit code"
finish

unlike "$("$MUSTER" list 2>&1)" 'daemon is not running' "a daemon that has no job that waits says so when it ends"
for verb in list run submit serve; do
    MUSTER_HOME=relative "$MUSTER" $verb >"$out" 2>"$err"
    like "$(cat "$err")" 'MUSTER_HOME must be an absolute path, not "relative"' "$verb: a relative MUSTER_HOME is refused"
done

# --- started by submit
submit -n 1 -- true
is "$rc" 0 "submit starts a daemon"
run_muster wait "$id"
is "$rc" 0 "that runs the job"
started=$(python3 -c 'import socket, struct, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
print(struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])' "$MUSTER_HOME/run/daemon/control.sock")
is "$(stat -c %a "$MUSTER_HOME/run/daemon/control.sock")" 600 "its socket is for its user only"
is "$(stat -c %a "$MUSTER_HOME/daemon/jobs.db")" 600 "and so is its database"
kill "$started"
ok "it ends at SIGTERM" wait_until 20 test ! -e "$MUSTER_HOME/run/daemon/control.sock"

# --- a database of a newer muster
python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute("PRAGMA user_version=99")' "$MUSTER_HOME/daemon/jobs.db"
run_muster serve
is "$rc" 1 "a newer database is refused"
like "$(cat "$err")" 'has version 99, this muster supports up to 2' "with both versions"
submit -n 1 -- true
like "$(cat "$err")" 'the daemon did not start: .*has version 99' "submit says why no daemon was started"
# --- an installation that lacks the supervisor: jobs fail, the daemon does not
mkdir -m 700 bare bare/h
cp "$MUSTER" "${MUSTER%/*}/muster-serve" bare/
MUSTER_HOME="$WORK/bare/h" bare/muster serve 2>bare.log &
daemon=$!
listens()
{
    MUSTER_HOME="$WORK/bare/h" bare/muster list -q >/dev/null 2>&1 && [ -S bare/h/run/daemon/control.sock ]
}
ok "a daemon without muster-shim" wait_until 20 listens
id=$(MUSTER_HOME="$WORK/bare/h" bare/muster submit --no-autostart -n 1 -- true)
MUSTER_HOME="$WORK/bare/h" bare/muster wait "$id" 2>/dev/null
is "$?" 125 "its job fails"
like "$(cat bare.log)" "$id could not be started: muster-shim not found" "which it says"
kill "$daemon"
wait "$daemon"
is "$?" 0 "and it goes on until it is ended"
done_testing
