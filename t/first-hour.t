#!/bin/sh
# What a new user does in the first hour, one file of t/first-hour per subject. A file is sourced: it has
# all of lib.sh, starts in $WORK without earlier runs, and leaves nothing running.
. "${0%/*}/lib.sh"

for part in "$TOP"/t/first-hour/*.sh; do
    diag "${part##*/}"
    cd "$WORK" || exit 1
    rm -rf "$XDG_STATE_HOME/muster" "$XDG_RUNTIME_DIR/muster" "$XDG_CONFIG_HOME"
    # shellcheck disable=SC1090 # every one of them is checked by itself
    . "$part"
done
done_testing
