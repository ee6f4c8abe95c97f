#!/usr/bin/env python3
"""PyTorch as OpenPAI's distributed examples start it: each of -n tasks spawns -g ranks.

Without -n it is their DataParallel: one process for all GPUs of its task, or without GPUs for none. The
tasks meet at the port that the job file reserves as SynPort. What the examples ask for besides, epochs
and a directory with images, is taken and not needed.
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing

import problem

env = os.environ


def learn(rank, size, parallel):
    first, last = torch.nn.Linear(problem.INPUTS, problem.HIDDEN), torch.nn.Linear(problem.HIDDEN, 1)
    parameters = {"w1": first.weight, "b1": first.bias, "w2": last.weight, "b2": last.bias}
    with torch.no_grad():
        for name, value in problem.beginning().items():  # torch keeps matrices the other way round
            parameters[name].copy_(torch.from_numpy(value.T))
    net = parallel(torch.nn.Sequential(first, torch.nn.Tanh(), last))
    optimizer = torch.optim.Adam(net.parameters(), lr=problem.RATE)
    x, y = map(torch.from_numpy, problem.share(rank, size))
    for step in range(problem.steps):
        problem.between(rank, step)
        loss = torch.nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 20 == 0:
            problem.say(f"step {step}: loss {loss.item():.4f}")
    problem.save(rank, size, {name: p.detach().numpy().T for name, p in parameters.items()})


def one_of_many(local, options):
    env["MASTER_ADDR"] = env["PAI_HOST_IP_worker_0"]
    env["MASTER_PORT"] = env["PAI_worker_0_SynPort_PORT"]
    rank, size = int(env["PAI_TASK_INDEX"]) * options.g + local, options.n * options.g
    dist.init_process_group(options.dist_backend, rank=rank, world_size=size)
    learn(rank, size, torch.nn.parallel.DistributedDataParallel)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, help="tasks")
    parser.add_argument("-g", type=int, default=1, help="ranks in each")
    parser.add_argument("--dist-backend", default="gloo")
    for ignored in "--gpuid", "--epochs":
        parser.add_argument(ignored)
    parser.add_argument("data", nargs="?")
    given = parser.parse_args()
    problem.arrived()
    if given.n:
        torch.multiprocessing.spawn(one_of_many, (given,), given.g)
    else:
        learn(0, 1, torch.nn.DataParallel)
