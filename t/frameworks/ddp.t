#!/bin/sh
# Debian's torch: DistributedDataParallel forms its groups by what each dialect sets, and trains. The
# checker is tried too: it must see what is wrong with jobs whose contract was broken.
# shellcheck disable=SC2016 # what is in single quotes is for the shells of jobs
. "${0%/*}/lib.sh"
need debian

stage ddp train_ddp.py
train 4 4 ddp.yaml
train 3 3 pytorchjob.yaml
train 4 4 azureml-pytorch.yaml
train 2 2 openpai-ddp.yaml
train 2 2 openpai-ddp.yaml --isolate network
train 4 4 pytorch-k8s.yaml

# --- a broken contract ---------------------------------------------------------------------------

sees() # WORDS NAME: that is what the checker says
{
    like "$(checker "$TOP/t/frameworks/check.py" weights 4 2>&1)" "$1" "$2"
}

broken() # COMMAND: ddp.yaml with it
{
    rm -rf weights
    sed "s#command: .*#command: $1#" ddp.yaml >broken.yaml
    run_job broken.yaml
}

broken 'MASTER_PORT=$((MASTER_PORT + RANK)) WORLD_SIZE=1 RANK=0 python3 train_ddp.py'
is "$rc" 0 "ranks that are alone end well"
sees 'weights of ranks \[0\], not of 0 to 3' "the checker is not deceived by it"
broken 'MASTER_PORT=$((MASTER_PORT + RANK / 2)) WORLD_SIZE=2 RANK=$((RANK % 2)) python3 train_ddp.py'
sees 'weights of ranks \[0, 1\], not of 0 to 3' "nor by two worlds"
broken 'test $RANK = 3 || WORLD_SIZE=3 python3 train_ddp.py'
is "$rc" 0 "three of four end well"
sees '3 processes have arrived, not 4' "the checker misses the fourth"
broken 'RANK=$((RANK / 2)) python3 train_ddp.py'
ok "two ranks of one number do not end well" test "$rc" -ne 0

for rank in 0 1; do
    STEPS=0 WEIGHTS=weights2 RANK=$rank checker -c "
import sys; sys.path.insert(0, '.')
import problem
problem.arrived(); w = problem.beginning(); w['b1'] += $rank; problem.save($rank, 2, w)" >/dev/null
done
like "$(checker "$TOP/t/frameworks/check.py" weights2 2 2>&1)" 'b1 of rank 1 is not that of rank 0' "weights that differ are seen"

done_testing
