#!/bin/sh
# Run directories of the daemon's jobs are removed by the rule of foreground runs, a day after their end.
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1
export MUSTER_HOME="$WORK/h"
mkdir -m 700 h
printf 'retention: {keep: 1}\n' >h/config.yaml
serve()
{
    "$MUSTER" serve --cpus 4 2>>serve.log &
    daemon=$!
    wait_until 20 python3 ready.py "$MUSTER_HOME/run/daemon/control.sock"
}
stop()
{
    kill "$daemon"
    wait "$daemon"
}
cat >ready.py <<'PY'
import socket, sys
socket.socket(socket.AF_UNIX).connect(sys.argv[1])
PY
ok "the daemon is ready" serve
job() # COMMAND
{
    id=$("$MUSTER" submit -n 1 -- sh -c "$1")
    "$MUSTER" wait "$id"
    sleep 1 # the order of runs is that of their start
}
job 'exit 3'
old=$id
# shellcheck disable=SC2016 # for the job's shell
job 'echo kept >"$MUSTER_RUN_DIR/model"'
outputs=$id
job 'exit 4'
recent=$id
job true
newest=$id
for id in "$old" "$outputs" "$recent" "$newest"; do
    ok "a run of today stays, whatever the limit" test -d "h/runs/$id"
done
stop
python3 - "$old" "$outputs" "$newest" <<'PY'
import sqlite3, sys
with sqlite3.connect('h/daemon/jobs.db') as db:
    for id in sys.argv[1:]:
        db.execute('UPDATE job SET ended = ended - 25 * 3600 * 1000000000 WHERE id = ?', (id,))
PY
ok "the daemon is ready again" serve
ok "a run that ended a day ago is removed" wait_until 20 test ! -e "h/runs/$old"
ok "but not one with outputs" test -e "h/runs/$outputs/model"
ok "nor a recent one" test -d "h/runs/$recent"
ok "nor the newest" test -d "h/runs/$newest"
run_muster wait "$old"
is "$rc" 3 "its exit code is still known"
run_muster logs "$old"
like "$(cat "$err")" 'its run directory was removed' "its logs are not"
stop
is "$?" 0 "the daemon ends"
run_muster fsck
is "$rc" 0 "and nothing is missed"
done_testing
