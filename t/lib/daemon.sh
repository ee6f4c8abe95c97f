# shellcheck shell=sh disable=SC2034,SC2154 # its variables are for the scripts, others are of lib.sh
# daemon.sh - what the scripts about the daemon share. MUSTER_HOME is $WORK/h.
#
#   serve ARG…      starts the daemon ($daemon, its output in $WORK/serve.log) and waits until it answers
#   finish          ends it; its exit status
#   submit ARG…     muster submit: $id and $rc
#   state ID [KEY]  that of a job (phase) in `list -o json`
#   is_in ID PHASE  is the job in it?

export MUSTER_HOME="$WORK/h"
mkdir -m 700 "$MUSTER_HOME"

serve()
{
    "$MUSTER" serve "$@" 2>>"$WORK/serve.log" &
    daemon=$!
    wait_until 20 ready
}
ready()
{
    python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$MUSTER_HOME/run/daemon/control.sock" &&
        "$MUSTER" list
}
finish()
{
    kill "$daemon" && wait "$daemon"
}
submit()
{
    run_muster submit "$@"
    id=$(cat "$out")
}
state()
{
    "$MUSTER" list -o json >"$WORK/list.json"
    python3 -c 'import json,sys; print([j[sys.argv[3]] for j in json.load(open(sys.argv[1]))["jobs"] if j["id"] == sys.argv[2]][0])' \
        "$WORK/list.json" "$1" "${2:-phase}"
}
is_in()
{
    [ "$(state "$1")" = "$2" ]
}
