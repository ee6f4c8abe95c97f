#!/usr/bin/env python3
"""A DDP program's start, without DDP: rendezvous at the port the job has reserved.

The two lines that give torch its rendezvous are the ones OpenPAI's documentation has. Worker 0
listens there; every other worker tells its rank and gets the number of workers back.
"""
import os
import socket
import sys
import time

os.environ['MASTER_ADDR'] = os.environ['PAI_HOST_IP_worker_0']
os.environ['MASTER_PORT'] = os.environ['PAI_worker_0_SynPort_PORT']

rank = int(os.environ["PAI_TASK_INDEX"])
size = int(os.environ["PAI_TASK_ROLE_TASK_COUNT_worker"])
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))


def master():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", place[1]))
    listener.listen(size)
    waiting = {0: None}
    while len(waiting) < size:
        peer = listener.accept()[0]
        waiting[int(peer.makefile().readline())] = peer
    if sorted(waiting) != list(range(size)):
        sys.exit(f"the ranks are {sorted(waiting)}, not 0 to {size - 1}")
    for peer in waiting.values():
        if peer:
            peer.sendall(f"{len(waiting)}\n".encode())


def worker():
    for _ in range(1200):
        try:
            with socket.create_connection(place, timeout=60) as peer:
                peer.sendall(f"{rank}\n".encode())
                if int(peer.makefile().readline()) != size:
                    sys.exit("rank 0 counts differently")
                return
        except ConnectionRefusedError:
            time.sleep(0.05)
    sys.exit(f"nobody listens at {place}")


if rank:
    worker()
else:
    master()
    print(f"{size} workers have met at {place[0]}:{place[1]}", flush=True)
