#!/bin/sh
# The daemon killed at each of its kill points: what was acknowledged is there afterwards, began once, and ends with
# its true exit code. A point that is never reached is an error.
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1
cat >job.sh <<'SH'
echo "$1" >>began
until [ -e "$2" ]; do sleep 0.02; done
exit "$3"
SH
serve() # HOME [POINT]
{
    MUSTER_HOME=$1 MUSTER_KILL_POINT=${2:-} "$MUSTER" serve --cpus 8 2>>serve.log &
    daemon=$!
}
ready() # somebody listens; a daemon that was killed leaves its socket
{
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$home/run/daemon/control.sock" || gone
}
submit() # TOKEN UNTIL CODE - the id, if it was acknowledged
{
    MUSTER_HOME=$home "$MUSTER" submit --no-autostart -n 1 -- sh job.sh "$1" "$2" "$3" 2>/dev/null
}
running()
{
    MUSTER_HOME=$home "$MUSTER" list -r | grep -q "$1.* running"
}
gone()
{
    ! kill -0 "$daemon" 2>/dev/null
}

# preempted, released, moved: a job makes room for another one, and continues with another GPU than before.
gpu_job() # NAME QUEUE CODE - in place
{
    cat >"$1.yaml" <<YAML
apiVersion: muster/v1
name: $1
queue: $2
roles: {worker: {command: 'echo begin >>$1.log; until [ -e $1.go ]; do sleep 0.02; done; exit $3', resources: {gpu: 1}}}
YAML
    MUSTER_HOME=$home "$MUSTER" submit --no-autostart --in-place "$1.yaml" 2>/dev/null
}
make_room() # POINT
{
    home=$WORK/$1
    mkdir -m 700 "$home"
    rm -f ./*.go ./*.log
    printf '%s\n' 'queues: [{name: low}, {name: high, priority: 5}]' 'preemption: pause' 'machine: {gpus: 2}' >"$home/config.yaml"
    serve "$home"
    wait_until 20 ready
    one=$(gpu_job one low 3)
    wait_until 20 running "$one" # the job that began last makes room
    two=$(gpu_job two low 5)
    wait_until 20 running "$two"
    kill -9 "$daemon"
    wait "$daemon" 2>/dev/null
    serve "$home" "$1"
    wait_until 5 ready
    urgent=$(gpu_job urgent high 7)
    wait_until 5 sh -c '[ -e urgent.log ]' || gone
    touch one.go
    wait_until 20 gone || kill "$daemon"
    wait "$daemon" 2>/dev/null
    is "$?" 137 "$1 is reached"
    serve "$home"
    wait_until 20 ready
    touch one.go urgent.go two.go
    export MUSTER_HOME="$home"
    run_muster wait "$one"
    is "$rc" 3 "the job beside it ends with its code"
    run_muster wait "$two"
    is "$rc" 5 "so does the one that made room"
    if [ -n "$urgent" ]; then
        run_muster wait "$urgent"
        is "$rc" 7 "and the one that it made room for"
    fi
    ok "it began once, or once more" test "$(grep -c begin two.log)" -le 2
    is "$(grep -c begin one.log)" 1 "the others once"
    is "$(survivors "$one")$(survivors "$two")" "" "nothing is left"
    kill "$daemon"
    wait "$daemon"
    is "$?" 0 "and the daemon ends"
    unset MUSTER_HOME
}

# code-copied, code-pruned: a job that runs in a copy of its directory.
copied() # POINT
{
    home=$WORK/$1
    mkdir -m 700 "$home" "$WORK/$1.code"
    echo "echo begin >>$WORK/$1.log; echo x >made; exit 6" >"$WORK/$1.code/script"
    printf '%s\n' 'apiVersion: muster/v1' 'name: copied' 'roles: {worker: {command: sh script}}' >"$WORK/$1.code/job.yaml"
    serve "$home" "$1"
    wait_until 20 ready
    id=$(MUSTER_HOME=$home "$MUSTER" submit --no-autostart "$WORK/$1.code/job.yaml")
    wait_until 20 gone || kill "$daemon"
    wait "$daemon" 2>/dev/null
    is "$?" 137 "$1 is reached"
    rm "$WORK/$1.code/script"
    serve "$home"
    wait_until 20 ready
    export MUSTER_HOME="$home"
    run_muster wait "$id"
    is "$rc" 6 "the job ends with its code"
    is "$(grep -c begin "$WORK/$1.log")" 1 "it began once"
    is "$(ls "$home/runs/$id/code")" made "what it has written is left"
    wait_until 10 sh -c "[ -z \"\$(ls '$home/daemon/code')\" ]"
    is "$(ls "$home/daemon/code")" "" "and no snapshot"
    kill "$daemon"
    wait "$daemon"
    is "$?" 0 "and the daemon ends"
    unset MUSTER_HOME
}

for point in $("$MUSTER" serve --list-kill-points); do
    case $point in
    preempted | released | moved)
        make_room "$point"
        continue
        ;;
    code-*)
        copied "$point"
        continue
        ;;
    esac
    home=$WORK/$point
    mkdir -m 700 "$home"
    rm -f began never
    touch now
    # One job runs already, so that there is something to adopt and to cancel.
    serve "$home"
    wait_until 20 ready
    first=$(submit "first" never 9)
    wait_until 20 running "$first"
    kill -9 "$daemon"
    wait "$daemon" 2>/dev/null

    serve "$home" "$point"
    wait_until 5 ready
    second=$(submit "second" now 7)
    if [ "$point" = cancel-posted ]; then
        MUSTER_HOME=$home "$MUSTER" cancel "$first" >/dev/null 2>&1
    fi
    wait_until 20 gone || kill "$daemon"
    wait "$daemon" 2>/dev/null
    is "$?" 137 "$point is reached"
    [ -n "$second" ] || [ "$(grep -c second began)" -le 1 ] || diag "began twice"

    serve "$home"
    wait_until 20 ready
    touch never
    export MUSTER_HOME="$home"
    run_muster wait "$first"
    if [ "$point" = cancel-posted ]; then
        is "$rc" 143 "the request is kept"
    else
        is "$rc" 9 "the job that ran ends with its code"
    fi
    if [ -n "$second" ]; then
        run_muster wait "$second"
        is "$rc" 7 "so does the one that was acknowledged"
    fi
    run_muster wait --all
    is "$(sort began | uniq -d)" "" "none began twice"
    is "$(survivors "$first")$(survivors "${second:-none}")" "" "nothing is left"
    kill "$daemon"
    wait "$daemon"
    is "$?" 0 "and the daemon ends"
    unset MUSTER_HOME
done
done_testing
