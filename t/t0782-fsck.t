#!/bin/sh
# muster fsck: a database that does not agree with what is on the disk.
. "${0%/*}/lib.sh"
. "${0%/*}/lib/daemon.sh"

cd "$WORK" || exit 1
run_muster fsck
is "$rc" 0 "nothing was ever submitted: nothing is wrong"
is "$(cat "$out")" "there is no database; no job has been submitted to a daemon" "which it says"
ok "the daemon is ready" serve --cpus 4
for i in 1 2 3; do
    id=$("$MUSTER" submit -n 1 -- sh -c "exit $i")
    "$MUSTER" wait "$id"
    echo "$id" >>ids
done
run_muster fsck
is "$rc" 1 "not while the daemon runs"
like "$(cat "$err")" 'already running .*; end it first \(its jobs continue\)' "which it says"
finish
run_muster fsck
is "$rc" 0 "after it has ended: nothing is wrong"
is "$(cat "$out")" "checked 3 jobs, 3 run directories and 0 snapshots: 0 problems" "and what was checked is printed"

gone=$(sed -n 1p ids) damaged=$(sed -n 2p ids) other=$(sed -n 3p ids)
rm -r "$MUSTER_HOME/runs/$gone"
echo '{' >"$MUSTER_HOME/runs/$damaged/report.json"
sed -i 's/"exit_code": 3/"exit_code": 4/' "$MUSTER_HOME/runs/$other/report.json"
mkdir -p "$MUSTER_HOME/daemon/code/20260101-000000-aaaa/lib" "$MUSTER_HOME/runs/20260101-000000-bbbb/logs"
touch "$MUSTER_HOME/runs/20260101-000000-bbbb/served"
run_muster fsck
is "$rc" 1 "problems"
cp "$out" problems
like "$(cat problems)" "$gone has ended and its run directory is gone" "a run directory that is gone"
like "$(cat problems)" "$damaged has ended, but its report cannot be read: muster delete $damaged" "a damaged report"
like "$(cat problems)" "$other: exit code 3 in the database, 4 in its report" "another exit code"
like "$(cat problems)" 'runs/20260101-000000-bbbb is of a job that is not in the database' "a run directory that nobody knows"
like "$(cat problems)" 'code/20260101-000000-aaaa is a snapshot of no job' "a snapshot of no job"
is "$(sed -n '$p' problems)" "checked 3 jobs, 3 run directories and 1 snapshot: 5 problems" "their number"
is "$(wc -l <problems)" 6 "and no others"
run_muster fsck
is "$(cat "$out")" "$(cat problems)" "it has changed nothing"
run_muster fsck --repair
is "$rc" 1 "--repair leaves what it cannot repair"
is "$(grep -c '(removed)' "$out")" 2 "and says what it has"
ok "the snapshot is removed" test ! -e "$MUSTER_HOME/daemon/code/20260101-000000-aaaa"
run_muster fsck
is "$(wc -l <"$out")" 4 "the rest is still told"
serve --cpus 4
unlike "$("$MUSTER" list -q)" "$gone" "the job is not listed any more"
like "$("$MUSTER" list -q)" "$other" "the others are"
finish
printf 'no database' | dd of="$MUSTER_HOME/daemon/jobs.db" conv=notrunc 2>/dev/null
run_muster fsck
is "$rc" 1 "a damaged database"
like "$(cat "$err")" 'jobs.db.* (is damaged|not a database)' "is reported by name"
done_testing
