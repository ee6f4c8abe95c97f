# shellcheck shell=sh disable=SC2034 # its variables are for the scripts
# lib.sh - what the end-to-end scripts share: TAP, a private place to run in, muster under a limit.
#
#     #!/bin/sh
#     . "${0%/*}/lib.sh"
#     run_job -n 2 -- /bin/false
#     is "$rc" 1 "false fails"
#     is "$(report cause.rank)" 0 "the first one is named"
#     done_testing
#
# Tests
#   ok NAME COMMAND…        passes if the command does; its output is shown if it does not
#   is GOT WANT NAME        equal strings
#   like GOT ERE NAME       some line matches; unlike: none does
#   skip REASON [N]         N tests (1) that cannot run here; skip_all REASON ends the script
#   diag TEXT…              a comment
#   done_testing            the plan; the last command of every script
# Running
#   run_muster ARG…         runs $MUSTER; sets $rc; $out and $err are files. $LIMIT seconds (60)
#   run_job ARG…            run_muster run --report $REPORT ARG…
#   report KEY              value in $REPORT: cause.rank, attempts.0.ranks.3.exit_code; # = length
#   json KEY FILE           the same for any file
#   run_id                  that of $REPORT
#   our_runs [-r]           ids of the runs (that live) of this script; there may be others of the same user
#   has_shape SCHEMA FILE NAME   a test: the file is what doc/schema/SCHEMA.json promises
#   is_cause REPLICA RANK KIND   tests: they are what a row of t/endings.tsv wants, read into $replica, $rank,
#                           $kind and $name; "-" there is none, "*" anything
#   survivors ID            "pid command" of every process whose environment has that MUSTER_RUN_ID
#   wait_until S COMMAND…   tries 20 times a second for S seconds
#   as_user COMMAND…        as an ordinary user, in a directory of that user's ($USER_DIR) with its
#                           own HOME; first ask can_be_user, then `user_copy [FILE…]` puts
#                           muster, its shim and the files there
# Facts
#   $TOP source tree, $WORK private directory (removed at the end), $MUSTER the program,
#   $MUSTER_FAULTY the one with fault points, $PROGRAMS test programs (openmpi/ mpich/ prog/),
#   $SOAK set in `make soak`, have_mpi openmpi|mpich
set -u

TOP=$(cd "$(dirname "$0")/.." && pwd)
MUSTER=${MUSTER:-$TOP/build/muster}
MUSTER_FAULTY=${MUSTER_FAULTY:-$TOP/build/test/muster}
PROGRAMS=${MUSTER_TEST_PROGRAMS:-$TOP/build/test}
SOAK=${MUSTER_SOAK:-}
LIMIT=${LIMIT:-60}

# Short: a socket's path has 108 bytes.
WORK=$(mktemp -d /tmp/mt.XXXXXX)
USER_DIR=$WORK-user
trap 'rm -rf "$WORK" "$USER_DIR"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -m 700 "$WORK/home" "$WORK/state" "$WORK/run"
# MUSTER_TMPDIR: runs that somebody else has started in /tmp/muster-UID are none of the tests'.
export MUSTER_TMPDIR="$WORK" HOME="$WORK/home" XDG_STATE_HOME="$WORK/state" XDG_RUNTIME_DIR="$WORK/run" \
    XDG_CONFIG_HOME="$WORK/home/.config" LC_ALL=C.UTF-8
out=$WORK/out err=$WORK/err REPORT=$WORK/report.json rc=
tests=0

# --- tests ---------------------------------------------------------------------------------------

diag()
{
    printf '%s\n' "$*" | sed 's/^/# /' >&2
}

result() # 0|1 NAME WHY-NOT
{
    tests=$((tests + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tests - $2"
    else
        echo "not ok $tests - $2"
        diag "$3"
    fi
    return "$1"
}

ok()
{
    ok_name=$1
    shift
    "$@" >"$WORK/ok" 2>&1
    result $? "$ok_name" "$* failed: $(cat "$WORK/ok")"
}

is()
{
    [ "$1" = "$2" ]
    result $? "$3" " got: $1
want: $2"
}

like()
{
    printf '%s\n' "$1" | grep -Eq -e "$2"
    result $? "$3" "no line matches $2 in: $1"
}

unlike()
{
    ! printf '%s\n' "$1" | grep -E -e "$2" >"$WORK/ok"
    result $? "$3" "matches $2: $(cat "$WORK/ok")"
}

same() # GOT WANT NAME
{
    case $2 in
    -) is "$1" null "$3" ;;
    \*) ;;
    *) like "$1" "^$2\$" "$3" ;;
    esac
}

