"""python -m torch.distributed.launch without PyTorch: starts a node's processes and their variables.

As with the real one, the first word that is no option is the script, which Python runs; --no_python
and -m change that. The first process to fail ends the others.
"""
import argparse
import os
import subprocess
import sys
import time


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nnodes", type=int, default=1)
    parser.add_argument("--node_rank", "--node-rank", type=int, default=0)
    parser.add_argument("--nproc_per_node", "--nproc-per-node", type=int, default=1)
    parser.add_argument("--master_addr", "--master-addr", default="127.0.0.1")
    parser.add_argument("--master_port", "--master-port", type=int, default=29500)
    parser.add_argument("--use_env", "--use-env", action="store_true")
    parser.add_argument("--no_python", "--no-python", action="store_true")
    parser.add_argument("-m", "--module", action="store_true")
    parser.add_argument("script")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    return parser.parse_args()


def start(args, local_rank):
    command = [] if args.no_python else [sys.executable, "-u"] + ["-m"] * args.module
    command += [args.script]
    if not args.use_env:
        command += [f"--local_rank={local_rank}"]
    env = dict(os.environ,
               MASTER_ADDR=args.master_addr,
               MASTER_PORT=str(args.master_port),
               WORLD_SIZE=str(args.nnodes * args.nproc_per_node),
               RANK=str(args.node_rank * args.nproc_per_node + local_rank),
               LOCAL_RANK=str(local_rank))
    return subprocess.Popen(command + args.rest, env=env)


def main():
    args = arguments()
    running = [start(args, i) for i in range(args.nproc_per_node)]
    while running:
        for process in list(running):
            code = process.poll()
            if code is None:
                continue
            running.remove(process)
            if code:
                for other in running:
                    other.terminate()
                sys.exit(code if code > 0 else 128 - code)
        time.sleep(0.02)


if __name__ == "__main__":
    main()
