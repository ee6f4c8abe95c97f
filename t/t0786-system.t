#!/bin/sh
# muster serve --system: one queue for all users of a machine; each job runs as its submitter, and root touches
# nothing that is a user's. /etc is a copy in a mount namespace of its own, with two users more.
. "${0%/*}/lib.sh"

if [ -z "${MUSTER_TEST_INSIDE:-}" ]; then
    [ "$(id -u)" -eq 0 ] || skip_all "only root can run jobs as other users"
    can_be_user || skip_all "an ordinary user cannot have namespaces here"
    unshare -m --propagation private true 2>/dev/null || skip_all "no mount namespace here"
    MUSTER_TEST_INSIDE=1 unshare -m --propagation private sh "$0"
    exit $?
fi

chmod 755 "$WORK"
mkdir -m 755 "$WORK/bin" "$WORK/homes"
cp "$MUSTER" "${MUSTER%/*}/muster-serve" "${MUSTER%/*}/muster-shim" "$WORK/bin"
cp -a /etc "$WORK/etc"
mount --bind "$WORK/etc" /etc || skip_all "cannot mount here"
add_user() # NAME UID
{
    mkdir -m 700 "$WORK/homes/$1"
    echo "$1:x:$2:$2::$WORK/homes/$1:/bin/sh" >>/etc/passwd
    echo "$1:x:$2:" >>/etc/group
    chown "$2:$2" "$WORK/homes/$1"
}
add_user anna 4811
add_user bob 4812
echo "lab:x:4820:anna" >>/etc/group
m=$WORK/bin/muster
daemon=
end_all() # what would outlive a test that is interrupted
{
    [ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null
    members | while read -r pid; do kill -9 "$pid"; done
    find /proc/[0-9]*/exe -lname "$WORK/bin/*" 2>/dev/null | cut -d/ -f3 | while read -r pid; do kill -9 "$pid"; done
    # A daemon whose own place was made unusable takes one in /tmp.
    find /tmp -maxdepth 1 \( -name muster-4811 -uid 4811 -o -name muster-4812 -uid 4812 \) -exec rm -rf {} +
    rm -rf "$WORK"
}
trap end_all EXIT
as() # NAME COMMAND… - with a login's environment
{
    as_name=$1
    shift
    (
        cd "$WORK/homes/$as_name" 2>/dev/null || cd / || exit 1
        exec setpriv --reuid="$as_name" --regid="$as_name" --init-groups --inh-caps=-all \
            env -i PATH="$PATH" HOME="$WORK/homes/$as_name" USER="$as_name" MUSTER_SYSTEM="$WORK/sys" LC_ALL=C.UTF-8 \
            timeout -k 5 60 "$@"
    ) >"$out" 2>"$err" </dev/null
    rc=$?
}
as_root() # the same of root
{
    env -i PATH="$PATH" HOME="$WORK/home" USER=root MUSTER_SYSTEM="$WORK/sys" LC_ALL=C.UTF-8 timeout -k 5 60 "$@" \
        >"$out" 2>"$err" </dev/null
    rc=$?
}
submit() # NAME ARG… - sets $id and $rc
{
    submitter=$1
    shift
    as "$submitter" "$m" submit "$@"
    id=$(cat "$out")
}
system() # ARG… - starts the system daemon and waits until it listens
{
    env -i PATH="$PATH" MUSTER_SYSTEM="$WORK/sys" STATE_DIRECTORY="$WORK/var" "$WORK/bin/muster-serve" serve --system "$@" \
        2>>"$WORK/system.log" &
    daemon=$!
    wait_until 20 listens
}
listens()
{
    as_root "$m" list --all-users
    [ $rc -eq 0 ]
}
public() # ID KEY
{
    as_root "$m" list --all-users -o json
    python3 -c 'import json,sys; print([j[sys.argv[3]] for j in json.load(open(sys.argv[1]))["jobs"] if j["id"] == sys.argv[2]][0])' \
        "$out" "$1" "$2" 2>/dev/null
}
is_public() # ID PHASE
{
    [ "$(public "$1" phase)" = "$2" ]
}
members() # pids of users' daemons, or of that user's
{
    pgrep ${1:+-u "$1"} -f "serve --member" | while read -r pid; do
        [ "$(readlink "/proc/$pid/exe")" != "$WORK/bin/muster-serve" ] || echo "$pid"
    done
}
has_member()
{
    ! no_members "$@"
}
no_members()
{
    [ -z "$(members "$@")" ]
}

# --- what is refused
as bob "$WORK/bin/muster-serve" serve --system
is "$rc" 1 "--system is for root"
like "$(cat "$err")" 'must be started as root.*without it runs your own' "and says so"
MUSTER_HOME=$WORK/h as_root env MUSTER_HOME="$WORK/h" "$m" serve --system
is "$rc" 1 "MUSTER_HOME and --system"
as_root "$m" serve --system --listen 127.0.0.1:0 --tls-cert x --tls-key x --token-file x
is "$rc" 2 "--listen and --system"
like "$(cat "$err")" "each user's own daemon" "says what serves HTTP"
mkdir -m 777 "$WORK/open"
as_root env STATE_DIRECTORY="$WORK/open" "$m" serve --system
is "$rc" 1 "a state directory that others may write to is refused"
like "$(cat "$err")" 'only root may write to it' "and why"

# --- a job is its submitter's
ok "the system daemon listens" system --cpus 2
is "$(stat -c %a:%U "$WORK/sys" "$WORK/sys/control.sock" "$WORK/sys/users" "$WORK/var" | paste -sd' ')" \
    "755:root 666:root 755:root 700:root" "its directories are root's, its socket is everybody's"
echo secret >"$WORK/labfile"
chown root:lab "$WORK/labfile"
chmod 640 "$WORK/labfile"
cat >"$WORK/who" <<SH
#!/bin/sh
id -u; id -g; umask; ulimit -S -n; pwd; echo "\$HOME \$USER \$HELLO"; cat "$WORK/labfile"
echo made >made; awk '/^Cap(Prm|Eff|Amb)/ { print \$2 }' /proc/self/status | sort -u
SH
chmod 755 "$WORK/who"
as anna sh -c "umask 0027; ulimit -S -n 77; HELLO=there exec $m submit -n 1 -- $WORK/who"
id=$(cat "$out")
is "$rc" 0 "anna submits"
as anna "$m" wait "$id"
is "$rc" 0 "and waits"
as anna "$m" logs "$id"
is "$(sed 's/^\[[^]]*\] //' "$out" | paste -sd'|')" \
    "4811|4811|0027|77|$WORK/homes/anna|$WORK/homes/anna anna there|secret|0000000000000000" \
    "uid, gid, umask, limits, directory, environment, groups and no capabilities are hers"
is "$(stat -c '%U:%G %a' "$WORK/homes/anna/made")" "anna:anna 640" "and what the job made"
is "$(find "$WORK/homes" -user root -mindepth 2 | wc -l)" 0 "nothing in a home is root's"
is "$(stat -c '%U %a' "$WORK/sys/users/4811" "$WORK/homes/anna/.local/state/muster/runs/$id" | paste -sd' ')" \
    "anna 700 anna 700" "her directories are hers alone"
pid=$(members anna)
is "$(grep -E '^(Uid|Gid|Groups|CapPrm|CapEff)' "/proc/$pid/status" | tr -s '\t ' ' ' | sed 's/ $//' | paste -sd'|')" \
    "Uid: 4811 4811 4811 4811|Gid: 4811 4811 4811 4811|Groups: 4811 4820|CapPrm: 0000000000000000|CapEff: 0000000000000000" \
    "her daemon has her identity and nothing else"
is "$(tr '\0' '\n' <"/proc/$pid/environ" | grep -c STATE_DIRECTORY)" 0 "and none of root's environment"
as anna "$m" open --no-browser
like "$(cat "$out")" 'http://127\.0\.0\.1:[0-9]+/#once=' "the page is served by her daemon"
is "$(stat -c '%U %a' "$WORK/sys/users/4811/muster/daemon/http.sock" "$WORK/sys/users/4811/muster/daemon/control.sock" | paste -sd' ')" \
    "anna 600 anna 600" "whose sockets are hers alone"
as_root "$m" submit -n 1 -- id -u
id=$(cat "$out")
as_root "$m" wait "$id"
as_root "$m" logs "$id"
like "$(cat "$out")" '^(\[[^]]*\] )?0$' "root's own job is root's"
as_root sh -c "kill $(members root)"
ok "root's daemon ends" wait_until 10 no_members root
as_root env HOME=/tmp/muster-none-$$ "$m" submit -n 1 -- true
is "$rc" 1 "where anybody could make the directory first, its daemon does not start"
as_root env HOME="$WORK/homes/bob" "$m" submit -n 1 -- true
is "$rc" 1 "with a home directory of somebody else's (as sudo may leave it)"
like "$(cat "$err")" "$WORK/homes/bob: root's jobs are kept only where root alone can write" "root's daemon does not start"
is "$(ls -A "$WORK/homes/bob")" "" "nor write there"
as_root "$m" submit -n 1 -- true
is "$rc" 0 "in its own it does"
(cd / && setpriv --reuid=4899 --regid=4899 --clear-groups env -i PATH="$PATH" HOME=/ MUSTER_SYSTEM="$WORK/sys" XDG_RUNTIME_DIR=/nowhere \
    MUSTER_TMPDIR="$WORK" "$m" submit -n 1 -- true) >"$out" 2>"$err"
is $? 1 "somebody who is not in the user database"
like "$(cat "$err")" 'uid 4899 is not in the user database' "is refused"

# --- other users
submit anna -n 1 -- sh -c 'echo private-words; until [ -e go ]; do sleep 0.05; done; exit 5'
first=$id
ok "anna's job runs" wait_until 20 is_public "$first" running
as bob "$m" list -q
is "$(cat "$out")" "" "bob's list does not have it"
as bob "$m" list --all-users
like "$(cat "$out")" "^$first +anna +sh +default +50 +1 +0 +running" "--all-users has what is public"
unlike "$(cat "$out" "$err")" 'private-words|homes/anna' "and no more than that"
as bob "$m" list --all-users -o json
has_shape list-users "$out" "also as JSON"
unlike "$(cat "$out")" 'private-words|homes' "which has no more either"
for verb in show logs events cancel pause resume wait exec attach delete; do
    words=$first
    [ $verb != exec ] || words="$first worker-0 -- id"
    # shellcheck disable=SC2086 # several words
    as bob "$m" $verb $words
    ok "bob cannot $verb it ($rc)" test $rc -ne 0
    like "$(cat "$err")" "$first is a job of anna; only anna and root may do that" "and is told whose it is"
    unlike "$(cat "$out")" 'private-words' "and sees nothing of it"
done
as bob cat "$WORK/homes/anna/.local/state/muster/runs/$first/journal.jsonl"
is "$rc" 1 "its records are not readable"
cat >"$WORK/ask.py" <<'PYTHON'
import json, socket, struct, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(5)
s.connect(sys.argv[1])
head = sys.argv[2].encode()
s.sendall(struct.pack('=II', len(head), 0) + head + ''.join(line + '\n' for line in sys.argv[3:]).encode())
said = b''
try:
    while True:
        data = s.recv(65536)
        if not data:
            break
        said += data
        if len(sys.argv) > 3 and b'"why"' in said:
            break
except TimeoutError:
    pass
sys.stdout.write(said[8:].decode())
PYTHON
chmod 644 "$WORK/ask.py"
as bob python3 "$WORK/ask.py" "$WORK/sys/users/4811/muster/daemon/control.sock" '{"version":1,"request":"list"}'
like "$(cat "$err")" 'PermissionError' "nor is her daemon's socket"
as bob python3 "$WORK/ask.py" "$WORK/sys/control.sock" "{\"version\":1,\"request\":\"cancel\",\"id\":\"$first\"}"
like "$(cat "$out")" '"ok":false.*only anna and root may do that' "nor does the system daemon pass his request on"
for request in show logs submit exec '' '../x'; do
    as bob python3 "$WORK/ask.py" "$WORK/sys/control.sock" "{\"version\":1,\"request\":\"$request\",\"id\":\"$first\"}"
    like "$(cat "$out")" '"ok":false.*unknown request' "the system daemon does not do \"$request\""
done
is "$(public "$first" phase)" running "the job has noticed none of that"

# --- one queue
submit bob -n 2 -- true
second=$id
ok "bob's job waits for hers" wait_until 10 is_public "$second" waiting
as bob "$m" list
like "$(cat "$out")" "$second .*waiting.* needs 2 CPUs, 1 free" "and his daemon says why"
is "$(public "$second" place)" 1 "in a place of the queue"
as anna touch go
as anna "$m" wait "$first"
is "$rc" 5 "hers ends with its own code"
as bob "$m" wait "$second"
is "$rc" 0 "then his runs"
rm "$WORK/homes/anna/go"
as anna sh -c "for i in 1 2 3 4 5 6; do $m submit -n 1 -- sh -c 'echo a >>$WORK/order; sleep 0.3'; done"
is "$rc" 0 "anna submits many"
: >"$WORK/order"
chmod 666 "$WORK/order"
submit bob -n 1 -- sh -c "echo b >>$WORK/order"
as bob "$m" wait "$id"
ok "bob does not wait for all of them" test "$(grep -c a "$WORK/order")" -lt 5
as anna "$m" wait --all

# --- refusals, also of who never had a daemon elsewhere
rm -rf /tmp/muster-4812
submit bob --after 20200101-000000-zzzz -n 1 -- true
is "$rc" 1 "a job to wait for that there is not"
like "$(cat "$err")" 'job "20200101-000000-zzzz" not found' "is told as that"

# --- a directory of state that somebody else has made first
mkdir -m 1777 "$WORK/shared"
as anna sh -c "umask 0; mkdir -p $WORK/shared/muster/daemon $WORK/shared/muster/runs"
as bob env MUSTER_SYSTEM= XDG_STATE_HOME="$WORK/shared" "$m" submit -n 1 -- id -un
is "$rc" 1 "a daemon does not use it"
like "$(cat "$err")" 'must belong to uid 4812|Permission denied' "and says why"

# --- a daemon that lies
as bob sh -c "kill $(members bob)"
ok "bob ends his daemon" wait_until 10 no_members bob
lie='{"job":1,"id":"liar","name":"x","queue":"default","priority":100,"state":"running","grant":9,"submitted":1,"max_ms":0,"roles":[[1,2000,0,0,0]]}'
as bob python3 "$WORK/ask.py" "$WORK/sys/control.sock" '{"version":1,"request":"member"}' "$lie" '{"told":true}' &
liar=$!
ok "a job that claims to run" wait_until 10 is_public liar running
submit anna -n 2 -- true
as anna "$m" wait "$id"
is "$rc" 0 "holds nothing"
wait "$liar"
for line in '{' '[]' '{"job":-1}' '{"job":2,"id":"../../x"}' '{"job":1,"id":"a","name":"x","queue":"q","priority":1,"state":"waiting","roles":[[9999999,1,1,1,1]]}' \
    '{"job":1,"id":"a","name":"x","queue":"q","priority":1,"state":"waiting","roles":[[1,9223372036854775807,1,1,1],[1,9223372036854775807,1,1,1]]}' \
    '{"job":1,"id":"a","name":"\u001b[2J","queue":"q","priority":1,"state":"waiting","roles":[]}' '{"start":1}' '{"job":1,"id":"a","name":"x","queue":"q","priority":1,"state":"waiting","max_ms":9223372036854775807,"roles":[]}'; do
    as bob python3 "$WORK/ask.py" "$WORK/sys/control.sock" '{"version":1,"request":"member"}' "$line"
    case $line in
    '{"job":'[1-9]*) like "$(cat "$out")" 'cannot be queued: .* out of range' "a job that cannot be is refused: $line" ;;
    *) ok "a line that is none is the end of the connection: $line" test "$(wc -c <"$out")" -lt 100 ;;
    esac
