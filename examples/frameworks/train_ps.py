#!/usr/bin/env python3
"""TensorFlow, ParameterServerStrategy: one script for every task, which it finds in TF_CONFIG.

One task coordinates: the chief, or where there is none worker 0, whose address every task then takes
for the chief's. Parameter servers and workers serve; TensorFlow has no end for them. Here a worker ends
when the coordinator, once it was there, no longer listens. A parameter server and an evaluator go on
until they are stopped.
"""
import json
import os
import socket
import threading
import time

import problem

problem.arrived()
config = json.loads(os.environ["TF_CONFIG"])
cluster, task, index = config["cluster"], config["task"]["type"], config["task"]["index"]
if task == "evaluator":
    threading.Event().wait()
if "chief" not in cluster:
    cluster["chief"] = [cluster["worker"].pop(0)]
    if task == "worker":
        task, index = ("worker", index - 1) if index else ("chief", 0)

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf  # noqa: E402

spec = tf.train.ClusterSpec(cluster)


def attend(address):
    """Returns False if nobody listens there, else when whoever did has closed the connection."""
    host, port = address.rsplit(":", 1)
    try:
        with socket.create_connection((host, int(port))) as there:
            while there.recv(4096):
                pass
        return True
    except ConnectionResetError:
        return True
    except OSError:
        return False


def serve():
    few = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=4)
    server = tf.distribute.Server(spec, job_name=task, task_index=index, protocol="grpc", config=few)
    if task == "ps":
        server.join()
    while not attend(cluster["chief"][0]):
        time.sleep(0.3)
    while attend(cluster["chief"][0]):  # it hangs up on who says nothing for minutes
        pass
    os._exit(0)  # the server's threads never end


if task != "chief":
    serve()

resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(spec, task_type=task, task_id=0, rpc_layer="grpc")
strategy = tf.distribute.ParameterServerStrategy(resolver)  # waits for the others
with strategy.scope():  # variables go to the parameter servers in turn
    weights = {name: tf.Variable(value) for name, value in problem.beginning().items()}
size = len(cluster["worker"])
shares = [tuple(map(tf.constant, problem.share(i, size))) for i in range(size)]
placed = sorted({v.device.split("/device")[0] for v in weights.values()})
problem.say(f"{size} workers; variables on {', '.join(placed)}")


@tf.function
def work(x, y):
    """What a worker does when it is its turn. They do not wait for each other: steps of three that have
    seen the same weights add up, so each is a small one."""
    with tf.GradientTape() as tape:
        out = tf.tanh(x @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]
        loss = tf.reduce_mean((out - y) ** 2)
    for name, g in tape.gradient(loss, weights).items():
        weights[name].assign_sub(0.05 * g)
    return loss


coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
for step in range(problem.steps):
    problem.between(0, step)
    losses = [coordinator.schedule(work, args=share) for share in shares]
    coordinator.join()
    if step % 20 == 0:
        problem.say(f"step {step}: loss {sum(float(loss.fetch()) for loss in losses) / size:.4f}")

problem.save(0, 1, {name: value.numpy() for name, value in weights.items()})
os._exit(0)  # its threads would wait for a worker that was lost
