#!/bin/sh
# SIGKILL of the daemon at random moments with many jobs: every job that was acknowledged begins once and ends once
# with its true exit code; nothing is left. ROUNDS and JOBS say how many, MUSTER_TEST_SEED repeats the moments.
. "${0%/*}/lib.sh"

ROUNDS=${ROUNDS:-12} JOBS=${JOBS:-40}
[ -z "$SOAK" ] || ROUNDS=200 JOBS=400
SEED=${MUSTER_TEST_SEED:-$(date +%s)}
diag "seed $SEED, $ROUNDS rounds, $JOBS jobs"
cd "$WORK" || exit 1
export MUSTER_HOME="$WORK/h"

ok "none is lost, doubled or orphaned" timeout 800 python3 "$TOP/t/daemon_kill.py" "$MUSTER" "$ROUNDS" "$JOBS" "$SEED"
done_testing
