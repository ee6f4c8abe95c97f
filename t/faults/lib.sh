# shellcheck shell=sh disable=SC2034 # its variables are for the scripts
# lib.sh - what the scripts of the fault suite share; first of all, t/lib.sh.
#
#   start_job ARG…          `muster run --report $REPORT ARG…` in the background, its output in $out and $err; sets
#                           $pid. Give it a command that touches $WORK/up, and wait for it with job_is_up
#   job_is_up               waits until $WORK/up is there; sets $id, the run's
#   ends [S]                waits S seconds (60) for $pid to end; sets $rc. If it does not, kills it, and $rc is "hangs"
#   shim_of PID             the pid of that muster's shim
#   is_stopped PID          is its state "stopped"?
#   in_mounts SIZE,OPT… COMMAND…   in a mount namespace of its own, with an empty tmpfs of these options at $SMALL;
#                           first ask can_mount
#   no_fault NAME           tests of what every ending must be: $rc is a number below 126 or 128 + a signal that the
#                           test sent ($SENT), and $err has no words of a broken program
#
# about: src/base/io src/base/clock src/base/procs src/base/cgroup src/engine src/foreground src/client src/daemon src/inspect src/rundir src/shim t/faults t/lib.sh
top=$(cd "${0%/*}/../.." && pwd)
MUSTER=${MUSTER:-$top/build/muster}
MUSTER_FAULTY=${MUSTER_FAULTY:-$top/build/test/muster}
PROGRAMS=${MUSTER_TEST_PROGRAMS:-$top/build/test}
export MUSTER_TEST_PROGRAMS="$PROGRAMS"
. "$top/t/lib.sh"
TOP=$top SMALL=$WORK/small SENT=
cd "$WORK" || exit 1

start_job()
{
    rm -f "$REPORT" "$WORK/up"
    # what a shell starts in the background ignores SIGINT
    env --default-signal=INT "$MUSTER" run --report "$REPORT" "$@" >"$out" 2>"$err" </dev/null &
    pid=$!
}

job_is_up()
{
    wait_until 60 test -e "$WORK/up" || diag "the job did not start: $(cat "$err")"
    id=$(our_runs -r)
}

has_ended()
{
    # A child that nobody has waited for yet is a zombie.
    [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

ends()
{
    if wait_until "${1:-60}" has_ended "$pid"; then
        wait "$pid"
        rc=$?
    else
        diag "muster (pid $pid) does not end; its stack: $(cat "/proc/$pid/wchan" 2>/dev/null) $(cat "$err")"
        kill -CONT "$pid" 2>/dev/null
        kill -KILL "$pid"
        wait "$pid" 2>/dev/null
        rc=hangs
    fi
}

shim_of()
{
    # shellcheck disable=SC2013 # words of one line
    for child in $(cat "/proc/$1/task/$1/children"); do
        if grep -qs '^muster-shim' "/proc/$child/comm"; then echo "$child"; fi
    done
}

is_stopped()
{
    grep -q '^State:.T' "/proc/$1/status"
}

can_mount()
{
    mkdir -p "$SMALL"
    unshare --mount mount -t tmpfs -o size=64k none "$SMALL" 2>/dev/null
}

in_mounts()
{
    mount_options=$1
    shift
    mkdir -p "$SMALL"
    # shellcheck disable=SC2016 # the inner shell's
    unshare --mount sh -c 'mount -t tmpfs -o "$1" none "$2" && shift 2 && exec "$@"' sh "$mount_options" "$SMALL" "$@"
}

no_fault()
{
    case $rc in
    '' | *[!0-9]*) like "$rc" '^[0-9]+$' "$1: it ends" ;;
    *)
        if [ "$rc" -gt 128 ] && [ "$rc" -ne $((128 + ${SENT:-0})) ]; then
            is "$rc" "a number below 129" "$1: it is not killed by a signal"
        else
            like "$rc" . "$1: it ends"
        fi
        ;;
    esac
    unlike "$(cat "$err")" 'Sanitizer|runtime error|Assertion|core dumped|stack smashing' "$1: the program is sound"
}
