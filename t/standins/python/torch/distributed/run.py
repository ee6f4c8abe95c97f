"""python -m torch.distributed.run without PyTorch: launch with --use_env, told by PET_* too.

An elastic rendezvous is kept as short as can be: the node that the endpoint names waits for the
least number of nodes, and gives each its rank and the place where their processes are to meet.
"""
import os
import socket
import sys
import time

from torch.distributed import launch

OPTIONS = ("nnodes", "nproc_per_node", "node_rank", "master_addr", "master_port")
PATIENCE = 60


def given():
    """What PET_* say, as options; they are weaker than those of the command line."""
    words = {name: os.environ["PET_" + name.upper()] for name in OPTIONS if "PET_" + name.upper() in os.environ}
    if words.get("nproc_per_node") in ("auto", "cpu", "gpu"):
        words["nproc_per_node"] = "1"
    return words


def wait_for_nodes(listener, address, least):
    peers = [listener.accept()[0] for _ in range(least - 1)]
    with socket.socket() as spare:
        spare.bind(("", 0))
        port = spare.getsockname()[1]
    for rank, peer in enumerate(peers, 1):
        peer.sendall(f"{least} {rank} {address} {port}\n".encode())
        peer.close()
    return [str(least), "0", address, str(port)]


def join(place):
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with socket.create_connection(place, timeout=PATIENCE) as peer:
                return peer.makefile().readline().split()
        except ConnectionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def rendezvous(endpoint, nodes):
    host, port = endpoint.rsplit(":", 1)
    if socket.gethostname() != host:
        return join((host, int(port)))
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("", int(port)))
        listener.listen(256)
        listener.settimeout(PATIENCE)
        return wait_for_nodes(listener, host, int(nodes.split(":")[-1]))


def main():
    words = given()
    if "PET_RDZV_ENDPOINT" in os.environ:
        found = rendezvous(os.environ["PET_RDZV_ENDPOINT"], words.pop("nnodes"))
        words.update(zip(("nnodes", "node_rank", "master_addr", "master_port"), found))
    sys.argv[1:1] = ["--use_env"] + [f"--{name}={value}" for name, value in words.items()]
    launch.main()


if __name__ == "__main__":
    main()
