#!/bin/sh
# No space and no inodes, in the state directory or where sockets are. Nothing is mounted but in a mount
# namespace of its own.
# shellcheck disable=SC2016 # scripts for inner shells
. "${0%/*}/lib.sh"
if [ "$(id -u)" -ne 0 ] || ! can_mount; then skip_all "needs root, to mount a tmpfs in a mount namespace"; fi

full() # VARIABLE MOUNT-OPTIONS NAME ARG…
{
    variable=$1 options=$2 name=$3
    shift 3
    rm -f "$REPORT"
    in_mounts "$options" env "$variable=$SMALL" timeout -k 5 "$LIMIT" "$MUSTER" run --report "$REPORT" "$@" >"$out" 2>"$err" </dev/null
    rc=$?
    no_fault "$name"
}

for variable in XDG_STATE_HOME XDG_RUNTIME_DIR; do
    # inodes: from too few for a run directory to enough
    for n in 2 3 5 8 10 12 14 16 18 20 24 32 64; do
        full "$variable" "size=4m,nr_inodes=$n,mode=700" "$variable, $n inodes" -n 1 -- sh -c 'echo hello; exit 3'
        case $rc in
        3)
            is "$(report outcome):$(grep -c hello "$out")" failed:1 "$variable, $n inodes: it runs, and is shown"
            ;;
        *)
            is "$rc" 125 "$variable, $n inodes: refused" || diag "$(cat "$err")"
            like "$(cat "$err")" "No space left on device" "$variable, $n inodes: and why"
            like "$(cat "$err")" "error: .*$SMALL" "$variable, $n inodes: and where"
            ;;
        esac
    done
    # bytes: the journal, the logs or the plan do not fit
    for size in 4k 8k 16k 32k 64k 128k; do
        full "$variable" "size=$size,mode=700" "$variable, $size" -n 1 -- sh -c 'seq 20000; exit 3'
        case $rc in
        3)
            is "$(report outcome)" failed "$variable, $size: it runs to its end"
            is "$(grep -c '20000$' "$out")" 1 "$variable, $size: the output is shown"
            ;;
        *)
            is "$rc" 125 "$variable, $size: refused" || diag "$(cat "$err")"
            like "$(cat "$err")" "No space left on device" "$variable, $size: and why"
            like "$(cat "$err")" "error: .*$SMALL" "$variable, $size: and where"
            ;;
        esac
    done
done
is "$(find "$SMALL" -mindepth 1)" "" "nothing is left in the directory below"
done_testing
