#!/bin/sh
# muster top: in a terminal (tmux) and once, for scripts.
# shellcheck disable=SC2016 # variables are for the job's own shell
. "${0%/*}/lib.sh"

command -v tmux >/dev/null || skip_all "tmux not found; make deps FOR=test"
cd "$WORK" || exit 1
export MUSTER_HOME="$WORK/h" TERM=screen-256color
n_tmux=0 # a server each: one that ends would still be found
tm()
{
    tmux -S "$WORK/tmux$n_tmux" -f /dev/null "$@"
}
screen()
{
    tm capture-pane -p
}
shows() # ERE
{
    screen | grep -Eq -e "$1"
}
shows_not() # ERE
{
    ! shows "$1"
}
sees() # ERE NAME
{
    ok "$2" wait_until 20 shows "$1" || screen | sed 's/^/#   /'
}
keys()
{
    tm send-keys "$@"
}
open_top() # COLUMNS ROWS ARG…: in a shell that says how it ended
{
    size="-x $1 -y $2"
    shift 2
    # shellcheck disable=SC2086 # two words
    tm new-session -d $size "stty -g >'$WORK/before'; '$MUSTER' top $*; echo \"rc=\$?\" >'$WORK/rc'; stty -g >'$WORK/after'; echo back; exec sleep 1000"
}
ended()
{
    [ -s "$WORK/rc" ] && [ -s "$WORK/after" ]
}
close_top()
{
    tm kill-server 2>/dev/null
    n_tmux=$((n_tmux + 1))
    rm -f "$WORK/rc" "$WORK/after"
}
trap 'close_top; [ -z "${daemon:-}" ] || kill "$daemon"; rm -rf "$WORK" "$USER_DIR"' EXIT
restored() # NAME
{
    ok "$1: it ends" wait_until 20 ended
    is "$(cat "$WORK/after")" "$(cat "$WORK/before")" "$1: the terminal's modes are restored"
    ok "$1: and its screen" wait_until 10 shows "^back"
    is "$(tm display-message -p '#{alternate_on} #{cursor_flag}')" "0 1" "$1: with a cursor"
}

# --- once, and where it refuses
run_muster top --once
is "$rc" 0 "--once without jobs"
like "$(cat "$err")" 'no job is running' "says so"
run_muster top
is "$rc" 2 "without a terminal it is refused"
like "$(cat "$err")" 'top --once' "with what to do"
tm new-session -d -x 80 -y 24 "TERM=dumb '$MUSTER' top 2>'$WORK/dumb'; echo \$? >'$WORK/rc'; echo x >'$WORK/after'"
ok "a dumb terminal" wait_until 20 ended
is "$(cat "$WORK/rc")" 2 "is refused"
like "$(cat "$WORK/dumb")" 'top --once' "likewise"
close_top
run_muster top --interval 1ms
is "$rc" 2 "an interval that is too short"

# --- a job of a terminal and two of the daemon, one of which waits
cat >work.sh <<'SH'
printf 'escape \033[2J\033]0;owned\007 of rank %s\n' "$RANK"
i=0
while [ ! -e "$GO" ]; do
    i=$((i + 1))
    echo "step $i of rank $RANK"
    sleep 0.1
done
SH
export GO="$WORK/go"
"$MUSTER" run --report "$REPORT" -n 4 --hosts 2 -- sh work.sh >/dev/null 2>&1 &
job=$!
"$MUSTER" serve --cpus 1 2>serve.log &
daemon=$!
ok "the daemon is ready" wait_until 20 "$MUSTER" submit --no-autostart --name first -n 1 -- sleep 1000
"$MUSTER" submit --no-autostart --name second -n 1 -- sleep 1000 >/dev/null
running()
{
    [ "$("$MUSTER" list -r | grep -c running)" -ge 2 ]
}
ok "jobs run" wait_until 20 running
run_muster top --once
like "$(cat "$out")" '^NAME +STATE +AGE +RANKS +CPU% +MEM +READ/s +WRITE/s +ID +LAST LINE$' "--once has a header"
like "$(cat "$out")" '^work +running +.* 4 +[0-9]+ +[0-9.]+[KMG]? .*(step|escape).* of rank 0$' "a job with its last line"
like "$(cat "$out")" '^second +waiting .*needs 1 CPU' "one that waits, with the reason"
run_muster top -o json
has_shape top "$out" "-o json has a schema"
python3 - "$out" >got <<'PY'
import json, sys
jobs = {j['name']: j for j in json.load(open(sys.argv[1]))['jobs']}
sh = jobs['work']
ranks = [r for r in sh['rows'] if r['rank'] is not None]
print(sorted(jobs), len(ranks), {r['state'] for r in ranks}, all(r['memory'] > 0 for r in ranks), 'step' in ranks[3]['last_line'],
      jobs['second']['state'], jobs['second']['memory'])
