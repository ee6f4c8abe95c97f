#!/bin/bash
# Limits of the caller that are too low: descriptors, memory, stack, files, processes. A clear refusal with 125, or a run that
# works; never a signal, never a wrong diagnosis.
# shellcheck disable=SC2016 # scripts for inner shells
. "${0%/*}/lib.sh"
LIMIT=30

refused_or_fine() # NAME
{
    case $rc in
    0) is "$rc" 0 "$1: it runs" ;;
    *)
        is "$rc" 125 "$1: refused" || diag "$(cat "$err")"
        like "$(cat "$err")" "open files|files can be opened|memory|processes|of stack" "$1: and the limit is named"
        ;;
    esac
    unlike "$(cat "$err")" "not allowed here|cannot be had" "$1: not taken for something forbidden"
    no_fault "$1"
}

limited() # ULIMIT-OPTION N COMMAND…
{
    limit=$1 n=$2
    shift 2
    (
        exec >"$out" 2>"$err" </dev/null
        # a bash of its own: its limit is set by the last thing it does
        exec timeout -k 5 "$LIMIT" bash -c 'ulimit "$1" "$2" && shift 2 && exec "$@"' bash "$limit" "$n" "$@"
    )
    rc=$?
}

python3 -c 'print("apiVersion: muster/v1\nname: deep\nroles:\n  w:\n    command: " + "[" * 120 + "]" * 120)' >deep.yaml
for level in auto none; do
    for n in 5 6 7 8 9 10 11 12 13 14 15 16 18 20 24 28 32 36 40 44 48 56 58 60 62 64 80 128; do
        limited -n $n "$MUSTER" run --isolate $level -n 2 -- true
        refused_or_fine "$level, ulimit -n $n"
    done
done
limited -n 9 "$MUSTER" run -n 2 -- true
like "$rc:$(cat "$err")" "125:muster: error: only [0-9] more files can be opened, at least [0-9]+ are required: raise the limit of open files \(ulimit -n\)" "ulimit -n 9"

# descriptors that were inherited
(
    exec >"$out" 2>"$err" </dev/null
    for fd in $(seq 10 120); do eval "exec $fd</dev/null"; done
    ulimit -n 128
    exec timeout -k 5 "$LIMIT" "$MUSTER" run -n 2 -- true
)
rc=$?
refused_or_fine "inherited descriptors"

# more processes than descriptors
limited -n 100 "$MUSTER" run --report "$REPORT" -n 60 -- echo hello
no_fault "60 ranks, ulimit -n 100"
[ "$rc" -ne 0 ] || is "$(grep -c hello "$out")" 60 "60 ranks, ulimit -n 100: all output is shown"
[ "$rc" -eq 0 ] || like "$(cat "$err")" "[Tt]oo many open files" "60 ranks, ulimit -n 100: it says why"

if [ -n "${MUSTER_SAN:-}" ]; then
    skip "a sanitizer needs terabytes of address space"
else
    for n in 7000 8000 9000 10000 11000 12000 14000 16000 20000 30000; do
        limited -v $n "$MUSTER" run -n 4 -- true
        # 127: the dynamic linker could not even load it
        [ "$rc" -eq 127 ] || refused_or_fine "ulimit -v $n"
    done
fi

if [ -n "${MUSTER_SAN:-}" ]; then
    skip "a sanitizer needs much stack"
else
    for n in 24 32 40 48 56 64 72 96 128; do
        for level in names none; do
            limited -s "$n" "$MUSTER" run --isolate "$level" -n 2 -- echo hello
            refused_or_fine "ulimit -s $n, $level"
        done
        for verb in 'list' 'logs' 'show' 'validate deep.yaml'; do
            # shellcheck disable=SC2086 # words
            limited -s $n "$MUSTER" $verb
            no_fault "ulimit -s $n, $verb"
        done
    done
    limited -s 64 "$MUSTER" run -n 2 -- echo hello
    is "$rc $(grep -c hello "$out")" "0 2" "ulimit -s 64: it runs"
    limited -s 24 "$MUSTER" run -n 2 -- true
    like "$rc:$(cat "$err")" '125:muster: error: only [0-9]+ KiB of stack are left, at least 48 KiB are required: raise the limit of the stack \(ulimit -s\)' "ulimit -s 24: refused"
    BIG=$(head -c 40000 /dev/zero | tr '\0' x)
    export BIG
    limited -s 64 "$MUSTER" run -n 2 -- true
    unset BIG
    refused_or_fine "ulimit -s 64 and a large environment"
