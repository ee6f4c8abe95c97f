#!/bin/sh
# The six jobs that OpenPAI's document on distributed jobs names, as they are. What they would fetch lies
# here already: git, wget, apt and mount are stand-ins that do nothing. Those that can do without a GPU
# train; of the others Muster says why they do not.
#
# about: src/plan/env_openpai src/plan/lints src/dialect/openpai examples/frameworks/train_openpai
# about: examples/openpai/distributed
. "${0%/*}/lib.sh"
need debian

stage openpai train_openpai.py
cp "$TOP"/examples/openpai/distributed/*.yaml .
for script in cifar10-single-node-gpus-cpu-DP cifar10-single-mul-DDP-nccl-gloo Lite-imagenet-single-mul-DDP-nccl-gloo; do
    cp train_openpai.py "$script.py"
done
echo 'import apex.amp' | cat - train_openpai.py >cifar10-single-mul-DDP-nccl-gloo-Apex-mixed.py
mkdir apex
: >apex/setup.py # what `python setup.py install` runs
for program in git wget apt mount; do
    ln -s /bin/true "$WORK/bin/$program"
done

train 1 1 cifar10-single-node-gpus-cpu-DP.yaml
train 2 4 cifar10-single-mul-DDP-gloo.yaml --isolate network
if [ -d /sys/class/net/eth0 ]; then
    sed 's#mkdir -p /mnt/data#mkdir -p data#' Lite-imagenet-single-mul-DDP-gloo.yaml >imagenet.yaml
    train 2 8 imagenet.yaml
else
    skip "no eth0 here, which the file names" $((3 * ROUNDS))
fi

# --- without a GPU -------------------------------------------------------------------------------

if [ -e /dev/nvidia0 ]; then
    skip "a GPU is here" 9
    done_testing
    exit
fi

explains() # FILE ERE NAME
{
    like "$("$MUSTER" explain "$1" 2>&1)" "warning: $2" "$1: explain says $3"
}

nccl='worker: backend nccl needs GPUs, this machine has none; use backend gloo'
apex='worker installs Apex, which needs GPUs; this machine has none'
explains cifar10-single-mul-DDP-nccl.yaml "$nccl" "why nccl cannot work here"
explains cifar10-single-mul-DDP-nccl-Apex-mixed.yaml "$nccl" "why nccl cannot work here"
explains cifar10-single-mul-DDP-nccl-Apex-mixed.yaml "$apex" "why Apex cannot"
explains cifar10-single-mul-DDP-gloo-Apex-mixed.yaml "$apex" "why Apex cannot"
explains cifar10-single-mul-DDP-gloo.yaml 'all 2 replicas of worker run .git clone. in the same directory' "why a real git clone would fail"
run_job cifar10-single-mul-DDP-nccl.yaml
like "$(cat "$err")" "warning: $nccl" "nccl: run says it before it starts"
like "$rc $(report verdict)" '^1 .*this machine has no GPU; use device "cpu" and backend "gloo"' "nccl: and so does the verdict"
run_job cifar10-single-mul-DDP-gloo-Apex-mixed.yaml
like "$(cat "$err")" "warning: $apex" "Apex: run says it before it starts"
like "$rc $(report verdict)" '^1 .*apex is not installed' "Apex: the verdict says what is missing"

done_testing
