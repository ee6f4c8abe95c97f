#!/bin/sh
# Horovod trains as Azure's document starts it, by mpirun and by horovodrun (over MPI and over Gloo, whose
# launcher goes into every replica by ssh), and as OpenPAI's and T9k's do.
#
# about: src/plan/env_horovod src/plan/env_mpi src/plan/horovod src/plan/mpi
# about: src/dialect/azureml/preview src/dialect/mpirun src/dialect/openpai src/dialect/t9k
# about: examples/azureml/mpi examples/frameworks/horovod examples/frameworks/train_horovod
# about: t/frameworks/pinned/horovod
. "${0%/*}/lib.sh"
need horovod
IMAGE=$CACHE/horovod

stage horovod train_horovod.py
train 2 2 horovod-openpai.json
is "$(diff horovod-job.json horovod-openpai.json | grep -c '^[<>]')" 3 "it is the document's file with another command, and a comment"
train 4 4 horovod-t9k.yaml
train 4 4 horovod-mpijob.yaml
sed 's/horovodrun -np/horovodrun --gloo -np/' mpi-horovodrun.yaml >gloo.yaml
train 16 16 gloo.yaml
train 16 16 mpi-amlcompute.yaml
train 16 16 mpi-horovodrun.yaml
train 16 16 mpi-k8s.yaml

done_testing
