#!/bin/sh
# A rank that fails by itself while the others are already being stopped is reported as failed; one that ends
# because it was stopped is reported as stopped, whatever its status.
. "${0%/*}/lib.sh"
cd "$WORK" || exit 1

ranks() # OUTCOME: the exit statuses or signals of such ranks, one per line
{
    python3 - "$REPORT" "$1" <<'PYTHON'
import json, sys
for rank in json.load(open(sys.argv[1]))['attempts'][-1]['ranks']:
    if rank['outcome'] == sys.argv[2]:
        print(rank['signal'] or rank['exit_code'])
PYTHON
}

# They all end within a few milliseconds. What SIGTERM met first was killed by it: dash has no handler.
for i in 1 2 3 4 5; do
    rm -f go
    # shellcheck disable=SC2016 # a rank expands it
    "$MUSTER" run --report "$REPORT" -n 12 --hosts 3 -- \
        sh -c 'test "$RANK" != 0 || { sleep 0.5; touch go; }; until test -e go; do :; done; exit $((RANK + 10))' \
        >/dev/null 2>&1
    is "$(ranks stopped | grep -v SIGTERM)" "" "round $i: whoever was stopped was killed by it"
    is "$(ranks failed | grep SIGTERM)" "" "round $i: whoever failed has a status of its own"
done

# shellcheck disable=SC2016
"$MUSTER" run --report "$REPORT" -n 4 --hosts 2 -- \
    sh -c 'trap "exit 9" TERM; echo >up.$RANK; test "$RANK" != 0 || { until test -e up.1 && test -e up.2 && test -e up.3; do sleep 0.1; done; exit 4; }; sleep 60 & wait' \
    >/dev/null 2>&1
is $? 4 "the first failure's status"
is "$(ranks failed)" 4 "whoever traps SIGTERM has not failed"
is "$(ranks stopped | sort -u)" 9 "although it exits with a status"

# --- refused before anything runs ----------------------------------------------------------------

for place in "$WORK/nowhere/report" "$WORK"; do
    run_muster run --report "$place" -n 1 -- touch "$WORK/ran"
    is "$rc" 125 "a report that cannot be written to $place"
    like "$(cat "$err")" "the report cannot be written: $WORK" "it is said why"
    ok "and the job is not started" test ! -e "$WORK/ran"
done

# A signal between the making of the run directory and the loop.
for i in 0 1 2 3 4 5 6 7; do
    env --default-signal=TERM "$MUSTER" run -n 1 -- sleep 60 >/dev/null 2>&1 &
    muster=$!
    sleep "0.0$i"
    kill "$muster"
    wait "$muster"
done
is "$("$MUSTER" list --all | grep -cw lost)" 0 "a run that is ended while it begins is not lost"

if can_be_user; then
    user_copy
    as_user ./muster run -q -n 1 -- true
    XDG_STATE_HOME="$USER_DIR/home" run_muster rerun
    is "$rc" 125 "root does not run another user's command again"
    like "$(cat "$err")" "the run belongs to another user" "it is said why"
else
    skip "cannot become a user that may have namespaces" 2
fi

# --- a run directory of one's own, later ---------------------------------------------------------

run_muster run --run-dir own -n 1 -- true
run_muster rerun ./own
is "$rc" 0 "rerun of a run with --run-dir"
like "$(cat "$err")" 'note: own \(--run-dir\) already exists; using the default run directory' "takes another directory"
is "$(find own -name report.json | wc -l)" 1 "and leaves that one alone"
for word in own ./own own/; do
    run_muster show $word
    like "$rc:$(cat "$out")" '^0:true \(' "show $word"
done
cd own/logs || exit 1
run_muster show ..
like "$rc:$(cat "$out")" '^0:true \(' "show .."
cd .. || exit 1
run_muster show .
like "$rc:$(cat "$out")" '^0:true \(' "show ."
run_muster delete .
like "$rc:$(cat "$err")" 'run "." not found' "delete needs a name"
cd .. || exit 1
done_testing
