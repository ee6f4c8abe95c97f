#!/usr/bin/env python3
"""Stands in for a training program: finds its peers by what it has been given, talks to each of them.

    MPI (mpirun, horovodrun)   rank and size as Open MPI or Hydra set them
    PyTorch                    MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE; through torch.distributed,
                               if PyTorch is installed
    TensorFlow                 TF_CONFIG

Ends with 0 only if every peer is there and is the one that was meant. Prints one line with rank, size
and host. A parameter server then serves for ever, as TensorFlow's do.
"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

POD_RUN_DIR = "/muster/run"
PATIENCE = 60  # seconds; a crowded machine starts slowly
env = os.environ


def listen(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", port))
    listener.listen(256)
    listener.settimeout(PATIENCE)
    return listener


def talk(peer, *words):
    """Sends the words as one line and gives the words of the answer."""
    peer.sendall((" ".join(map(str, words)) + "\n").encode())
    return peer.makefile().readline().split()


def call(find_place, *words):
    """Talks to whoever listens at the place that find_place() tells, as soon as somebody does."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with socket.create_connection(find_place(), timeout=PATIENCE) as peer:
                return talk(peer, *words)
        except (ConnectionError, FileNotFoundError, socket.gaierror):  # a pod has a name once it is there
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def peers():
    """The replicas of the job as Muster tells them; none if the program runs by itself."""
    if "MUSTER_PEERS" not in env:
        return []
    with open(env["MUSTER_PEERS"], encoding="utf-8") as file:
        return json.load(file)


def workers():
    return [peer for peer in peers() if peer["role"] in ("worker", "node")]


def my_host():
    """Without namespaces all replicas share the machine's name, and only Muster's is their own."""
    name = socket.gethostname()
    return name if name in [peer["host"] for peer in peers()] else env.get("MUSTER_HOST", name)


def say(rank, size):
    sys.stdout.write(f"rank={rank} size={size} host={my_host()}\n")
    sys.stdout.flush()


# --- a star: everyone meets at rank 0 ---------------------------------------------------------------


def gather(listener, size):
    """Rank 0: hears every other rank, then tells all of them how many there are."""
    heard = {0: (None, my_host())}
    while len(heard) < size:
        peer = listener.accept()[0]
        rank, host = peer.makefile().readline().split()
        if int(rank) in heard:
            sys.exit(f"two ranks say they are {rank}")
        heard[int(rank)] = (peer, host)
    if sorted(heard) != list(range(size)):
        sys.exit(f"the ranks are {sorted(heard)}, not 0 to {size - 1}")
    for peer, _ in heard.values():
        if peer:
            peer.sendall(f"{len(heard)}\n".encode())
    return [host for _, host in heard.values()]


def join(find_place, rank, size):
    if call(find_place, rank, my_host()) != [str(size)]:
        sys.exit(f"rank 0 does not count {size} ranks")


def check_hosts(hosts):
    """Every worker of the job has as many ranks as the next."""
    if workers() and (len(set(hosts)) != len(workers()) or len(hosts) % len(workers())):
        sys.exit(f"{len(hosts)} ranks on {sorted(set(hosts))}, but there are {len(workers())} workers")


def mpi(rank, size):
    """MPI promises no port: rank 0 takes one and leaves word of it in a file. Pods share none: there others ask for it."""
    launch = env.get("PMIX_NAMESPACE", "0").replace("/", "_")
    directory = env.get("MUSTER_RUN_DIR", tempfile.gettempdir())
    place = os.path.join(directory, f"train-{env.get('MUSTER_ATTEMPT', 1)}-{launch}.place")

    def read_place():
        if os.path.exists(place) or directory != POD_RUN_DIR:
            with open(place, encoding="utf-8") as file:
                return file.read().split()
        ssh = ["ssh", "-n", workers()[0]["host"], f"cat {place}"]
        return subprocess.run(ssh, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, text=True).stdout.split()

    def find_place():
        words = read_place()
        if not words:
            raise FileNotFoundError(place)
        return words[0], int(words[1])

    if rank:
        return join(find_place, rank, size)
    listener = listen(0)
    address = {peer["host"]: peer["address"] for peer in peers()}.get(my_host(), "localhost")
    with open(place + ".new", "w", encoding="utf-8") as file:
        file.write(f"{address} {listener.getsockname()[1]}\n")
    os.rename(place + ".new", place)
    check_hosts(gather(listener, size))
    os.unlink(place)


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
        hosts = [None] * size
        dist.init_process_group("gloo", rank=rank, world_size=size)
        dist.all_gather_object(hosts, my_host())
        check_hosts(hosts)
        dist.barrier()
        return dist.destroy_process_group()
    place = env["MASTER_ADDR"], int(env["MASTER_PORT"])
    if rank:
        join(lambda: place, rank, size)
    else:
        check_hosts(gather(listen(place[1]), size))


# --- a mesh: everyone calls everyone ----------------------------------------------------------------


def serve(listener, me, expected, heard):
    while len(heard) < expected:
        with listener.accept()[0] as peer:
            heard.add(peer.makefile().readline().strip())
            peer.sendall((me + "\n").encode())


def tensorflow(config):
    tasks = {f"{role}:{i}": place for role, places in config["cluster"].items()
             for i, place in enumerate(places)}
    me = "{type}:{index}".format(**config["task"])
    hosts = {place.rsplit(":", 1)[0] for place in tasks.values()}
    if peers() and len(hosts) != len(peers()):
        sys.exit(f"the tasks of TF_CONFIG are on {len(hosts)} hosts, the job on {len(peers())}")
    heard = set()
    listener = listen(int(tasks[me].rsplit(":", 1)[1]))
    server = threading.Thread(target=serve, args=(listener, me, len(tasks), heard), daemon=True)
    server.start()

    def call_all(names):
        for name in names:
            address, port = tasks[name].rsplit(":", 1)
            answer = call(lambda: (address, int(port)), me)
            if answer != [name]:
                sys.exit(f"{me}: {tasks[name]} is {answer}, not {name}")

    def hear_all():
        server.join(PATIENCE)
        if heard != set(tasks):
            sys.exit(f"{me} heard only {sorted(heard)} of {sorted(tasks)}")

    rank = list(tasks).index(me)
    servers = [name for name in tasks if name.startswith("ps:")]
    if me not in servers:
        call_all(tasks)
        hear_all()
        say(rank, len(tasks))
        return
    # The workers end when they have heard this one, and the job with them: it has to speak first.
    call_all(servers)
    hear_all()
    say(rank, len(tasks))
    call_all(name for name in tasks if name not in servers)
    threading.Event().wait()


def main():
    for rank, size in (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE")):
        if rank in env:
            mpi(int(env[rank]), int(env[size]))
            return say(env[rank], env[size])
    if "TF_CONFIG" in env:
        return tensorflow(json.loads(env["TF_CONFIG"]))
    if "MASTER_ADDR" in env:
        pytorch(int(env["RANK"]), int(env["WORLD_SIZE"]))
        return say(env["RANK"], env["WORLD_SIZE"])
    sys.exit("nothing says who the peers are")


main()
