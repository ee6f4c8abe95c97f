#!/bin/sh
# submit --hang-timeout: a job of the daemon that does nothing is ended, also by a later daemon.
. "${0%/*}/lib.sh"
. "${0%/*}/lib/daemon.sh"

cd "$WORK" || exit 1
zombies()
{
    # shellcheck disable=SC2009 # pgrep does not show states
    ps -o stat= --ppid "$daemon" | grep -c Z
}
none()
{
    [ "$(zombies)" = 0 ]
}
ok "the daemon is ready" serve --cpus 4
id=$("$MUSTER" submit --hang-timeout 2s -n 2 -- sh -c 'echo started; sleep 600')
run_muster wait "$id"
is "$rc" 124 "a job that hangs ends with 124"
like "$("$MUSTER" show "$id")" 'without output or I/O|hang|no output' "show says why"
ok "the report of the hang is there" test -s "$MUSTER_HOME/runs/$id/hang.json"
like "$(cat "$MUSTER_HOME/runs/$id/hang.txt")" 'sleep' "with the processes"
# shellcheck disable=SC2016 # for the job's shell
id=$("$MUSTER" submit --hang-timeout 2s -n 1 -- sh -c 'for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.5; done; exit 5')
run_muster wait "$id"
is "$rc" 5 "one that writes does not"
id=$("$MUSTER" submit --hang-timeout 3s -n 1 -- sh -c 'touch runs; sleep 600')
ok "a job runs" wait_until 20 test -e runs
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
ok "another daemon" serve --cpus 4
run_muster wait "$id"
is "$rc" 124 "watches it, too"
ok "no child is left" wait_until 10 none
finish
is "$?" 0 "the daemon ends"
done_testing
