#!/bin/sh
# How training ends when a rank raises, is killed, runs out of memory or hangs, for each framework: the rows
# of t/endings.tsv that need one. With it the hints for the commonest first failures.
# ENDINGS="name name" runs only those rows; "hints" is one of the names.
#
# Where a shell runs the command, it is the shell that ends: with 128 and the signal's number.
#
# about: src/job src/foreground src/inspect src/rundir t/endings.tsv
. "${0%/*}/lib.sh"
LIMIT=120

here() # PART
{
    case $1 in
    debian) /usr/bin/python3 -c 'import torch, mpi4py' 2>/dev/null ;;
    *) MUSTER_CACHE=$CACHE "$TOP/tools/frameworks" --cached "$1" >/dev/null ;;
    esac
}

memory_of() # FILE: where its limit is, of the replica that the row's rank is in
{
    case $1 in
    pytorchjob-*) echo spec.pytorchReplicaSpecs.Master.template.spec.containers.pytorch.resources.limits.memory ;;
    horovod-t9k.*) echo spec.worker.template.spec.containers.mpi-worker.resources.limits.memory ;;
    horovod-mpijob.*) echo spec.mpiReplicaSpecs.Worker.template.spec.containers.worker.resources.limits.memory ;;
    tfjob.*) echo spec.tfReplicaSpecs.Chief.template.spec.containers.tensorflow.resources.limits.memory ;;
    *) echo roles.worker.resources.memory ;;
    esac
}

run_row()
{
    part='' limit='' options=''
    for word in $words; do
        case $word in
        needs=*) part=${word#*=} ;;
        limit=*) limit=${word#*=} options="$options --set $(memory_of "$file")=${word#*=}" ;;
        policy=*)
            for role in Master Worker; do
                options="$options --set spec.pytorchReplicaSpecs.$role.restartPolicy=${word#*=}"
            done
            ;;
        *) options="$options $word" ;;
        esac
    done
    if ! here "$part"; then
        skip "$name: no $part here"
        return
    fi
    if [ -n "$limit" ] && [ "$(id -u)" -ne 0 ]; then
        skip "$name: only root may set limits here"
        return
    fi
    IMAGE=host FAIL_RANK='' FAIL_TASK=''
    [ "$part" = debian ] || IMAGE=$CACHE/$part
    case $who in
    rank*) FAIL_RANK=${who#* } ;;
    *) FAIL_TASK=$who ;;
    esac
    export FAIL="$how" FAIL_RANK FAIL_TASK
    # Horovod's ranks talk to each other all the time, so only Horovod can know that one does not come.
    export HOROVOD_STALL_CHECK_TIME_SECONDS=3 HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=6
    rm -rf weights "$REPORT"
    # shellcheck disable=SC2086 # options are words
    run_job --inherit-env 'FAIL*' --inherit-env 'HOROVOD_STALL*' --image "*=$IMAGE" $options "$file"
    is "$rc $(report outcome) $(report exit_code)" "$exit $outcome $exit" "$name: outcome and exit code"
    like "$(report verdict)" "$sentence" "$name: verdict"
    got_kind=$(report cause)
    [ "$got_kind" = null ] || got_kind=$(report cause.kind)
    is_cause "$(report cause.replica)" "$(report cause.rank)" "$got_kind"
    is "$(survivors "$(run_id)")" "" "$name: nothing is left"
}

wanted() # NAME
{
    case " ${ENDINGS:-$1} " in
    *" $1 "*) ;;
    *) return 1 ;;
    esac
}

# --- the rows --------------------------------------------------------------------------------------

stage rows train_ps.py
# An MPI_Recv without a sender.
cat >recv.py <<'PYTHON'
from mpi4py import MPI
world = MPI.COMM_WORLD


def get():
    return world.recv(source=0)


world.Barrier()
if world.rank == 1:
    get()
world.Barrier()
PYTHON
sed 's/train_mpi4py.py/recv.py/' mpi4py.yaml >recv.yaml

tab=$(printf '\t')
while IFS=$tab read -r name _ words _ command _ exit outcome replica rank kind sentence; do
    case $words in
    needs=*) ;;
    *) continue ;;
    esac
    wanted "$name" || continue
    read -r file how who <<COMMAND
$command
COMMAND
    who=${who:-rank 1}
    run_row </dev/null
done <"$TOP/t/endings.tsv"
unset FAIL FAIL_RANK FAIL_TASK

# --- hints -----------------------------------------------------------------------------------------

if ! wanted hints; then
    done_testing
    exit
fi
IMAGE=host

hint() # COMMAND ERE NAME: the verdict of a job that runs it says so
{
    run_job --image "*=$IMAGE" -n 1 -- sh -c "$1"
    like "$(report verdict)" "$2" "$3"
}

if /usr/bin/python3 -c 'import torch, mpi4py' 2>/dev/null; then
    group='import torch.distributed as d; d.init_process_group("gloo")'
    sed "s|- python3 train_ddp.py|- python3 -c '$group'|" openpai-ddp.yaml >no-rank.yaml
    run_job no-rank.yaml
    like "$(report verdict)" 'RANK is not set in this job: torchrun or a PyTorch job sets it' "a rank variable that is missing"
    hint "GLOO_SOCKET_IFNAME=nosuch0 python3 -c '$group'" 'network interface nosuch0 not found; replicas use lo' "an interface that is missing"
    hint 'python3 -c "import torch; torch.ones(1).cuda()"' 'this machine has' "no GPU"
    hint 'python3 -c "import nosuchmodule"' 'nosuchmodule is not installed for .*python' "a module, with the interpreter"
    hint "python3 -c 'import socket; s = socket.socket(); s.setsockopt(1, 2, 1); s.bind((\"\", int(__import__(\"os\").environ[\"MASTER_PORT\"]))); s.listen(); $group'" \
        'two processes of this job listen on it' "a port that is already in use"
    sed "s|- python3 train_ddp.py|- python3 -c 'import os; os.environ[\"RANK\"]'|" openpai-ddp.yaml >no-rank.yaml
    run_job no-rank.yaml
    like "$(report verdict)" 'RANK is not set in this job' "the same by a KeyError"
    # A DataLoader hands its batches over in /dev/shm, which is as small as the job says.
    cat >loader.py <<'PYTHON'
import torch
from torch.utils.data import DataLoader


class Samples(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.zeros(1 << 20)


for batch in DataLoader(Samples(), batch_size=16, num_workers=2):
    print(len(batch))
PYTHON
    sed -e 's|- python3 train_ddp.py|- python3 loader.py|' -e 's|^    resourcePerInstance|    extraContainerOptions: {shmMB: 16}\n&|' openpai-ddp.yaml >loader.yaml
    if grep -q shmMB loader.yaml && [ "$(id -u)" -eq 0 ]; then
        run_job loader.yaml
        like "$rc $(report verdict)" '^[1-9].*/dev/shm has 16 MiB, the size that the job file sets' "a small /dev/shm"
    else
        skip "only root has a /dev/shm of its own"
    fi
else
    skip "no torch of Debian's here" 7
fi
if here torch; then
    IMAGE=$CACHE/torch
    hint 'python3 -c "import torch; torch.ones(1).cuda()"' 'this machine has no GPU' "no GPU, torch of PyPI's"
    hint "python3 -c 'import torch.distributed as d; d.init_process_group(\"nccl\")'" 'this machine has no GPU' "NCCL without a GPU"
else
    skip "no torch of PyPI's here" 2
fi

done_testing