done
ok "the system daemon lives" kill -0 "$daemon"
submit anna -n 1 -- true
as anna "$m" wait "$id"
is "$rc" 0 "and serves"

# --- links that lead elsewhere
mkdir -m 755 "$WORK/roots"
echo untouched >"$WORK/roots/log"
kill "$(members anna)"
ok "anna's daemon ends" wait_until 10 no_members anna
mv "$WORK/homes/anna/.local/state/muster" "$WORK/homes/anna/kept"
as anna ln -s "$WORK/roots" "$WORK/homes/anna/.local/state/muster"
submit anna -n 1 -- true
is "$rc" 1 "a state directory that is a link to root's"
is "$(ls "$WORK/roots") $(cat "$WORK/roots/log")" "log untouched" "is not written to"
rm "$WORK/homes/anna/.local/state/muster"
mv "$WORK/homes/anna/kept" "$WORK/homes/anna/.local/state/muster"
as anna ln -sf "$WORK/roots/log" "$WORK/homes/anna/.local/state/muster/daemon/log"
as anna ln -sfn "$WORK/roots" "$WORK/homes/anna/.local/state/muster/code"
as anna rm -rf "$WORK/sys/users/4811/muster"
as anna ln -s "$WORK/roots" "$WORK/sys/users/4811/muster"
submit anna -n 1 -- true
ok "nor through links in the place of log, code and sockets ($rc)" test "$(ls "$WORK/roots") $(cat "$WORK/roots/log")" = "log untouched"
as anna sh -c "rm -f $WORK/sys/users/4811/muster; mv $WORK/sys/users/4811 $WORK/sys/users/4812"
is "$rc" 1 "users cannot rename what root made"
as anna sh -c "rm -f $WORK/homes/anna/.local/state/muster/daemon/log $WORK/homes/anna/.local/state/muster/code"
submit anna -n 1 -- true
as anna "$m" wait "$id"
is "$rc" 0 "without the links it works again"

