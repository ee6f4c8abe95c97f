#!/bin/sh
# What another user, or a job, has put in the way: links and pipes where the report goes, junk in run directories,
# a taken scratch directory; and a umask that is too strict or too lax.
. "${0%/*}/lib.sh"

# --- where the report goes -----------------------------------------------------------------------

echo precious >precious
ln -s precious mine
run_job --report mine -n 1 -- true
is "$rc $(json outcome precious)" "0 succeeded" "a link of one's own is followed"
is "$(stat -c %a precious)" 600 "and what it leads to is closed to others"
if [ "$(id -u)" -eq 0 ] && can_be_user; then
    mkdir -m 1777 shared
    echo precious >precious
    chmod 644 precious
    chmod 755 "$WORK"
    ln -s "$WORK/precious" shared/link
    chown -h nobody shared/link
    mkfifo -m 666 shared/pipe
    chown nobody shared/pipe
    for kind in link pipe; do
        rm -f ran
        "$MUSTER" run --report "$WORK/shared/$kind" -n 1 -- touch ran >"$out" 2>"$err"
        is "$?" 125 "another user's $kind: exit code"
        verb='write to'
        [ $kind = pipe ] || verb=follow
        like "$(cat "$err")" "the report cannot be written: .*shared/$kind is a $kind of uid [0-9]+; refusing to $verb it" "another user's $kind: it is said"
        ok "another user's $kind: before the job" test ! -e ran
    done
    is "$(cat precious)" precious "another user's link: nothing is overwritten"
else
    skip "not root" 7
fi

# --- junk in run directories ---------------------------------------------------------------------

run_job -n 1 -- sh -c 'exit 3'
runs=$XDG_STATE_HOME/muster/runs
template=$runs/$(run_id)
junk() # NAME COMMAND…: in a copy of a run that has ended
{
    name=$1
    shift
    rm -rf "$runs/20300101-000000-aaaa"
    cp -r "$template" "$runs/20300101-000000-aaaa"
    (cd "$runs/20300101-000000-aaaa" && "$@")
    for verb in list 'list -o json' 'show 20300101' 'show -o json 20300101' 'events 20300101' 'logs 20300101' 'wait 20300101'; do
        # shellcheck disable=SC2086 # words
        timeout -k 5 20 "$MUSTER" $verb >"$out" 2>"$err" </dev/null
        code=$?
        if [ $code -ge 124 ] && [ $code -ne 125 ]; then
            is "$code" "a code of its own" "$name: $verb"
        elif grep -q "root:\|$(printf '\033')\|Sanitizer" "$out" "$err"; then
            is "$(cat "$out" "$err")" "nothing that acts or leaks" "$name: $verb"
        else
            ok "$name: $verb" true
        fi
    done
}

big() # KEY
{
    head -c 100000000 /dev/zero | tr '\0' x >"$1"
}
deep()
{
    python3 -c 'print("[" * 100000)' >"$1"
}
put() # FILE TEXT
{
    rm -rf "$1"
    printf '%b' "$2" >"$1"
}

for file in report.json journal.jsonl command.json plan.json; do
    junk "$file: a pipe" sh -c "rm $file; mkfifo $file"
    junk "$file: a directory" sh -c "rm $file; mkdir $file"
    junk "$file: a link elsewhere" sh -c "rm $file; ln -s /etc/passwd $file"
    junk "$file: a link to itself" sh -c "rm $file; ln -s $file $file"
    junk "$file: a device" sh -c "rm $file; ln -s /dev/zero $file"
    junk "$file: 100 MB" big $file
    junk "$file: no JSON" put $file 'nonsense\n'
    junk "$file: empty" put $file ''
    junk "$file: deep" deep $file
    junk "$file: not UTF-8" put $file '{"job":{"name":"\0377\0376"}}'
    junk "$file: other types" put $file '{"job":7,"outcome":[1],"exit_code":"x","verdict":{},"cause":[],"attempts":{"a":1},"event":"ended","at":"x"}\n'
    junk "$file: escapes" put $file '{"job":{"name":"\\u001b[31m","dialect":"\\u001b]0;x\\u0007","run_id":"\\u001b[2J"},"outcome":"\\u001b[31m","exit_code":3,"verdict":"\\u001b[31m","attempts":[{"replicas":[{"name":"\\u001b[31m","outcome":"\\u001b[31m"}]}]}\n'
    junk "$file: raw control characters" put $file '{"job":{"name":"\033[31m"},"outcome":"\033[31m","verdict":"\033[31m\007"}\n'
    junk "$file: an end that escapes" put $file '{"at":1,"event":"created","job":"\\u001b[31m"}\n{"at":2,"event":"ended","outcome":"\\u001b[31m","status":3,"verdict":"\\u001b[31m"}\n'
done
junk "logs: a link elsewhere" sh -c 'rm -rf logs; ln -s /etc logs'
junk "a log: a pipe" sh -c 'rm -f logs/*; mkfifo logs/worker-0.rank-0.log'
junk "scratch: a link elsewhere" sh -c 'rm -f scratch; ln -s /etc scratch'

