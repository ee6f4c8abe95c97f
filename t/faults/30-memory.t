#!/bin/sh
# Memory that is used up outside of a replica's own limit: muster runs inside a control group that is small.
# And a bus error, with /dev/shm full and not.
. "${0%/*}/lib.sh"

cat >hog.py <<'PYTHON'
import os, time
if os.environ.get('MUSTER_INDEX') == '1' or os.environ.get('RANK') == '1' or os.environ.get('OMPI_COMM_WORLD_RANK') == '1':
    held = []
    while True:
        held.append(bytearray(4 << 20))
time.sleep(60)
PYTHON
cat >bus.py <<'PYTHON'
import mmap, sys
if sys.argv[1] == 'full':
    f = open('/dev/shm/x', 'w+b')
    size = 64 << 20
    f.truncate(size)
    m = mmap.mmap(f.fileno(), size)
    for i in range(0, size, 4096):
        m[i] = 1
f = open('cut', 'w+b')
f.truncate(1 << 20)
m = mmap.mmap(f.fileno(), 1 << 20)
f.truncate(0)
m[5] = 1
PYTHON

native() # LIMITS COMMAND: two workers
{
    cat <<YAML
apiVersion: muster/v1
name: memory
roles:
  worker: {replicas: 2, resources: {$1}, command: [$2]}
YAML
}

# --- an outer control group -----------------------------------------------------------------------

own=$(sed -n 's/^[0-9]*:\(.*,\)\{0,1\}memory\(,.*\)\{0,1\}:/\/sys\/fs\/cgroup\/memory/p' /proc/self/cgroup)
limit_file=memory.limit_in_bytes
if [ -z "$own" ]; then
    own=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup) limit_file=memory.max
fi
group=$own/mt-$$

in_group() # COMMAND…
{
    # shellcheck disable=SC2016 # the inner shell's
    sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" timeout -k 5 "$LIMIT" "$@" >"$out" 2>"$err"
    rc=$?
}

told() # NAME KIND VERDICT
{
    is "$(report cause.kind)" "$2" "$1: kind"
    like "$(report verdict)" "$3" "$1: verdict"
    is "$(report exit_code)" "$rc" "$1: exit code"
}

if mkdir "$group" 2>/dev/null && echo 120M >"$group/$limit_file" 2>/dev/null; then
    nearby="the kernel's out-of-memory killer was active at that time \(control group $group, limit 120 MiB, peak 1[0-9][0-9] MiB\)"
    for level in names none; do
        in_group "$MUSTER" run --isolate $level --report "$REPORT" -n 2 -- python3 hog.py
        told "$level" oom "rank 1 on worker-0 was killed by SIGKILL; $nearby"
        is "$rc" 137 "$level: exit code"
    done
    in_group "$MUSTER" run --report "$REPORT" -n 2 -- sh -c 'python3 hog.py; exit $?'
    told "a shell's child" oom "exited with status 137 \(128 \+ SIGKILL\); $nearby"
    in_group "$MUSTER" run --report "$REPORT" -n 2 -- sh -c 'python3 hog.py; exit 3'
    told "a child whose end is hidden" exit "exited with status 3; $nearby"
    # shellcheck disable=SC2016 # the ranks'
    in_group "$MUSTER" run --report "$REPORT" -n 2 -- sh -c 'test $RANK = 0 || kill -9 $$; sleep 60'
    told "killed by somebody else" signal 'was killed by SIGKILL after'
    native 'memory: 1Gi' 'python3, hog.py' >job.yaml
    in_group "$MUSTER" run --report "$REPORT" job.yaml
    told "a limit of its own that was not reached" oom "worker-1 ran out of memory: control group $group, limit 120 MiB"
    native 'memory: 40Mi' 'python3, hog.py' >job.yaml
    in_group "$MUSTER" run --report "$REPORT" job.yaml
    told "its own limit" oom 'worker-1 ran out of memory: limit 40 MiB, peak (39|40) MiB'
    if have_mpi openmpi; then
        in_group "$MUSTER" run --mpi --report "$REPORT" -n 2 -- python3 hog.py
        told "a rank of mpirun" oom "rank 1 on worker-0 was killed by SIGKILL; $nearby"
    else
        skip "no Open MPI here" 3
    fi
    wait_until 10 rmdir "$group" 2>/dev/null || diag "$group is left"
else
    rmdir "$group" 2>/dev/null
    skip "no control group with a limit of memory can be made in $own" 24
fi

# --- bus errors -----------------------------------------------------------------------------------

native 'shm: 16Mi' 'python3, bus.py, full' >job.yaml
run_job job.yaml
is "$rc" 135 "/dev/shm full: exit code"
like "$(report verdict)" '; /dev/shm was full: 16 MiB, the size that the job file sets' "/dev/shm full: it is said"
native 'shm: 16Mi' 'sh, -c, "python3 bus.py full; exit $?"' >job.yaml
run_job job.yaml
like "$rc $(report verdict)" '^135 .*; /dev/shm was full: 16 MiB' "/dev/shm full, behind a shell: it is said"
run_job -n 1 -- sh -c 'exit 135'
unlike "$(report verdict)" /dev/shm "a status of 135 alone says nothing about /dev/shm"
run_job -n 1 -- python3 bus.py cut
is "$rc" 135 "a file cut short: exit code"
like "$(report verdict)" '; /dev/shm was not full when the process had ended: .*; a mapped file that was truncated' \
    "a file cut short: /dev/shm is not blamed"
done_testing