# --- daemons come and go
submit anna -n 1 -- sh -c 'until [ -e go ]; do sleep 0.05; done; exit 6'
first=$id
submit bob -n 2 -- sh -c 'exit 7'
second=$id
ok "one runs" wait_until 10 is_public "$first" running
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
as bob "$m" submit -n 1 -- sh -c 'exit 8'
third=$(cat "$out")
is "$rc" 0 "bob's daemon takes a job while the system daemon is away"
as bob "$m" list
like "$(cat "$out")" "$third .*waiting.*the system daemon is not running" "which waits, and says why"
ok "a new one" system --cpus 2
ok "knows what is held" wait_until 10 is_public "$second" waiting
is "$(public "$first" phase) $(public "$first" user)" "running anna" "and whose job it is"
kill -9 "$(members anna)"
as anna touch go
ok "anna's daemon is started again" wait_until 20 has_member anna
as anna "$m" wait "$first"
is "$rc" 6 "her job has its true code"
as bob "$m" wait "$second"
is "$rc" 7 "and bob's runs"
as bob "$m" wait "$third"
is "$rc" 8 "both of them"
rm "$WORK/homes/anna/go"

submit anna -n 1 -- sh -c 'until [ -e go ]; do sleep 0.05; done; id -u; exit 9'
first=$id
ok "one more runs" wait_until 10 is_public "$first" running
kill "$daemon"
wait "$daemon"
is $? 0 "SIGTERM ends it with 0"
ok "and users' daemons" wait_until 10 no_members
ok "but no job" pgrep -u anna -f 'until \[ -e go'
submit bob -n 1 -- true
is "$rc" 1 "nothing can be submitted then"
like "$(cat "$err")" 'the system daemon is not running.*systemctl start muster' "and why"
as anna touch go
ok "a third one" system --cpus 2
ok "starts the daemon of who has jobs" wait_until 20 has_member anna
as anna "$m" wait "$first"
is "$rc" 9 "the job has its code"
as anna "$m" logs "$first"
like "$(cat "$out")" '4811$' "and was hers to the end"
rm "$WORK/homes/anna/go"