# shellcheck disable=SC2154 # the row is the caller's
is_cause()
{
    if [ "$kind" = - ]; then
        is "$3" null "$name: no cause"
    else
        same "$1" "$replica" "$name: replica"
        same "$2" "$rank" "$name: rank"
        is "$3" "$kind" "$name: kind"
    fi
}

skip()
{
    n=${2:-1}
    while [ "$n" -gt 0 ]; do
        tests=$((tests + 1)) n=$((n - 1))
        echo "ok $tests # SKIP $1"
    done
}

skip_all()
{
    echo "1..0 # SKIP $1"
    exit 0
}

done_testing()
{
    echo "1..$tests"
}

# --- running -------------------------------------------------------------------------------------

run_muster()
{
    timeout -k 5 "$LIMIT" "$MUSTER" "$@" >"$out" 2>"$err" </dev/null
    rc=$?
    [ $rc -ne 124 ] || diag "124: a deadline, or the limit of $LIMIT s: muster $*"
}

run_job()
{
    rm -f "$REPORT"
    run_muster run --report "$REPORT" "$@"
}

json()
{
    python3 - "$1" "$2" <<'PYTHON'
import json, sys
try:
    v = json.load(open(sys.argv[2]))
    for k in sys.argv[1].split('.'):
        v = len(v) if k == '#' else v[int(k)] if isinstance(v, list) else v[k]
    print(v if isinstance(v, str) else json.dumps(v))
except (OSError, ValueError, LookupError, TypeError) as e:
    print(f'no {sys.argv[1]}: {type(e).__name__}: {e}')
PYTHON
}

report()
{
    json "$1" "$REPORT"
}

run_id()
{
    report job.run_id
}

our_runs()
{
    "$MUSTER" list -q "$@" | while read -r our_id; do
        [ ! -d "$XDG_STATE_HOME/muster/runs/$our_id" ] || echo "$our_id"
    done
}

# The python3 that is first on PATH need not be the one the packages are for.
schema_python=
for python in python3 /usr/bin/python3; do
    if [ -z "$schema_python" ] && "$python" -c 'import jsonschema' 2>/dev/null; then schema_python=$python; fi
done

conforms() # SCHEMA FILE…
{
    "$schema_python" - "$TOP/doc/schema/$1.json" "$2" <<'PYTHON'
import json, sys
from jsonschema import Draft7Validator
schema, instance = (json.load(open(f)) for f in sys.argv[1:])
Draft7Validator.check_schema(schema)
Draft7Validator(schema).validate(instance)
PYTHON
}

has_shape()
{
    if [ -n "$schema_python" ]; then
        ok "$3" conforms "$1" "$2"
    else
        skip "no python3 here has jsonschema"
    fi
}

survivors()
{
    # muster does not wait for a shim that has said good-bye: that one has a moment to end.
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        alive=$(survivors_now "$1")
        case $alive in
        *' muster-shim supervise '* | *'/muster-shim supervise '*) sleep 0.2 ;;
        *) break ;;
        esac
    done
    [ -z "$alive" ] || echo "$alive"
}

survivors_now()
{
    grep -lsazx "MUSTER_RUN_ID=$1" /proc/[0-9]*/environ 2>/dev/null | while IFS=/ read -r _ _ pid _; do
        # A zombie has ended; what is left is its parent's business.
        state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$pid/status" 2>/dev/null)
        case $state in
        '' | Z | X) ;;
        *) echo "$pid $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)" ;;
        esac
    done
}

wait_until()
{
    tries=$(($1 * 20))
    shift
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.05
    done
}

have_mpi()
{
    [ -x "$PROGRAMS/$1/random_walk" ]
}

# --- another user --------------------------------------------------------------------------------

USER_ID=${MUSTER_TEST_UID:-4711}

can_be_user()
{
    # In a chroot the kernel gives no user namespaces, so an ordinary user can run nothing there.
    [ "$(id -u)" -eq 0 ] && setpriv --reuid="$USER_ID" --clear-groups unshare --user true 2>/dev/null
}

user_copy()
{
    if [ ! -d "$USER_DIR" ]; then
        mkdir -m 700 "$USER_DIR" "$USER_DIR/home" "$USER_DIR/run"
        cp "$MUSTER" "${MUSTER%/*}/muster-shim" "$USER_DIR"
    fi
    [ $# -eq 0 ] || cp "$@" "$USER_DIR"
    chown -R "$USER_ID:$USER_ID" "$USER_DIR"
}

as_user()
{
    (
        cd "$USER_DIR" || exit 1
        exec setpriv --reuid="$USER_ID" --regid="$USER_ID" --clear-groups --inh-caps=-all \
            env HOME="$USER_DIR/home" XDG_STATE_HOME="$USER_DIR/home" XDG_RUNTIME_DIR="$USER_DIR/run" \
            XDG_CONFIG_HOME="$USER_DIR/home" "$@"
    )
}
