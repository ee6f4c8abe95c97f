# shellcheck shell=sh disable=SC2154,SC2016 # variables of lib.sh; programs of jobs
# Progress bars: a line that ends in "\r" is shown while it lasts, with its prefix.

terminal="$TOP/t/lib/terminal.py"

# In a file: not every state, but always the last one, and each only once.
bar='i=0; while [ $i -lt 500 ]; do i=$((i + 1)); printf "\rstep %d" $i; done; echo; printf "dos\r\n"; printf "last\r"'
run_job -n 1 -- sh -c "$bar"
is "$(cat "$out")" "$(printf '[worker-0/0] step 500\n[worker-0/0] dos\n[worker-0/0] last')" \
    "progress: of a bar the last state is a line, CR LF is a newline"
is "$(sh -c "$bar" | cmp - "$(report run_dir)/logs/worker-0.rank-0.log" && echo same)" same "progress: the log keeps the bytes"
run_muster logs "$(run_id)"
is "$(cat "$out")" "$(sh -c "$bar")" "progress: muster logs shows a single log byte by byte"
run_muster logs --grep . "$(run_id)"
is "$(cat "$out")" "$(printf 'step 500\ndos\nlast')" "progress: and line by line the last state"

# A bar that lasts is seen before it ends; the job waits until it was.
timeout 60 "$MUSTER" run -n 1 -- sh -c 'printf "\rhalf"; while [ ! -e "$0" ]; do sleep 0.05; done; echo' "$WORK/seen" \
    >"$WORK/live" 2>"$err" &
pid=$!
ok "progress: shown while it lasts" wait_until 20 grep -q half "$WORK/live"
: >"$WORK/seen"
wait $pid
is "$(cat "$WORK/live")" "[worker-0/0] half" "progress: and not again when it ends"

# On a terminal it is redrawn in place; the job waits until it was.
rm -f "$WORK/seen"
timeout 60 env TERM=xterm NO_COLOR=1 python3 "$terminal" --until "bar 2=$WORK/seen" "$MUSTER" run -n 1 -- sh -c \
    'printf "\rbar 1\rbar 2"; while [ ! -e "$0" ]; do sleep 0.05; done; printf "\rbar full\nend\n"' "$WORK/seen" >"$out"
is $? 0 "progress: drawn on a terminal while it lasts"
is "$(tr '\r' '\n' <"$out" | grep -c 'bar full')" 1 "progress: the last one stays"
python3 - "$out" <<'PYTHON' >"$WORK/screen"
import re, sys
text = open(sys.argv[1], 'rb').read().decode()
rows, at = [''], 0
for part in re.findall(r'\x1b\[\d*[A-Z]|\r|\n|[^\x1b\r\n]+', text):
    if part == '\n':
        at += 1
        rows += [''] * (at + 1 - len(rows))
    elif part.endswith('A') and part.startswith('\x1b'):
        at -= int(part[2:-1] or 1)
    elif part == '\x1b[J':
        rows[at:] = ['']
    elif part == '\x1b[K':
        rows[at] = ''
    elif part != '\r':
        rows[at] = part if not rows[at] else rows[at] + part
print('\n'.join(rows))
PYTHON
is "$(grep -c bar "$WORK/screen")" 1 "progress: in the end the terminal shows it once"
like "$(cat "$WORK/screen")" '^\[worker-0/0\] bar full$' "progress: with its prefix"