# --- root
submit anna -n 1 -- sleep 300
first=$id
submit anna -n 2 -- sleep 300
second=$id
ok "a job of anna's" wait_until 10 is_public "$first" running
as_root "$m" logs "$first"
is "$rc" 1 "root is not shown files of a user"
like "$(cat "$err")" "runuser -u anna" "but told how"
as_root "$m" pause "$second"
is "$rc" 0 "root pauses one that waits"
ok "which it is" wait_until 10 is_public "$second" paused
as_root "$m" cancel "$second"
as_root "$m" cancel "$first"
is "$rc" 0 "root cancels"
like "$(cat "$out")" "$first of anna: being stopped" "and is told whose it was"
as anna "$m" wait "$first"
is "$rc" 143 "the running one"
as anna "$m" wait "$second"
is "$rc" 143 "and the waiting one"

# --- queues of the machine
mkdir -p /etc/muster
cat >/etc/muster/config.yaml <<'YAML'
queues:
  - {name: batch, priority: 0, preemptible: true}
  - {name: urgent, priority: 10}
preemption: pause
YAML
kill "$daemon"
wait "$daemon"
ok "with queues" system --cpus 2
as anna mkdir -p "$WORK/homes/anna/.config/muster"
as anna sh -c "echo 'queues: [{name: mine, priority: 100}]' >$WORK/homes/anna/.config/muster/config.yaml"
submit anna --queue mine -n 1 -- true
is "$rc" 1 "a queue of the user's own configuration"
like "$(cat "$err")" 'queue "mine" not found; configured queues: batch, urgent' "is none of the machine's"
submit anna --queue batch -n 2 -- sh -c 'until [ -e go ]; do sleep 0.05; done'
first=$id
ok "a job that can be preempted" wait_until 10 is_public "$first" running
submit bob --queue urgent -n 2 -- sleep 1
as bob "$m" wait "$id"
is "$rc" 0 "makes room for another user's"
as anna touch go
as anna "$m" wait "$first"
is "$rc" 0 "and goes on"
as anna "$m" events "$first"
like "$(cat "$out")" "preempted by $id \(sleep, bob\)" "its events say for whom"

kill "$daemon"
wait "$daemon"
ok "nothing is left" wait_until 10 no_members
is "$(grep -c ERROR: "$WORK/system.log")" 0 "the log has no report of a sanitizer" || sed 's/^/# /' "$WORK/system.log"
done_testing
