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

# The view line by line against what each rank has written. A line is as long as 64 KiB at most here, but
# for a chain of pieces without a newline, which no seed makes.
cat >"$WORK/check.py" <<'PYTHON'
import hashlib, re, subprocess, sys
flood, seed, lines, view, logs = sys.argv[1:]
shown = {}
with open(view, 'rb') as f:
    for line in f:
        m = re.match(rb'\[worker-(\d)/(\d+)\] ', line)
        if not m or not line.endswith(b'\n') or int(m[2]) // 8 != int(m[1]):
            sys.exit(f'a torn line: {line[:80]}')
        shown.setdefault(int(m[2]), hashlib.sha256()).update(line[m.end():])
for rank in range(64):
    want = subprocess.run([flood, seed, lines, str(rank)], capture_output=True, check=True).stdout
    with open(f'{logs}/worker-{rank // 8}.rank-{rank}.log', 'rb') as f:
        if hashlib.sha256(f.read()).digest() != hashlib.sha256(want).digest():
            sys.exit(f'the log of rank {rank} is not what it wrote')
    # the last line has no newline of its own; the view completes it
    if shown.get(rank, hashlib.sha256()).digest() != hashlib.sha256(want + b'\n').digest():
        sys.exit(f'the view of rank {rank} is not what it wrote')
PYTHON

run_job -n 64 --hosts 8 -- "$flood" "$SEED" "$LINES_EACH"
is "$rc" 0 "64 processes write into a file"
ok "logs are complete, the view is whole and in order" \
    python3 "$WORK/check.py" "$flood" "$SEED" "$LINES_EACH" "$out" "$(report run_dir)/logs"

# A reader that is late: the view waits, the job does not.
"$MUSTER" run --report "$REPORT" -n 64 --hosts 8 -- "$flood" "$SEED" "$LINES_EACH" 2>"$err" </dev/null |
    { sleep 1; cat >"$out"; }
is "$(report outcome)" succeeded "64 processes write into a slow pipe"
ok "logs are complete, the view is whole and in order there too" \
    python3 "$WORK/check.py" "$flood" "$SEED" "$LINES_EACH" "$out" "$(report run_dir)/logs"

done_testing
