#!/bin/sh
# 64 processes write at once: every log is complete, and the live view has every line whole and in order.
# MUSTER_TEST_SEED repeats what was written.
. "${0%/*}/lib.sh"

LINES_EACH=157 # of 64: 10,000 in all
[ -z "$SOAK" ] || LINES_EACH=1563
SEED=${MUSTER_TEST_SEED:-$(date +%s)}
LIMIT=600
flood=$PROGRAMS/prog/flood
diag "seed $SEED, 64 x $LINES_EACH lines"

# Each stream of the view line by line, and each log split by its marks, against what each rank has written.
# A line is as long as 64 KiB at most here, but for a chain of pieces without a newline, which no seed makes.
cat >"$WORK/check.py" <<'PYTHON'
import hashlib, re, subprocess, sys
flood, seed, lines, out, err, run_dir = sys.argv[1:]
shown = {}
for side, view in (('o', out), ('e', err)):
    with open(view, 'rb') as f:
        for line in f:
            m = re.match(rb'\[worker-(\d)/(\d+)\] ', line)
            if not m and side == 'e': # the verdict
                continue
            if not m or not line.endswith(b'\n') or int(m[2]) // 8 != int(m[1]):
                sys.exit(f'a torn line: {line[:80]}')
            shown.setdefault((int(m[2]), side), hashlib.sha256()).update(line[m.end():])
marks = {}
with open(f'{run_dir}/marks') as f:
    for line in f:
        ms, offset, side, log = line.split()
        marks.setdefault(log, []).append((int(offset), side))
for rank in range(64):
    name = f'worker-{rank // 8}.rank-{rank}.log'
    with open(f'{run_dir}/logs/{name}', 'rb') as f:
        log = f.read()
    parts = {'o': b'', 'e': b''}
    ends = [offset for offset, _ in marks[name][1:]] + [len(log)]
    for (offset, side), end in zip(marks[name], ends):
        parts[side] += log[offset:end]
    for side in 'oe':
        want = subprocess.run([flood, seed, lines, str(rank), side], capture_output=True, check=True).stdout
        if parts[side] != want:
            sys.exit(f'the log of rank {rank} is not what it wrote to {side}')
        # a last line may have no newline of its own; the view completes it
        if want and not want.endswith(b'\n'):
            want += b'\n'
        if shown.get((rank, side), hashlib.sha256()).digest() != hashlib.sha256(want).digest():
            sys.exit(f'the view of rank {rank} is not what it wrote to {side}')
PYTHON

run_job -n 64 --hosts 8 -- "$flood" "$SEED" "$LINES_EACH"
is "$rc" 0 "64 processes write into a file"
ok "logs are complete, the view is whole and in order" \
    python3 "$WORK/check.py" "$flood" "$SEED" "$LINES_EACH" "$out" "$err" "$(report run_dir)"

# A reader that is late: the view waits, the job does not.
"$MUSTER" run --report "$REPORT" -n 64 --hosts 8 -- "$flood" "$SEED" "$LINES_EACH" 2>"$err" </dev/null |
    { sleep 1; cat >"$out"; }
is "$(report outcome)" succeeded "64 processes write into a slow pipe"
ok "logs are complete, the view is whole and in order there too" \
    python3 "$WORK/check.py" "$flood" "$SEED" "$LINES_EACH" "$out" "$err" "$(report run_dir)"

# A process that writes faster than its output is read does not keep muster from its signals.
mkfifo "$WORK/nobody"
rm -f "$REPORT"
head -n 1 "$WORK/nobody" >"$WORK/first" &
"$MUSTER" run --report "$REPORT" -n 1 -- yes >"$WORK/nobody" 2>"$err" </dev/null &
muster=$!
wait_until 20 test -s "$WORK/first"
kill -TERM $muster
ok "an endless writer whose output nobody reads is cancelled" wait_until 20 test -e "$REPORT"
kill -KILL $muster 2>/dev/null # a report is written after the end; without one it would write for ever
wait
is "$(report outcome)" cancelled "and says so"

done_testing
