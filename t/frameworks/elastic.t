#!/bin/sh
# An elastic PyTorchJob: a rank is killed, then a whole worker with its torchrun. Training goes on from
# the last checkpoint each time.
#
# about: src/plan/env_pytorchjob src/job src/dialect/kubeflow examples/frameworks/pytorchjob
# about: examples/frameworks/train_ddp t/frameworks/pinned/torch
. "${0%/*}/lib.sh"
need torch

stage elastic train_ddp.py
sed 's/value: "0.1"/value: "0.4"/' pytorchjob-elastic.yaml >job.yaml # time to kill somebody
export WEIGHTS="$WORK/elastic/weights"
set -- --inherit-env WEIGHTS --image "*=$CACHE/torch" job.yaml
"$MUSTER" explain --env "$@" >explain.txt 2>"$err"
"$MUSTER" explain -o json "$@" >explain.json 2>"$err"
like "$(cat explain.txt)" 'TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1  \(muster: ' "explain tells what is set for it, and why"
like "$(cat explain.txt)" 'PET_NNODES=2:3' "and how many workers there may be"

process() # HOST YES|NO: one that is a rank, or torchrun
{
    grep -lsazx "MUSTER_HOST=$1" /proc/[0-9]*/environ 2>/dev/null | while IFS=/ read -r _ _ pid _; do
        grep -qsaz "^WEIGHTS=$WORK" "/proc/$pid/environ" || continue
        is_rank=NO
        ! grep -qsaz ^TORCHELASTIC_RUN_ID= "/proc/$pid/environ" || is_rank=YES
        if [ $is_rank = "$2" ] && grep -qsa train_ddp.py "/proc/$pid/cmdline"; then echo "$pid"; fi
    done | tail -n 1
}

said() # COUNT WORDS: so many lines have them
{
    [ "$(grep -c "$2" "$out")" -ge "$1" ]
}

lose_two() # OPTION…
{
    rm -rf weights checkpoint.pt
    : >"$out"
    timeout -k 5 $LIMIT "$MUSTER" run --report "$REPORT" "$@" >"$out" 2>"$err" </dev/null &
    job=$!
    ok "training begins" wait_until 120 said 1 'step 20: loss'
    ok "a rank is killed" kill -KILL "$(process ddp-elastic-worker-1 YES)"
    ok "ranks go on from a checkpoint" wait_until 120 said 2 'goes on from step [1-9]'
    ok "and train" wait_until 60 said 1 'step 40: loss'
    ok "a worker is killed with its torchrun" kill -KILL "$(process ddp-elastic-worker-2 NO)"
    ok "again the others go on" wait_until 120 said 4 'goes on from step [1-9]'
    wait $job
    is $? 0 "the job ends well" || diag "$(tail -n 20 "$out"; cat "$err")"
    judge - - job.yaml
    as_explained job.yaml
    like "$(report attempts.0.replicas.2.restarts)" '^[1-9]' "the worker was started again, as its restartPolicy says"
}

round=1
while [ $round -le "$ROUNDS" ]; do
    lose_two "$@"
    round=$((round + 1))
done

done_testing
