#!/bin/sh
# A run that lives, from other terminals: every verb as a person would type it, what they say to a
# run that has ended, what they refuse, and whom.
# shellcheck disable=SC2016 # variables are for the job's own shell
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1
cat >job.yaml <<YAML
protocolVersion: 2
name: talker
type: job
prerequisites:
  - {name: image, type: dockerimage, uri: none}
taskRoles:
  head:
    instances: 1
    completion: {minFailedInstances: 1, minSucceededInstances: 1}
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 256, gpu: 0}
    commands: ["echo the head says hello", "until [ -e $WORK/go ]; do sleep 0.05; done", "echo the head says bye"]
  hand:
    instances: 2
    completion: {minFailedInstances: 1, minSucceededInstances: -1}
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 256, gpu: 0}
    commands: ["echo hand \$PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX waves", "exec sleep 1000"]
YAML

job_pid=
begin() # ARG…: a run in the background; waits until its processes run
{
    rm -f "$WORK/go"
    "$MUSTER" run --report "$REPORT" "$@" >"$WORK/run.out" 2>"$WORK/run.err" </dev/null &
    job_pid=$!
    wait_until 30 is_running
    id=$("$MUSTER" list --running --quiet)
}

is_running()
{
    [ -n "$(our_runs -r)" ] && "$MUSTER" show 2>&1 | grep -q 'running: \([0-9]*\) of \1 processes'
}

end() # waits for the run; sets $rc
{
    wait "$job_pid"
    rc=$?
}

# --- nothing is there yet ------------------------------------------------------------------------

run_muster list
is "$rc:$(cat "$out")" "0:" "no runs: an empty list"
run_muster show
is "$rc" 2 "no run: show says so"
like "$(cat "$err")" "there are no runs" "in words"

# --- a job that runs -----------------------------------------------------------------------------

begin job.yaml
is "$(stat -c %a "$XDG_RUNTIME_DIR/muster/$id/control.sock")" 600 "the socket is private"
run_muster list
like "$(cat "$out")" "^$id +talker +openpai-v2 +running " "list shows it"
run_muster list -o json
is "$(json runs.0.id "$out") $(json runs.0.state "$out") $(json runs.0.running "$out")" "$id running true" "and as JSON"
has_shape list "$out" "of the promised shape"
run_muster show talker
like "$(cat "$out")" "^talker \($id, openpai-v2\): running: 3 of 3 processes" "show says how it stands"
like "$(cat "$out")" "^  hand-1 +running" "with its replicas"
like "$(cat "$out")" " started +hand-1$" "and its time line"
run_muster show "${id%????}" -o json
is "$(json outcome "$out") $(json attempts.0.replicas.2.name "$out")" "null hand-1" "show -o json is the report so far"
has_shape report "$out" "which has the report's shape"
run_muster show -o yaml
like "$(cat "$out")" "^ *state: RUNNING" "show -o yaml is the platform's own status"
run_muster events
like "$(cat "$out")" " start +head-0" "events has decisions too"
run_muster events "$id" -o json
is "$(sed -n 1p "$out" | cut -c 1-6)" '{"at":' "events -o json is the journal"

run_muster logs
is "$(sort "$out")" "[hand-0] hand 0 waves
[hand-1] hand 1 waves
[head-0] the head says hello" "logs shows all of them, with prefixes"
run_muster logs "$id" head-0
is "$(cat "$out")" "the head says hello" "logs of one replica, as it is"
run_muster logs --role hand --grep '^hand [1-9]'
is "$(cat "$out")" "[hand-1] hand 1 waves" "logs --role --grep"
run_muster logs --since 1h --attempt 1 --role head
is "$(cat "$out")" "the head says hello" "logs --since --attempt"
run_muster logs "$id" --rank 3
is "$rc" 1 "logs of a rank that is not there"
like "$(cat "$err")" "there are: hand-0.log" "names those that are"

