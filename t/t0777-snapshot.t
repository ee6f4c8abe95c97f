#!/bin/sh
# The code of a submitted job is as it was when it was submitted; what it writes is kept.
. "${0%/*}/lib.sh"
. "${0%/*}/lib/daemon.sh"

mkdir "$WORK/work" && cd "$WORK/work" || exit 1
submit() # sets $id and $rc
{
    run_muster submit --no-autostart "$@"
    id=$(cat "$out")
}
snapshots()
{
    find "$MUSTER_HOME/daemon/code" -mindepth 1 -maxdepth 1 | wc -l
}
ok "the daemon is ready" serve --cpus 2

mkdir -p lib data sub
echo 'echo old' >train.sh
echo 'echo library' >lib/part.sh
echo value >data/input
printf 'data\ncheckpoints/\n' >.gitignore
mkdir checkpoints
ln -s lib/part.sh link.sh
cat >job.yaml <<YAML
apiVersion: muster/v1
name: trainer
roles:
  worker:
    command: |
      until [ -e $WORK/go ]; do sleep 0.05; done
      sh train.sh; sh link.sh; cat data/input; pwd
      echo weights >checkpoints/last; echo result >result.txt; echo more >>lib/part.sh
      mkdir -p __pycache__ out/deep; echo x >__pycache__/a.pyc; echo y >out/deep/y
YAML
submit job.yaml
is "$rc" 0 "submit"
is "$(snapshots)" 1 "has copied the directory"
echo 'echo new' >train.sh
rm lib/part.sh
touch "$WORK/go"
run_muster wait "$id"
is "$rc" 0 "the job ends"
dir=$MUSTER_HOME/runs/$id/code
"$MUSTER" logs "$id" >log
is "$(tail -n 4 log | sed 's/^\[[^]]*\] //' | tr '\n' ' ')" "old library value $dir " "it ran what was submitted, in a copy"
is "$(cat checkpoints/last)" weights "what .gitignore leaves out is where it was"
is "$(cat "$dir/result.txt")" result "what it has written is kept"
is "$(cd "$dir" && find . | sort | tr '\n' ' ')" ". ./lib ./lib/part.sh ./out ./out/deep ./out/deep/y ./result.txt " "and nothing else"
like "$("$MUSTER" show "$id")" "outputs: $dir" "show says where"
is "$(snapshots)" 0 "the snapshot is gone"
is "$(ls)" "$(printf 'checkpoints\ndata\njob.yaml\nlib\nlink.sh\nlog\nsub\ntrain.sh')" "the directory itself is as it was"

# --- in place
rm "$WORK/go"
sed -i 's/trainer/placed/; s/sh link.sh; //; s/; echo more.*//; /__pycache__/d' job.yaml
submit --in-place job.yaml
echo 'echo newest' >train.sh
touch "$WORK/go"
run_muster wait "$id"
like "$("$MUSTER" logs "$id")" 'newest' "--in-place runs what is there when it starts"
is "$(cat result.txt)" result "and writes there"
rm result.txt

# --- a command: in place, unless asked
submit -n 1 -- sh -c 'echo a >in-place'
run_muster wait "$id"
is "$(cat in-place)" a "a command runs in place"
rm "$WORK/go" in-place
submit --snapshot -n 1 -- sh -c "until [ -e $WORK/go ]; do sleep 0.05; done; sh train.sh; echo b >copied"
echo 'echo later' >train.sh
touch "$WORK/go"
run_muster wait "$id"
like "$("$MUSTER" logs "$id")" 'newest' "--snapshot copies its directory"
is "$(cat "$MUSTER_HOME/runs/$id/code/copied")" b "and it runs in the copy"
ok "not in the directory" test ! -e copied

# --- Azure's code
cat >azure.yaml <<'YAML'
command: sh run.sh && echo z >made
code: ./sub
environment: azureml:e@latest
YAML
echo 'echo azure' >sub/run.sh
submit azure.yaml
run_muster wait "$id"
is "$rc" 0 "a job with code"
is "$(cat "$MUSTER_HOME/runs/$id/code/made")" z "runs in a copy of it"
ok "of nothing else" test ! -e "$MUSTER_HOME/runs/$id/code/train.sh"

# --- an array has one, and each job its own copy
sed -i 's/placed/arrayed/' job.yaml
run_muster submit --array-id --count 3 job.yaml
array=$(cat "$out")
run_muster wait "$array"
is "$rc" 0 "an array"
is "$(cat "$MUSTER_HOME"/runs/*/code/result.txt | wc -l)" 4 "writes into a copy for each job"
is "$(snapshots)" 0 "and leaves no snapshot"

# --- muster's own directory below that of the job
cat >"$WORK/whole.yaml" <<'YAML'
apiVersion: muster/v1
name: whole
roles: {worker: {command: 'ls -l h; ls'}}
YAML
submit "$WORK/whole.yaml"
run_muster wait "$id"
like "$("$MUSTER" logs "$id")" "h -> $WORK/h" "is not copied"

# --- refused
submit --in-place --snapshot -n 1 -- true
is "$rc" 2 "--in-place and --snapshot"
truncate -s 300M large
submit job.yaml
is "$rc" 1 "a directory that is too large"
like "$(cat "$err")" 'has 301 MiB in .* files; at most 256 MiB .*largest: large \(300 MiB\), .*or use --in-place' "with the limit and what to do"
is "$(snapshots)" 0 "nothing is left"
rm large
submit --queue '' --priority 101 job.yaml
is "$(snapshots)" 0 "nor of a submission that is refused"
rm "$WORK/go"
submit job.yaml
submit job.yaml
is "$rc" 1 "a name that is in use"
is "$(snapshots)" 1 "leaves the snapshot of the other"
run_muster cancel arrayed
run_muster wait arrayed
wait_until 10 sh -c "[ -z \"\$(ls $MUSTER_HOME/daemon/code)\" ]"
is "$(snapshots)" 0 "which goes when it is cancelled"
kill "$daemon"
wait "$daemon"
is "$?" 0 "the daemon ends"
for place in / /proc; do
    cd "$place" || exit 1
    run_muster submit --snapshot -n 1 -- true
    is "$rc" 1 "submit --snapshot in $place"
    like "$(cat "$err")" "error: $place cannot be copied when a job is submitted: it .*; use --in-place" "says why it is refused"
done
run_muster submit a b
like "$(cat "$err")" 'muster submit: submit takes one job FILE, not 2' "submit a b names its own verb"
is "$rc" 2 "which is bad usage"
done_testing
