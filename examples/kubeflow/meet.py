#!/usr/bin/env python3
"""Stands in for a training program of Kubeflow's jobs: meets all its peers, says so, and ends.

    PyTorchJob   MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE: everyone calls rank 0, through
                 torch.distributed if PyTorch is installed
    TFJob        TF_CONFIG: everyone calls everyone; without it the job is this process alone

Ends with 0 only if every peer is there and is the one that was meant. Who decides over the job ends
last; parameter servers and evaluators serve for ever, as TensorFlow's do.
"""
import json
import os
import socket
import sys
import threading
import time

PATIENCE = 60  # seconds; a crowded machine starts slowly
env = os.environ


def listen(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", port))
    listener.listen(256)
    listener.settimeout(PATIENCE)
    return listener


def call(host, port, words):
    """Sends a line to whoever listens there, as soon as somebody does, and gives the answer."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with socket.create_connection((host, port), timeout=PATIENCE) as peer:
                peer.sendall((words + "\n").encode())
                return peer.makefile().readline().strip()
        except ConnectionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


heard = set()


def hear(listener, answer, expected):
    """Answers every call until all the expected words were heard, now or earlier."""
    while not heard.issuperset(expected):
        with listener.accept()[0] as peer:
            heard.add(peer.makefile().readline().strip())
            peer.sendall((answer + "\n").encode())


def say(rank, size):
    host = env.get("MUSTER_HOST", socket.gethostname())
    sys.stdout.write(f"rank={rank} size={size} host={host}\n")
    sys.stdout.flush()


def find_torch():
    """torch.distributed, or None without PyTorch. A package that only looks like it does not count."""
    try:
        import torch.distributed
        return torch.distributed if torch.distributed.is_available() else None
    except (ImportError, AttributeError):
        return None


def pytorch(rank, size):
    """A launcher of PyTorch 1.9 or newer keeps MASTER_PORT for a store of its own, which only torch can join."""
    dist = find_torch()
    if dist:
        dist.init_process_group("gloo", rank=rank, world_size=size)
        say(rank, size)
        dist.barrier()
        return dist.destroy_process_group()
    place = env["MASTER_ADDR"], int(env["MASTER_PORT"])
    if rank == 0:
        listener = listen(place[1])
        hear(listener, str(size), [f"rank {i}" for i in range(1, size)])
        say(rank, size)
        hear(listener, "fine", [f"done {i}" for i in range(1, size)])
        return
    if call(*place, f"rank {rank}") != str(size):
        sys.exit(f"rank 0 does not count {size} ranks")
    say(rank, size)
    call(*place, f"done {rank}")


def place_of(address):
    host, port = address.rsplit(":", 1)
    return host, int(port)


def tensorflow(config):
    tasks = {f"{role}:{i}": address for role, addresses in config["cluster"].items()
             for i, address in (addresses.items() if isinstance(addresses, dict) else enumerate(addresses))}
    me = "{type}:{index}".format(**config["task"])
    if me not in tasks:  # an evaluator is no part of the cluster
        return threading.Event().wait()
    names, workers = list(tasks), [name for name in tasks if not name.startswith("ps:")]
    chief = next(name for name in ("chief:0", "master:0", "worker:0") if name in tasks)
    listener = listen(place_of(tasks[me])[1])
    server = threading.Thread(target=hear, args=(listener, me, names), daemon=True)
    server.start()
    for name in names:
        answer = call(*place_of(tasks[name]), me)
        if answer != name:
            sys.exit(f"{me}: {tasks[name]} is {answer}, not {name}")
    server.join(PATIENCE)
    if server.is_alive():
        sys.exit(f"not all of {names} have called {me}")
    say(names.index(me), len(names))
    if me == chief:
        hear(listener, "fine", [f"done {name}" for name in names if name != me])
        return
    call(*place_of(tasks[chief]), f"done {me}")
    if me not in workers:
        threading.Event().wait()


if "TF_CONFIG" in env:
    tensorflow(json.loads(env["TF_CONFIG"]))
elif "MASTER_ADDR" in env:
    pytorch(int(env["RANK"]), int(env["WORLD_SIZE"]))
else:
    say(0, 1)
