"""What the scripts beside this file learn, so that each of them is about its framework only.

A network of 16-32-1 neurons learns a function that a fixed one of the same shape computes. Only two of
the 16 inputs of a sample are not 0, and samples are sorted by which: a rank, whose share is a piece
of the whole, never sees most of the inputs. So only ranks that really exchange what they have learnt
come near the function, and one look at the held-back samples shows whether they did.

Settings are variables: STEPS (80), WEIGHTS (the directory for what is left behind, ./weights), and for
trying out what happens: STEP_SLEEP (seconds), FAIL (raise, exit, leave, kill, oom, hang) with FAIL_RANK and
FAIL_STEP, or with FAIL_TASK ("ps 1"), a task of TensorFlow's that does so as soon as it is there.
"""
import json
import os
import signal
import socket
import sys
import time

import numpy as np

INPUTS, HIDDEN, SAMPLES = 16, 32, 1600
NAMES = ("w1", "b1", "w2", "b2")
RATE = 0.02
env = os.environ
steps = int(env.get("STEPS", 80))


def network(rng, scale):
    return {"w1": rng.normal(size=(INPUTS, HIDDEN)) * scale, "b1": np.zeros(HIDDEN),
            "w2": rng.normal(size=(HIDDEN, 1)) / np.sqrt(HIDDEN), "b2": np.zeros(1)}


TEACHER = network(np.random.default_rng(1), 1.0)


def compute(weights, x):
    return np.tanh(x @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]


def samples(seed):
    rng = np.random.default_rng(seed)
    pair = np.arange(SAMPLES) * (INPUTS // 2) // SAMPLES
    x = np.zeros((SAMPLES, INPUTS))
    for k in 0, 1:
        x[np.arange(SAMPLES), 2 * pair + k] = rng.normal(size=SAMPLES)
    return x, compute(TEACHER, x)


def share(rank, size):
    """The samples of one rank; together the ranks have them all."""
    x, y = samples(2)
    piece = slice(rank * SAMPLES // size, (rank + 1) * SAMPLES // size)
    return x[piece].astype(np.float32), y[piece].astype(np.float32)


def beginning():
    """The weights that every rank begins with."""
    return {name: value.astype(np.float32) for name, value in network(np.random.default_rng(3), 0.25).items()}


def error(weights):
    """Mean square error on samples that nobody has trained with."""
    x, y = samples(4)
    return float(np.mean((compute(weights, x) - y) ** 2))


def say(words):
    """One write: lines of ranks that share an output are not to be torn."""
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def place(name):
    directory = env.get("WEIGHTS", "weights")
    os.makedirs(directory, exist_ok=True)
    return os.path.join(directory, name)


def write(name, put):
    """A file is there as a whole or not at all, whatever ends this process."""
    path, new = place(name), place(f".{name}.{os.getpid()}")  # pods that share the directory have the same pids
    with open(new, "wb") as file:
        put(file)
    os.replace(new, path)


def arrived():
    """Leaves the environment behind that this process was given, for whoever wants to look."""
    who = f"{env.get('MUSTER_HOST', socket.gethostname())}.{os.getpid()}"
    write(f"{who}.env", lambda file: file.write(json.dumps(dict(env)).encode()))
    task = json.loads(env.get("TF_CONFIG", "{}")).get("task")
    if task and env.get("FAIL_TASK") == f"{task['type']} {task['index']}":
        fail(env["FAIL_TASK"])


def save(rank, size, weights):
    write(f"{rank}.npz", lambda file: np.savez(file, rank=rank, size=size, **weights))
    say(f"rank {rank} of {size}: error {error(beginning()):.4f} before, {error(weights):.4f} now")


def fail(who):
    how = env.get("FAIL", "exit")
    say(f"{who}: {how}, as ordered")
    hoard = []
    if how == "raise":
        raise RuntimeError("as ordered")
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    while how == "oom":
        hoard.append(b"x" * (1 << 24))
    while how == "hang":
        time.sleep(60)
    sys.exit(0 if how == "leave" else 7)


def between(rank, step):
    """Called before each step: whatever was ordered for it happens."""
    time.sleep(float(env.get("STEP_SLEEP", 0)))
    if env.get("FAIL_RANK") == str(rank) and step == int(env.get("FAIL_STEP", 5)):
        fail(f"rank {rank} at step {step}")