fi

# files: what Muster writes itself fails as on a full disk; the job has its own signals
for n in 0 1 2 4 8 16; do
    # the report goes through a pipe that has no limit; so does what is said
    rm -f "$REPORT"
    bash -c 'ulimit -f "$1" && shift && "$@" 2>&1; echo "rc $?"' bash $n timeout -k 5 "$LIMIT" "$MUSTER" run --report /dev/stderr -n 2 -- true 2>&1 </dev/null | cat >"$out"
    sed '/^rc /d' "$out" >"$err"
    rc=$(sed -n 's/^rc //p' "$out")
    case $rc in
    0) is "$rc" 0 "ulimit -f $n: it runs" ;;
    *)
        is "$rc" 125 "ulimit -f $n: refused" || diag "$(cat "$out")"
        like "$(cat "$err")" "ulimit -f" "ulimit -f $n: and the limit is named"
        ;;
    esac
    no_fault "ulimit -f $n"
done
for to in out both; do
    rm -f "$REPORT" full
    bash -c 'ulimit -f 64 && to=$1 && shift && if [ $to = both ]; then exec "$@" >full 2>&1; else exec "$@" >full; fi' bash $to \
        timeout -k 5 "$LIMIT" "$MUSTER" run --report "$REPORT" -n 1 -- sh -c 'seq 4000; exit 3' 2>"$err" </dev/null
    rc=$?
    is "$rc $(report outcome) $(report exit_code)" "3 failed 3" "ulimit -f, stdout reaches it ($to): the job's status, and a report"
    no_fault "ulimit -f, stdout reaches it ($to)"
    is "$(stat -c %s full)" 65536 "ulimit -f, stdout reaches it ($to): it is full"
    is "$("$MUSTER" logs | grep -c '4000$')" 1 "ulimit -f, stdout reaches it ($to): the logs are complete"
    unlike "$("$MUSTER" list)" lost "ulimit -f, stdout reaches it ($to): no run is lost"
    [ $to = both ] || like "$(cat "$err")" 'output was not shown completely because stdout cannot be written: File too large \(ulimit -f\); the logs are complete' "ulimit -f, stdout reaches it: it is said"
done
limited -f 8 "$MUSTER" run --report "$REPORT" -n 1 -- dd if=/dev/zero of=file bs=1000 count=100
is "$rc $(report cause.kind) $(report cause.signal)" "153 signal SIGXFSZ" "ulimit -f: by the signal, which it does not ignore"

if can_be_user; then
    user_copy
    # a leak checker wants a process of its own
    export ASAN_OPTIONS=detect_leaks=0
    for n in 1 2 3 4 5 8; do
        # an ordinary user's processes count; a user id that nothing else runs as
        (
            exec >"$out" 2>"$err" </dev/null
            as_user timeout -k 5 "$LIMIT" bash -c 'ulimit -u "$1" && exec ./muster run -n 2 -- /bin/true' bash $n
        )
        rc=$?
        [ "$rc" -eq 1 ] || [ "$rc" -eq 125 ] || [ "$rc" -eq 0 ] || is "$rc" "0, 1 or 125" "ulimit -u $n: exit status"
        unlike "$(cat "$err")" "not allowed here|cannot be had" "ulimit -u $n: not taken for something forbidden"
        no_fault "ulimit -u $n"
        unlike "$(cat "$err")" 'temporarily unavailable' "ulimit -u $n: not in words of the kernel"
        [ "$rc" -eq 0 ] || like "$(cat "$err")" 'too many processes \(ulimit -u, or pids.max' "ulimit -u $n: the limit is named"
    done
    for n in 4 5 6 7; do
        (
            exec >"$out" 2>"$err" </dev/null
            as_user timeout -k 5 "$LIMIT" bash -c 'ulimit -u "$1" && exec ./muster run --isolate none --report r.json -n 4 -- sleep 0.3' bash $n
        )
        rc=$?
        no_fault "4 processes, ulimit -u $n"
        [ "$rc" -eq 0 ] || like "$(cat "$err")" 'too many processes \(ulimit -u, or pids.max' "4 processes, ulimit -u $n: the limit is named"
    done
else
    skip "needs root and user namespaces"
fi
done_testing
