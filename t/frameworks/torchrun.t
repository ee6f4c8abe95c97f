#!/bin/sh
# PyPI's torch: torch.distributed.launch as Azure's document has it, torchrun with what Kubeflow sets.
#
# about: src/plan/env_azureml src/plan/env_pytorchjob src/plan/env_torch src/dialect/azureml/preview
# about: src/dialect/kubeflow src/dialect/rewrite examples/azureml/pytorch
# about: examples/frameworks/pytorchjob examples/frameworks/train_ddp t/frameworks/pinned/torch
. "${0%/*}/lib.sh"
need torch
IMAGE=$CACHE/torch

stage torchrun train_ddp.py
train 16 16 pytorch.yaml
train 4 4 pytorchjob-torchrun.yaml
train 3 3 pytorchjob-elastic.yaml

done_testing