# What cannot be read is told as such; nobody is said to have killed anything.
is_told() # NAME SHOW WAIT: extended regular expressions
{
    for verb in show wait; do
        timeout -k 5 20 "$MUSTER" $verb "$runs/20300101-000000-aaaa" >$verb.out 2>&1 </dev/null
    done
    like "$(sed 1q show.out)" "$2" "$name: show"
    like "$(cat wait.out)" "$3" "$name: wait"
    unlike "$(cat show.out wait.out)" 'killed|could not be written' "$name: no other cause is claimed"
}
# shellcheck disable=SC2016 # for inner shells
for what in 'mkfifo $0' 'ln -s /etc/passwd $0' 'head -c 2000 /dev/urandom >$0' 'mkdir $0'; do
    junk "report and journal: $what" sh -c "for f in report.json journal.jsonl; do rm -r \$f; sh -c '$what' \$f; done"
    is_told "$name" '^20300101-000000-aaaa: its report and journal cannot be read: ' 'has ended, but its report and journal cannot be read: '
    like "$("$MUSTER" list | grep 20300101-000000-aaaa)" ' unreadable ' "$name: list"
    junk "report: $what" sh -c "rm report.json; sh -c '$what' report.json"
    is_told "$name" ': failed: rank 0 .*; its report cannot be read: .*; this is from its journal$' '^$'
done
rm -rf "$runs/20300101-000000-aaaa"

# A directory where the report should go, made by the job.
# shellcheck disable=SC2016 # the job's
run_job -n 2 -- sh -c 'mkdir -p $MUSTER_RUN_DIR/report.json/x; exit $((RANK * 2))'
is "$rc $(report exit_code)" "2 2" "a directory as the run's report: exit status"
like "$(cat "$err")" 'note: cannot rename report.json.*: Is a directory \(run directory /' "a directory as the run's report: it is said"
like "$("$MUSTER" show | sed 1q)" ': failed: rank 1 .* exited with status 2 .*; its report cannot be read: .*; this is from its journal$' "a directory as the run's report: show has the journal's"
is "$("$MUSTER" show -o json >show.json; json exit_code show.json)" 2 "a directory as the run's report: show -o json"

# --- a directory of runs that cannot be read -------------------------------------------------------

if can_be_user; then
    user_copy
    mkdir "$USER_DIR/closed"
    chmod 711 "$USER_DIR"
    mkdir -m 700 "$WORK/roots"
    for state in "$USER_DIR/closed" "$WORK/roots"; do
        mkdir -p "$state/muster/runs"
    done
    chown -R "$USER_ID" "$USER_DIR/closed"
    chmod 000 "$USER_DIR/closed/muster/runs"
    chmod 711 "$WORK"
    for state in "$USER_DIR/closed" "$WORK/roots"; do
        for verb in 'list' 'list -q' 'list -o json' 'show' 'show 2030'; do
            # shellcheck disable=SC2086 # words
            as_user env XDG_STATE_HOME="$state" ./muster $verb >"$out" 2>"$err"
            code=$?
            [ $code -ne 0 ] || is "$code" "an error" "runs of another user, or closed: $verb"
            like "$(cat "$err")" "error: cannot read $state/muster/runs: Permission denied" "runs of another user, or closed: $verb says so"
            unlike "$(cat "$err")" 'no runs' "runs of another user, or closed: $verb does not say that there are none"
        done
    done
    # one's own directory for sockets that is of no use is in nobody's way
    mkdir "$USER_DIR/tmp"
    mkdir -m 000 "$USER_DIR/tmp/muster-$USER_ID"
    chown -R "$USER_ID" "$USER_DIR/tmp"
    as_user env -u XDG_RUNTIME_DIR MUSTER_TMPDIR="$USER_DIR/tmp" ./muster run -n 1 -- true >"$out" 2>"$err"
    is "$?" 0 "a scratch directory of mode 000: another one is used" || diag "$(cat "$err")"
    like "$(cat "$err")" "muster-$USER_ID is not a directory of uid $USER_ID with mode 0700; using " "a scratch directory of mode 000: it is said"
    chmod 700 "$USER_DIR/tmp/muster-$USER_ID" "$USER_DIR/closed/muster/runs"
else
    skip "no other user here" 22
fi

# --- umask ---------------------------------------------------------------------------------------

modes() # DIR: of what is in it and is not a link
{
    find "$1" ! -type l -printf '%y%m\n' | sort -u | tr '\n' ' '
}

strict() # WHO…: as whom
{
    for mask in 0777 0 027; do
        # shellcheck disable=SC2016 # the inner shell's
        "$@" sh -c 'umask "$1"; rm -rf "$4/u"; exec "$2" run --run-dir "$4/u" --report "$3" -n 2 --hosts 2 -- sh -c "umask; exit 3"' \
            sh $mask "$muster" "$place/u.json" "$place" >"$out" 2>"$err"
        is "$?" 3 "umask $mask: the job runs" || diag "$(cat "$err")"
        is "$(sed 's/.* //' "$out" | sort -u)" "$(printf '%04o' $((0$mask)))" "umask $mask: the job has it"
        is "$(modes "$place/u")" "d700 f600 " "umask $mask: the run directory"
        is "$(stat -c %a "$place/u.json") $(json exit_code "$place/u.json")" "600 3" "umask $mask: the report"
        "$@" "$muster" show "$place/u" >"$out" 2>"$err"
        like "$(cat "$out")" 'exited with status 3' "umask $mask: it can be read again"
    done
}
muster=$MUSTER place=$WORK
strict env
if can_be_user; then
    user_copy
    muster=$USER_DIR/muster place=$USER_DIR
    strict as_user
else
    skip "no other user here" 15
fi

# a link of one's own whose file is not there yet
ln -s "$WORK/later.json" "$WORK/link.json"
"$MUSTER" run --report "$WORK/link.json" -n 1 -- sh -c 'exit 3' >"$out" 2>"$err" </dev/null
is "$? $(stat -c %a "$WORK/later.json")" "3 600" "--report is a link of one's own to a new file: that is written" || diag "$(cat "$err")"
done_testing
