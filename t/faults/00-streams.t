#!/bin/sh
# Standard streams that are closed when muster starts.
. "${0%/*}/lib.sh"

try() # LEVEL STREAMS
{
    rm -f "$REPORT"
    # shellcheck disable=SC2016 # the inner shell's
    timeout -k 5 "$LIMIT" sh -c 'exec "$@" '"$2" sh "$MUSTER" run --isolate "$1" --report "$REPORT" -n 2 -- \
        sh -c 'echo to-stdout; echo to-stderr >&2; exit 3' >"$out" 2>"$err"
    rc=$?
    no_fault "$1 $2"
    is "$rc" 3 "$1 $2: the job's exit status" || diag "$(cat "$err")"
    is "$(report outcome)" failed "$1 $2: the report is written"
    is "$(cat "$XDG_STATE_HOME/muster/runs/$(run_id)"/logs/*.log 2>/dev/null | sort -u | tr '\n' ' ')" "to-stderr to-stdout " \
        "$1 $2: the logs hold the output, and nothing else"
}

for level in names none; do
    for streams in '>&-' '2>&-' '<&-' '>&- 2>&-' '<&- >&-' '<&- 2>&-' '<&- >&- 2>&-' '>/dev/full' '>/dev/full 2>/dev/full'; do
        try $level "$streams"
    done
done

# a report for a stream that is not there
for report in '- >&-' '/dev/stdout >&-'; do
    eval "\"\$MUSTER\" run --report $report -n 1 -- touch ran" 2>"$err"
    is "$?" 125 "--report $report: refused"
    like "$(cat "$err")" 'the report cannot be written: stdout is closed' "--report $report: and why"
    ok "--report $report: before the job" test ! -e ran
done
done_testing
