# shellcheck shell=sh disable=SC2016,SC2154
# Environments that are not as they should be: a fallback with a note, or the right reason.

# A file in place of the directory stops root, too.
: >"$WORK/file"
XDG_STATE_HOME=$WORK/file/state run_job -n 1 -- echo hello
is "$rc:$(cat "$out")" "0:[worker-0/0] hello" "state: where it cannot be expressed, the job runs all the same"
like "$(cat "$err")" "note: cannot write to $WORK/file/state/muster/runs: Not a directory; keeping this run in $XDG_RUNTIME_DIR/muster/state/runs" "state: the note says where"
XDG_STATE_HOME=$WORK/file/state run_muster logs
like "$rc:$(cat "$out")" "^0:.*hello$" "state: the run is found there"
run_muster show "$(run_id)"
is "$rc" 0 "state: also when the environment is well again"
XDG_STATE_HOME=$WORK/file/state run_muster run --run-dir "$WORK/chosen" -n 1 -- true
unlike "$(cat "$err")" "note: cannot write" "state: --run-dir needs none"
"$MUSTER" delete "$(run_id)" >/dev/null

env -u HOME -u XDG_STATE_HOME XDG_STATE_HOME= "$MUSTER" list >"$out" 2>"$err"
is $? 0 "HOME: unset, and list still works"

unset MUSTER_TMPDIR # where the usual place is /tmp
XDG_RUNTIME_DIR=$WORK/none run_job -n 1 -- echo hello
is "$rc:$(cat "$out")" "0:[worker-0/0] hello" "runtime: XDG_RUNTIME_DIR that does not exist"
like "$(cat "$err")" "note: XDG_RUNTIME_DIR $WORK/none does not exist; using /tmp/muster-" "runtime: the note"

if can_be_user && user_copy; then
    chmod 755 "$WORK" "$WORK/run"
    as_user env XDG_RUNTIME_DIR="$WORK/run" ./muster run -n 1 -- echo hello >"$out" 2>"$err"
    is "$?:$(cat "$out")" "0:[worker-0/0] hello" "runtime: XDG_RUNTIME_DIR of another user, as after su"
    like "$(cat "$err")" "note: XDG_RUNTIME_DIR $WORK/run belongs to another user; using /tmp/muster-$USER_ID" "runtime: the note"
    chmod 700 "$WORK" "$WORK/run"
    if mkdir "/tmp/muster-$USER_ID" 2>/dev/null; then # root's: somebody else's
        as_user env -u XDG_RUNTIME_DIR ./muster run -n 1 -- sh -c 'echo hello; sleep 1' >"$out" 2>"$err"
        is "$?:$(cat "$out")" "0:[worker-0/0] hello" "runtime: /tmp/muster-UID is another user's"
        like "$(cat "$err")" "note: /tmp/muster-$USER_ID is not a directory of uid $USER_ID with mode 0700; using /tmp/muster-$USER_ID\\.......* \\(remove" "runtime: the note"
        rm -rf "/tmp/muster-$USER_ID" /tmp/muster-"$USER_ID".??????
    else
        skip "/tmp/muster-$USER_ID exists" 2
    fi
    as_user sh -c 'chmod 500 "$HOME"; env -u XDG_STATE_HOME ./muster run -n 1 -- echo hello; code=$?; chmod 700 "$HOME"; exit $code' >"$out" 2>"$err"
    is "$?:$(cat "$out")" "0:[worker-0/0] hello" "state: a HOME that is read-only"
    like "$(cat "$err")" "note: cannot write to .*: Permission denied; keeping this run in" "state: the note"
else
    skip "needs root that can become another user" 6
fi

printf '#!/bin/sh\r\necho hello\r\n' >crlf.sh
printf '#!/no/such/python3\nprint(1)\n' >noint.py
chmod +x crlf.sh noint.py
run_job -n 1 -- ./crlf.sh
is "$rc" 127 "scripts: CRLF line endings"
like "$(cat "$err")" "./crlf.sh cannot be executed: its first line ends in a carriage return \\(CRLF line endings\\)" "scripts: are told"
like "$(cat "$err")" "sed -i 's/.r\\\$//' ./crlf.sh" "scripts: with the remedy"
run_job -n 1 -- ./noint.py
like "$rc:$(cat "$err")" "./noint.py cannot be executed: its interpreter /no/such/python3 was not found" "scripts: an interpreter that is missing"
export MUSTER_TMPDIR="$WORK"
