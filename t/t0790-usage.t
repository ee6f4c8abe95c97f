#!/bin/sh
# RUN_DIR/usage.jsonl: what the ranks of a run use over time, of foreground runs and of the daemon's jobs.
# shellcheck disable=SC2016 # variables are for the job's own shell
. "${0%/*}/lib.sh"

cd "$WORK" || exit 1
last=$WORK/last.json
run_dir()
{
    report run_dir
}
# Rank 0 reads and writes, rank 1 computes.
cat >work.sh <<'SH'
dd if=/dev/zero of=/dev/null bs=1000 count=5000 2>/dev/null
[ "$RANK" = 1 ] || exec sleep 2.5
i=0
while [ $i -lt 1000000 ]; do i=$((i + 1)); done
sleep 1.5
SH
run_job -n 2 -- sh work.sh
is "$rc" 0 "a run of some seconds"
tail -n 1 "$(run_dir)/usage.jsonl" >"$last"
has_shape usage "$last" "its usage has a schema"
busy=$(python3 - "$(run_dir)/usage.jsonl" <<'PY'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
used = [{r[1]: r for r in line['of']} for line in lines]
times = [line['ms'] for line in lines]
rising = all(a[1][2] <= b[1][2] for a, b in zip(used, used[1:]) if 1 in a and 1 in b)
print(times == sorted(times), rising, max(u[1][2] for u in used if 1 in u) >= 100,
      max(u[r][5] for u in used for r in u) >= 5000000, max(u[r][3] for u in used for r in u) > 100000)
PY
)
is "$busy" "True True True True True" "times and CPU time rise; bytes and memory are there"
is "$(stat -c %a "$(run_dir)/usage.jsonl")" 600 "only its owner reads it"
is "$(report outputs.#)" 0 "it is no output of the job"

run_job -n 1 -- true
ok "a run that ends at once has none" test ! -e "$(run_dir)/usage.jsonl"

# --- what a job can do to it
run_job -n 1 -- sh -c 'ln -s "$HOME/victim" "$MUSTER_RUN_DIR/usage.jsonl"; sleep 2'
is "$rc" 0 "a link in its place"
ok "is not followed" test ! -e "$HOME/victim"
run_job -n 1 -- sh -c 'mkfifo "$MUSTER_RUN_DIR/usage.jsonl"; sleep 2; exit 3'
is "$rc" 3 "a pipe in its place is not waited for"
ok "and stays one" test -p "$(run_dir)/usage.jsonl"

# --- the daemon
export MUSTER_HOME="$WORK/h"
"$MUSTER" serve 2>serve.log &
daemon=$!
ok "the daemon is ready" wait_until 20 "$MUSTER" submit --no-autostart --name one -n 1 -- sleep 1000
run_muster submit --no-autostart --name two -n 1 -- sleep 1000
has_usage()
{
    [ -s "$MUSTER_HOME/runs/$1/usage.jsonl" ]
}
first=$("$MUSTER" list -q | sed -n 1p) second=$("$MUSTER" list -q | sed -n 2p)
ok "a job of the daemon has its usage" wait_until 20 has_usage "$first"
ok "and so has another one" wait_until 20 has_usage "$second"
head -n 1 "$MUSTER_HOME/runs/$second/usage.jsonl" >"$last"
has_shape usage "$last" "in the same form"
lines=$(wc -l <"$MUSTER_HOME/runs/$first/usage.jsonl")
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null
"$MUSTER" serve 2>>serve.log &
daemon=$!
more()
{
    [ "$(wc -l <"$MUSTER_HOME/runs/$first/usage.jsonl")" -gt "$((lines + 1))" ]
}
ok "after a new start of the daemon it goes on" wait_until 20 more
is "$(python3 -c 'import json,sys; t=[json.loads(l)["ms"] for l in open(sys.argv[1])]; print(t == sorted(t))' "$MUSTER_HOME/runs/$first/usage.jsonl")" \
    True "with the age of the job"
"$MUSTER" cancel "$first" >/dev/null
"$MUSTER" cancel "$second" >/dev/null
"$MUSTER" wait "$first" "$second" >/dev/null
kill "$daemon"
wait "$daemon"
done_testing
