# shellcheck shell=sh disable=SC2154,SC2016 # variables of lib.sh; programs of jobs
# stderr stays apart in the live view; one log, with marks; times of lines; stdin goes to rank 0.

run_job -n 2 -- sh -c 'echo out; echo err >&2; echo both 2>&1'
is "$(sort "$out" | cut -d ' ' -f 2)" "$(printf 'both\nout\nboth\nout')" "streams: stdout goes to stdout"
is "$(grep -c '^\[worker-0/[01]\] err$' "$err")" 2 "streams: stderr to stderr"
is "$(sort "$(report run_dir)/logs/worker-0.rank-0.log")" "$(printf 'both\nerr\nout')" "streams: the log has both"
is "$(stat -c %a "$(report run_dir)/marks")" 600 "streams: marks are private"
is "$(grep -vcE '^[0-9]{13} [0-9]+ [oe] worker-0\.rank-[01]\.log$' "$(report run_dir)/marks")" 0 "streams: every mark has its form"

# A line of one stream is not torn by the other.
run_job -n 1 -- sh -c 'printf "be"; sleep 0.2; echo err >&2; sleep 0.2; echo gin'
is "$(cat "$out") $(head -n 1 "$err")" "[worker-0/0] begin [worker-0/0] err" "streams: a line is not torn by the other stream"
is "$(cat "$(report run_dir)/logs/worker-0.rank-0.log")" "$(printf 'beerr\ngin')" "streams: the log has them as they came"

rm -f "$(report run_dir)/marks"
run_muster logs --timestamps "$(run_id)"
is "$(cat "$out")" "$(printf -- '- beerr\n- gin')" "streams: without marks there is one stream, and no time"

if have_mpi openmpi; then
    cat >"$WORK/streams.yaml" <<'YAML'
apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: streams}
spec:
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {containers: [{name: l, image: i, command: [sh, -c, "mpirun --allow-run-as-root -np 2 sh -c 'echo out; echo err >&2'; echo launched >&2"]}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [{name: w, image: i}]}}}
YAML
    run_job "$WORK/streams.yaml"
    is "$(sort "$out")" "$(printf '[worker-0/0] out\n[worker-1/1] out')" "streams: ranks of mpirun, stdout"
    is "$(grep -E '^\[.* (err|launched)$' "$err" | sort)" "$(printf '[launcher-0] launched\n[worker-0/0] err\n[worker-1/1] err')" \
        "streams: and stderr, with the launcher's own"
else
    skip "no Open MPI" 2
fi

run_job -n 2 -- sh -c 'echo one; echo two >&2; sleep 0.3; echo three'
id=$(run_id)
run_muster logs --timestamps "$id"
is "$(sed -E 's/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z //' "$out" | sort | uniq -c | awk '{ print $1, $2, $3 }')" \
    "$(for k in 0 1; do for w in one three two; do echo "1 [worker-0/$k] $w"; done; done)" "logs --timestamps: before the prefix"
is "$(grep '/0\] ' "$out" | cut -d ' ' -f 1 | sort -c && echo sorted)" sorted "logs --timestamps: in order"
is "$(grep -E '/0\] (one|three)' "$out" | cut -d ' ' -f 1 | uniq | wc -l)" 2 "logs --timestamps: a later line has a later time"
run_muster logs --tail 1 "$id"
is "$(cat "$out")" "$(printf '[worker-0/0] three\n[worker-0/1] three')" "logs --tail 1: of each log"
run_muster logs --tail 2 --rank 1 "$id"
is "$(cat "$out")" "$(printf 'two\nthree')" "logs --tail 2: of one"
run_muster logs --tail 0 "$id"
is "$rc$(cat "$out")" 0 "logs --tail 0: nothing"
run_muster logs --tail 99 --rank 1 "$id"
is "$(wc -l <"$out")" 3 "logs --tail: more than there are"

printf 'for rank 0\n' | "$MUSTER" run -n 3 -- sh -c 'cat; echo "$RANK done"' >"$out" 2>"$err"
is "$(sort "$out")" "$(printf '[worker-0/0] 0 done\n[worker-0/0] for rank 0\n[worker-0/1] 1 done\n[worker-0/2] 2 done')" \
    "stdin: rank 0 reads it, others read nothing"
yes | timeout 60 "$MUSTER" run -n 2 -- true >"$out" 2>"$err"
is $? 0 "stdin: that nobody reads does no harm"