PY
is "$(cat got)" "['first', 'second', 'work'] 4 {'running'} True True waiting None" "-o json has every rank"
run_muster top --once work
like "$(cat "$out")" '^  worker-1/3 +running .*of rank 3' "one job: its ranks"

# --- the screen
open_top 80 24
sees '^muster .* 2 running, 1 waiting' "the title"
sees '^work +running +.* 4 ' "a job"
sees '^second +waiting .*needs' "one that waits"
sees 'q quit' "the keys"
unlike "$(screen)" 'owned$' "no title was set by a job"
keys /
keys fir
keys Enter
sees 'filter "fir"' "a filter"
ok "hides the others" wait_until 10 shows_not '^second'
keys Escape
sees '^second' "Esc clears it"
keys g Enter
sees '^(work|first): running' "Enter opens a job"
shows '^work: ' || { keys Escape; wait_until 10 shows '^NAME'; keys j Enter; }
sees '^  worker-0/0 +running .*step [0-9]+ of' "its ranks with their last lines"
keys j Enter
sees '^worker-0/0 of .*following' "Enter on a rank follows its log"
sees '^step [0-9]+ of rank 0' "which has its lines"
keys g
sees '^escape .x1b.2J' "g goes to its beginning, where nothing acts on the terminal"
keys Escape
sees '^REPLICA/RANK' "Esc goes back"
keys '?'
sees 'cancel the job' "? has the keys"
keys x
tm resize-window -x 40 -y 8
sees '^  worker-0/0 +running +[0-9]+$' "a smaller screen"
like "$(screen | sed -n 8p)" '^q quit  . help  Esc back' "has its last line at the bottom"
tm resize-window -x 20 -y 3
sees 'worker-0' "a very small one"
tm resize-window -x 132 -y 40
sees 'REPLICA/RANK .*WRITE/s RESTARTS LAST LINE' "a larger one"
keys q
restored "q"
close_top

# --- cancel
open_top 80 24
sees '^second' "another top"
keys G c
sees 'cancel second .*y/n' "c asks"
keys n
sees 'not cancelled' "and takes a no"
is "$("$MUSTER" list -r | grep -c second)" 1 "the job is still there"
keys c y
sees 'being stopped' "y cancels"
gone()
{
    ! "$MUSTER" list -r | grep second
}
ok "the job" wait_until 20 gone
keys a
sees '^second +cancelled' "a shows it as cancelled"
kill -TERM "$(pgrep -P "$(tm display-message -p '#{pane_pid}')" -f 'muster.* top' | head -n 1)"
restored "SIGTERM"
is "$(cat "$WORK/rc")" rc=143 "the exit code is that of the signal"
close_top
open_top 80 24
sees '^work' "and again"
kill -SEGV "$(pgrep -P "$(tm display-message -p '#{pane_pid}')" -f 'muster.* top' | head -n 1)"
restored "a crash"
close_top
touch "$GO"
wait "$job"
"$MUSTER" cancel first >/dev/null

# --- many ranks
rm -f "$GO"
"$MUSTER" run --run-dir "$WORK/many" -n 512 --hosts 8 -- sh -c 'echo "rank $RANK speaks"; exec sleep 1000' >/dev/null 2>&1 &
job=$!
ok "512 ranks run" wait_until 60 test -s "$WORK/many/logs/worker-7.rank-511.log"
open_top 80 24
sees 'sh +running .* 512 ' "512 ranks in the list"
keys g Enter
sees 'worker-0/0 ' "opened"
keys G
sees 'worker-7/511 +running .*rank 511 speaks' "the last one"
keys /
keys /300
keys Enter
sees 'worker-4/300 +running .*rank 300 speaks' "one by a filter"
keys q
restored "512 ranks"
close_top
kill "$job"
wait "$job"
done_testing
