#!/usr/bin/env python3
"""Finds the other tasks of an OpenPAI job by its variables and talks to every one of them.

Ends with 0 only if there are as many tasks as promised, each answers at the address and port the
variables give for it, and says that it is the one we meant. Prints one line: rank, size, host.
Usage: peers.py [LABEL]   the port label to use (default http, which every task has)
"""
import os
import socket
import sys
import threading
import time

label = sys.argv[1] if len(sys.argv) > 1 else "http"
env = os.environ


def tasks():
    for role in env["PAI_TASK_ROLE_LIST"].split(","):
        for index in range(int(env["PAI_TASK_ROLE_TASK_COUNT_" + role])):
            name = f"{role}_{index}"
            address = env["PAI_HOST_IP_" + name]
            ports = env[f"PAI_PORT_LIST_{name}_{label}"]
            assert ports == env[f"PAI_{name}_{label}_PORT"], "the two spellings differ"
            yield name, address, int(ports.split(",")[0])


def serve(listener, me, expected, heard):
    while len(heard) < expected:
        with listener.accept()[0] as peer:
            who = peer.makefile().readline().strip()
            peer.sendall((me + "\n").encode())
            heard.add(who)


def call(address, port, me, wanted):
    deadline = time.monotonic() + 60
    while True:
        try:
            with socket.create_connection((address, port), timeout=10) as peer:
                peer.sendall((me + "\n").encode())
                answer = peer.makefile().readline().strip()
            if answer == wanted:
                return
            sys.exit(f"{me}: {address}:{port} is {answer!r}, not {wanted}")
        except (ConnectionError, TimeoutError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def main():
    everyone = list(tasks())
    me = "{}_{}".format(env["PAI_CURRENT_TASK_ROLE_NAME"],
                        env["PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"])
    assert len(everyone) == int(env["PAI_JOB_TASK_COUNT"]), "tasks promised and told differ"
    assert env["PAI_TASK_INDEX"] == env["PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"]
    rank = [name for name, _, _ in everyone].index(me)
    address, port = everyone[rank][1:]
    assert address == env["PAI_CONTAINER_HOST_IP"] == env["PAI_CURRENT_CONTAINER_IP"]

    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", port))
    listener.listen(len(everyone))
    heard = set()
    server = threading.Thread(target=serve, args=(listener, me, len(everyone), heard))
    server.start()
    for name, address, port in everyone:
        call(address, port, me, name)
    server.join(60)
    assert heard == {name for name, _, _ in everyone}, f"{me} heard only {sorted(heard)}"
    sys.stdout.write(f"rank={rank} size={len(everyone)} host={socket.gethostname()}\n")


main()
