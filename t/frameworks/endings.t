#!/bin/sh
# How training ends when a rank raises, is killed or hangs, for each framework: the verdict names the
# first failure, and the exit code is its own. With it the hints for the commonest first failures.
#
# Where a shell runs the command, it is the shell that ends: with 128 and the signal's number.
#
# about: src/job src/run
. "${0%/*}/lib.sh"
LIMIT=120

# Runs FILE, whose rank 1 fails in the middle.
ends() # FILE HOW WANT-CODE WANT-REPLICA WANT-KIND [OPTION…]
{
    file=$1 how=$2 code=$3 replica=$4 kind=$5
    shift 5
    rm -rf weights src/weights
    FAIL_RANK=1 FAIL=$how run_job --inherit-env 'FAIL*' --image "*=$IMAGE" "$@" "$file"
    is "$rc $(report cause.replica) $(report cause.kind)" "$code $replica $kind" "$file: a rank is to $how" ||
        diag "$(report verdict)"
}

hint() # COMMAND ERE NAME: the verdict of a job that runs it says so
{
    run_job --image "*=$IMAGE" -n 1 -- sh -c "$1"
    like "$(report verdict)" "$2" "$3"
}

if /usr/bin/python3 -c 'import torch, mpi4py' 2>/dev/null; then
    stage debian train_ddp.py
    ends ddp.yaml exit 7 worker-0 exit
    ends ddp.yaml kill 137 worker-0 exit
    like "$(report verdict)" 'ended by SIGKILL' "the verdict knows what its shell means"
    ends ddp.yaml hang 124 null hang --hang-timeout 6s
    like "$(cat "$(report run_dir)/hang.txt")" 'train_ddp.py' "hang.txt says who waits"
    ends openpai-ddp.yaml kill 137 worker-1 signal
    ends pytorchjob.yaml exit 7 worker-0 exit --set spec.pytorchReplicaSpecs.Worker.restartPolicy=Never
    ends mpi4py.yaml exit 7 worker-0 exit
    ends mpi4py.yaml kill 137 worker-0 signal
    ends mpi4py.yaml hang 124 null hang --hang-timeout 6s

    group='import torch.distributed as d; d.init_process_group("gloo")'
    sed "s|- python3 train_ddp.py|- python3 -c '$group'|" openpai-ddp.yaml >no-rank.yaml
    run_job no-rank.yaml
    like "$(report verdict)" 'RANK is not set in this job: torchrun or a PyTorch job sets it' "a rank variable that is missing"
    hint "GLOO_SOCKET_IFNAME=nosuch0 python3 -c '$group'" 'no interface nosuch0 here: replicas reach each other by lo' "an interface that is missing"
    hint 'python3 -c "import torch; torch.ones(1).cuda()"' 'this machine has' "no GPU"
    hint 'python3 -c "import nosuchmodule"' 'nosuchmodule is not installed for .*python' "a module, with the interpreter"
    hint "python3 -c 'import socket; s = socket.socket(); s.setsockopt(1, 2, 1); s.bind((\"\", int(__import__(\"os\").environ[\"MASTER_PORT\"]))); s.listen(); $group'" \
        'two processes of this job listen there' "a port that is taken"
else
    skip "no torch of Debian's here" 15
fi

if [ -f "$CACHE/tensorflow/stamp" ]; then
    IMAGE=$CACHE/tensorflow
    stage mirrored train_mirrored.py
    ends tf-multiworker.yaml exit 7 worker-1 exit
    ends tf-multiworker.yaml kill 137 worker-1 exit
    stage ps train_ps.py
    printf '%s\n' 'import os' 'if "\"ps\", \"index\": 1" in os.environ["TF_CONFIG"] or "\"type\":\"ps\",\"index\":1" in os.environ["TF_CONFIG"]: os._exit(9)' |
        cat - train_ps.py >src/train.py
    run_job --image "*=$IMAGE" tf-ps.yaml
    is "$rc $(report cause.replica)" "9 parameter_server-1" "a parameter server that ends early is the first failure"
else
    skip "no TensorFlow here" 3
fi

done_testing
