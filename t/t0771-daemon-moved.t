#!/bin/sh
# A job outlives its daemon, and the next daemon takes it over, also where sockets are somewhere else by then: ssh, cron
# and the system daemon each give a user another $XDG_RUNTIME_DIR.
. "${0%/*}/lib.sh"
cd "$WORK" || exit 1
unset MUSTER_HOME
export MUSTER_SYSTEM="" XDG_STATE_HOME="$WORK/state"
mkdir -m 700 a b
ready()
{
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$XDG_RUNTIME_DIR/muster/daemon/control.sock"
}
serve() # RUNTIME-DIRECTORY
{
    export XDG_RUNTIME_DIR="$WORK/$1"
    "$MUSTER" serve --cpus 2 2>>serve.log &
    daemon=$!
    wait_until 20 ready
}
running() # ID
{
    "$MUSTER" list -q -s running | grep -qx "$1"
}
has_ended()
{
    [ -z "$("$MUSTER" list -q -r)" ]
}

serve a
id=$("$MUSTER" submit -n 2 -- sh -c 'echo begin; until [ -e go ]; do sleep 0.05; done; exit 6')
ok "a job runs" wait_until 20 running "$id"
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
serve b
ok "it runs with a daemon that has its socket elsewhere" running "$id"
run_muster exec "$id" worker-0 -- echo inside
is "$rc $(cat "$out") $(cat "$err")" "0 inside " "and is reached"
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
serve a
ok "and with one that is back" running "$id"
kill "$daemon"
wait "$daemon" 2>/dev/null
serve b
touch go
run_muster wait "$id"
is "$rc" 6 "it ends with its own code"
is "$(grep -c begin "$XDG_STATE_HOME/muster/runs/$id"/logs/*.log | grep -c ':1$')" 2 "each process ran once"
ok "nothing is left" wait_until 20 has_ended
is "$(find a/muster b/muster -maxdepth 1 -name "$id")" "" "nor of its sockets"
kill "$daemon"
wait "$daemon"
is $? 0 "the daemon ends"
done_testing
