#!/usr/bin/env python3
"""TensorFlow, MultiWorkerMirroredStrategy: all workers (and a chief, if there is one) do the same step.

TF_CONFIG is all it reads. An evaluator is no part of the cluster: it looks on until it is stopped.
"""
import json
import os
import threading

import problem

problem.arrived()
config = json.loads(os.environ["TF_CONFIG"])
task, index = config["task"]["type"], config["task"]["index"]
if task == "evaluator":
    threading.Event().wait()

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf  # noqa: E402

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(2)
strategy = tf.distribute.MultiWorkerMirroredStrategy()  # waits for all of them
size = strategy.num_replicas_in_sync
rank = index + (task == "worker" and "chief" in config["cluster"])

with strategy.scope():
    weights = {name: tf.Variable(value) for name, value in problem.beginning().items()}
    mean = {name: tf.Variable(tf.zeros_like(value)) for name, value in weights.items()}
    square = {name: tf.Variable(tf.zeros_like(value)) for name, value in weights.items()}
x, y = map(tf.constant, problem.share(rank, size))


def one(scale):
    with tf.GradientTape() as tape:
        out = tf.tanh(x @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]
        loss = tf.reduce_mean((out - y) ** 2)
    gradients = tape.gradient(loss, weights)
    gradients = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
    for name, g in gradients.items():  # Adam
        mean[name].assign(0.9 * mean[name] + 0.1 * g)
        square[name].assign(0.999 * square[name] + 0.001 * g ** 2)
        weights[name].assign_sub(scale * mean[name] / (tf.sqrt(square[name]) + 1e-8))
    return loss


@tf.function
def every(scale):
    return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(one, args=(scale,)), axis=None)


for step in range(problem.steps):
    problem.between(rank, step)
    loss = every(tf.constant(problem.RATE * (1 - 0.999 ** (step + 1)) ** 0.5 / (1 - 0.9 ** (step + 1)), tf.float32))
    if rank == 0 and step % 20 == 0:
        problem.say(f"step {step}: loss {float(loss):.4f}")

problem.save(rank, size, {name: value.numpy() for name, value in weights.items()})