printf 'a\nb\n' | "$MUSTER" exec "$id" hand-1 -- sh -c 'hostname; cat; echo "$MUSTER_INDEX <$1>" >&2; exit 9' x 'two  words' >"$out" 2>"$err"
is "$?" 9 "exec has the command's exit code"
host=$(python3 -c 'import json, sys
print([p["host"] for p in json.load(open(sys.argv[1])) if p["replica"] == "hand-1"][0])' "$XDG_STATE_HOME/muster/runs/$id/peers.json")
is "$(cat "$out")" "$host
a
b" "its stdin and stdout, on that host"
is "$(cat "$err")" "1 <two  words>" "its environment, its words and its stderr"
run_muster exec hand-0 -- sh -c 'kill -KILL $$'
is "$rc" 137 "exec without an id; a signal is 128+n"
run_muster exec hand-0 -- no-such-program
is "$rc" 127 "not found is 127"
"$MUSTER" exec hand-0 -- sleep 1234 </dev/null >"$out" 2>&1 &
exec_pid=$!
inside() { survivors "$id" | grep -q ' sleep 1234 '; }
outside() { ! inside; }
ok "a command that exec started runs" wait_until 20 inside
kill "$exec_pid"
ok "and is gone when exec is killed" wait_until 20 outside
wait "$exec_pid" 2>/dev/null

# --- wrong inputs --------------------------------------------------------------------------------

run_muster show talkr
is "$rc" 2 "a name that is not there"
like "$(cat "$err")" "did you mean talker" "has a nearest"
run_muster exec hand-9 -- true
is "$rc" 1 "a replica that is not there"
like "$(cat "$err")" "did you mean hand-[01]" "has one too"
run_muster exec hand-0
is "$rc" 2 "exec without a command"
run_muster logs --grep '('
is "$rc" 2 "a bad expression"
run_muster show --outptu json
is "$rc" 2 "an option that is not there"
run_muster cancel one two
is "$rc" 2 "two ids"
run_muster wait nobody-here
is "$rc" 125 "wait is as run: 125"
run_muster show /nowhere/at/all
is "$rc" 2 "a directory that is not there"
run_muster resume
is "$rc" 1 "a job that is not paused cannot be resumed"

speak() # TEXT [LENGTH]: what the socket answers to it
{
    python3 - "$XDG_RUNTIME_DIR/muster/$id/control.sock" "$@" <<'PYTHON'
import socket, struct, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
text = sys.argv[2].encode()
s.sendall(struct.pack('=II', int(sys.argv[3]) if len(sys.argv) > 3 else len(text), 0) + text)
s.settimeout(20)
answer = b''
while chunk := s.recv(65536):
    answer += chunk
print(answer[8:].decode())
PYTHON
}
like "$(speak '{"version":1,"request":"state"}')" '"ok":true,"id":"'"$id"'"' "the protocol: a request"
like "$(speak '{"version":2,"request":"state"}')" '"ok":false,"error":"the run uses control protocol version 1' "another version is refused by name"
like "$(speak '{"version":1,"request":"dance"}')" 'unknown request' "so is another request"
like "$(speak 'hello')" 'invalid request' "what is no JSON"
like "$(speak '' 4000000000)" 'at most [0-9]+ bytes' "what is too long"
like "$(speak '{"version":1,"request":"exec","replica":"hand-0","command":"id"}')" 'three descriptors' "and exec without descriptors"
like "$(speak '{"version":1,"request":"signal","signal":99}')" 'a number from 1 to' "and a signal that is none"
is "$(our_runs -r)" "$id" "the run is still there"

# --- another user --------------------------------------------------------------------------------

if can_be_user && user_copy; then
    chmod 755 "$WORK" "$WORK/run" "$WORK/run/muster" "$WORK/run/muster/$id"
    as_user env XDG_RUNTIME_DIR="$WORK/run" ./muster cancel "$id" >"$out" 2>"$err"
    is "$?" 1 "another user cannot connect"
    chmod 666 "$WORK/run/muster/$id/control.sock"
    for verb in cancel show wait; do
        as_user env XDG_RUNTIME_DIR="$WORK/run" timeout 20 ./muster $verb "$id" >"$out" 2>"$err"
        like "$?" "^(1|125)$" "a socket that is open to all: $verb is refused to another user"
    done
    as_user env XDG_RUNTIME_DIR="$WORK/run" ./muster cancel "$id" >"$out" 2>"$err"
    like "$(cat "$err")" "only uid 0 and root may control this run" "and told why"
    chmod 700 "$WORK/run/muster/$id" "$WORK/run/muster" "$WORK/run" "$WORK"
    is "$("$MUSTER" show | sed -n 's/.*: \(running\): .*/\1/p')" running "the job has not noticed"
else
    skip "needs root that can become another user" 6
fi

# --- root and the run of another user ------------------------------------------------------------

if can_be_user && user_copy; then
    as_user ./muster run -n 2 -- sleep 1000 >"$WORK/user.out" 2>&1 </dev/null &
    user_pid=$!
    wait_until 20 sh -c 'ls -d "$1"/home/muster/runs/*/journal.jsonl' x "$USER_DIR"
    dir=$(ls -d "$USER_DIR"/home/muster/runs/*)
    root_sees() { "$MUSTER" show "$dir" | grep -q ': running: 2 of 2'; }
    ok "root sees another user's run by its directory" wait_until 20 root_sees
    run_muster exec "$dir" worker-0 -- id -u
    is "$(cat "$out")" "$USER_ID" "its commands are that user's"
    run_muster cancel "$dir"
    wait "$user_pid"
    is "$?" 143 "and root may cancel it"
else
    skip "needs root that can become another user" 3
fi

# --- its end -------------------------------------------------------------------------------------

timeout 60 "$MUSTER" logs -f "$id" >follow.out 2>&1 &
follow_pid=$!
timeout 60 "$MUSTER" wait "$id" &
wait_pid=$!
wait_until 20 grep -q 'head says hello' follow.out
touch "$WORK/go"
wait "$follow_pid"
is "$?" 0 "logs -f ends when the job ends"
is "$(sort follow.out)" "[hand-0] hand 0 waves
[hand-1] hand 1 waves
[head-0] the head says bye
[head-0] the head says hello" "and has shown everything once"
wait "$wait_pid"
is "$?" 0 "wait has the job's code"
end
is "$rc" 0 "which is the run's"
run_muster list
like "$(cat "$out")" "^$id +talker +openpai-v2 +succeeded " "an ended run is listed with its outcome"
run_muster show "$id" -o json
ok "show -o json is its report" cmp "$out" "$REPORT"
run_muster show "$id" -o yaml
like "$(cat "$out")" "^ *state: SUCCEEDED" "show -o yaml its last status"
run_muster show "$id"
like "$(cat "$out")" "  exit code 0" "show its end"
run_muster logs "$id" head-0
is "$(cat "$out")" "the head says hello
the head says bye" "its logs are there"
run_muster events "$id"
like "$(tail -n 1 "$out")" " ended$" "and its events"
for verb in cancel pause resume "exec hand-0 -- true"; do
    # shellcheck disable=SC2086 # words
    set -- $verb
    word=$1
    shift
    run_muster "$word" "$id" "$@"
    is "$rc" 1 "an ended run: $word fails"
    like "$(cat "$err")" "has ended: succeeded, exit code 0" "and tells the outcome"
done

# --- pause and resume ----------------------------------------------------------------------------

has_state() # STATE
{
    "$MUSTER" show | grep -q ": $1: "
}

begin -n 2 --hosts 2 -- sh -c 'echo "$RANK at $MUSTER_ATTEMPT"; until [ -e "$0/go" ]; do sleep 0.05; done; exit 3' "$WORK"
wait_until 20 grep -q '1 at 1' run.out
run_muster pause
is "$rc:$(cat "$out")" "0:$id: stopping the processes (SIGTERM); \`$MUSTER resume\` restarts them from the beginning" "pause"
ok "the job is paused" wait_until 20 has_state paused
like "$("$MUSTER" list -r)" "^$id .* paused " "list says so"
is "$(survivors "$id" | grep -c 'sh -c')" 0 "none of its processes runs"
run_muster pause
is "$rc" 1 "it cannot be paused twice"
like "$(cat "$err")" "already paused" "which is told"
run_muster exec worker-0 -- true
like "$rc:$(cat "$err")" "^1:.*worker-0 is not running" "nor can anything be run in it"
run_muster resume
is "$rc:$(cat "$out")" "0:$id: being resumed" "resume"
wait_until 20 has_state running
wait_until 20 grep -q '1 at 2' run.out
run_muster logs
is "$(cat "$out")" "[worker-0/0] 0 at 1
[worker-0/0] 0 at 2
[worker-1/1] 1 at 1
[worker-1/1] 1 at 2" "logs of both attempts, in their order"
run_muster logs --attempt 2 --rank 1
is "$(cat "$out")" "1 at 2" "logs --attempt"
run_muster show -o json
is "$(json attempts.# "$out")" 2 "the report has both attempts"
has_shape report "$out" "in the report's shape"
touch "$WORK/go"
end
is "$rc" 3 "its end is as ever"

begin -n 1 -- sleep 1000
run_muster pause
wait_until 20 has_state paused
run_muster cancel
end
is "$rc" 143 "a paused job can be cancelled"

# --- cancel --------------------------------------------------------------------------------------

begin --grace 300s -n 2 -- sh -c 'trap "" TERM; echo deaf; while :; do sleep 0.1; done'
wait_until 20 grep -q deaf run.out
"$MUSTER" wait "$id" &
wait_pid=$!
run_muster cancel
is "$rc:$(cat "$out")" "0:$id: being stopped" "cancel"
run_muster show "$id"
like "$(cat "$out")" ": stopping: " "it is being stopped, with grace"
run_muster cancel "$id"
end
is "$rc" 143 "a second cancel does not wait: the run ends with 143"
is "$(report outcome) $(report cause.kind)" "cancelled cancelled" "the report says so"
wait "$wait_pid"
is "$?" 143 "and wait has its code"
is "$(survivors "$id")" "" "nothing is left"

begin --grace 300s -n 1 -- sh -c 'trap "" TERM; echo deaf; while :; do sleep 0.1; done'
wait_until 20 grep -q deaf run.out
run_muster cancel --now
end
is "$rc" 143 "cancel --now"

# --- several, elsewhere, and killed --------------------------------------------------------------

run_muster delete sh
is "$rc" 2 "several ended runs of one name"
like "$(cat "$err")" 'matches 3 runs: ' "are named by a verb that must not guess"
begin --run-dir "$WORK/elsewhere" -n 1 -- sh -c 'until [ -e "$0/go" ]; do sleep 0.05; done; exit 4' "$WORK"
run_muster logs sh
is "$rc" 0 "of one name, the newest is meant; its directory may be anywhere"
run_muster show ./elsewhere -o json
is "$(json job.run_id "$out")" "$id" "a run by its directory"
touch "$WORK/go"
run_muster wait ./elsewhere
is "$rc" 4 "wait for it"
end
run_muster wait ./elsewhere
is "$rc" 4 "and again, when it has long ended"

begin -n 1 -- sleep 1000
kill -KILL "$job_pid"
wait "$job_pid" 2>/dev/null
run_muster wait "$id"
is "$rc" 125 "a run whose muster was killed: wait is 125"
run_muster show "$id"
like "$(cat "$out")" "lost: the muster process was killed" "show says so"
like "$("$MUSTER" list)" "^$id +sleep .* lost " "list too"
run_muster list -o json
has_shape list "$out" "also as JSON, beside all the others"

if command -v bash >/dev/null; then
    begin job.yaml
    complete='. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _muster; echo "${COMPREPLY[*]}"'
    is "$(bash -c "$complete" "$TOP/doc/muster.bash" "$MUSTER" cancel "")" "$id talker" "completion of a run's id and name"
    touch "$WORK/go"
    end
else
    skip "no bash here"
fi
done_testing
