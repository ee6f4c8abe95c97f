# shellcheck shell=sh disable=SC2016,SC2154
# Closed streams and too few descriptors. t/faults/00-streams.t and 01-limits.t have more.

for streams in '>&-' '2>&-' '<&- >&- 2>&-'; do
    rm -f "$REPORT"
    sh -c 'exec "$@" '"$streams" sh "$MUSTER" run --report "$REPORT" -n 1 -- sh -c 'exit 3' 2>/dev/null
    is "$?:$(report outcome)" 3:failed "limits: $streams"
done
sh -c 'ulimit -n 12; exec "$@"' sh "$MUSTER" run -n 1 -- true >"$out" 2>"$err" </dev/null
like "$?:$(cat "$err")" "^125:.*files can be opened, at least [0-9]+ are required: .*ulimit -n" "limits: ulimit -n 12"
