#!/bin/sh
# PyPI's torch: torch.distributed.launch as Azure's document has it, torchrun with what Kubeflow sets.
. "${0%/*}/lib.sh"
need torch
IMAGE=$CACHE/torch

stage torchrun train_ddp.py
train 16 16 pytorch.yaml
train 4 4 pytorchjob-torchrun.yaml
train 3 3 pytorchjob-elastic.yaml

done_testing
