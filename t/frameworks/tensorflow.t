#!/bin/sh
# TensorFlow forms its clusters by TF_CONFIG, with and without parameter servers. These never end by
# themselves: they are stopped when the job is done, and nobody calls that a failure.
#
# about: src/plan/env_tensorflow src/dialect/azureml/preview src/dialect/kubeflow
# about: examples/azureml/tf examples/frameworks/tf examples/frameworks/train_mirrored
# about: examples/frameworks/train_ps t/frameworks/pinned/tensorflow
. "${0%/*}/lib.sh"
need tensorflow
IMAGE=$CACHE/tensorflow

stage mirrored train_mirrored.py
train 4 4 tf-multiworker.yaml
train 2 2 tf-mirrored.yaml

stage ps train_ps.py
train 6 1 tf-ps.yaml
is "$(report attempts.0.replicas.0.name) $(report attempts.0.replicas.0.outcome)" "parameter_server-0 stopped" "a parameter server was stopped, not failed"
train 6 1 tf-ps-k8s.yaml
train 5 1 tfjob.yaml
is "$(report cause)" null "with a chief too, nobody has failed"

done_testing
