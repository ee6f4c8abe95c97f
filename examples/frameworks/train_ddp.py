#!/usr/bin/env python3
"""PyTorch, DistributedDataParallel over gloo: every rank learns from its share, all learn the same.

torch finds the other ranks by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, which Muster, torchrun or
torch.distributed.launch set. On OpenPAI nobody does: there they are made of PAI_*. CHECKPOINT is a
file to go on from after a restart (elastic jobs); rank 0 writes it every ten steps.
"""
import os

import torch
import torch.distributed as dist

import problem

env = os.environ
problem.arrived()
if "PAI_TASK_INDEX" in env and "RANK" not in env:
    env["MASTER_ADDR"] = env["PAI_HOST_IP_worker_0"]
    env["MASTER_PORT"] = env["PAI_worker_0_SynPort_PORT"]
    env["RANK"] = env["PAI_TASK_INDEX"]
    env["WORLD_SIZE"] = env["PAI_TASK_ROLE_TASK_COUNT_worker"]

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

first, last = torch.nn.Linear(problem.INPUTS, problem.HIDDEN), torch.nn.Linear(problem.HIDDEN, 1)
parameters = {"w1": first.weight, "b1": first.bias, "w2": last.weight, "b2": last.bias}
with torch.no_grad():
    for name, value in problem.beginning().items():  # torch keeps matrices the other way round
        parameters[name].copy_(torch.from_numpy(value.T))
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(first, torch.nn.Tanh(), last))
optimizer = torch.optim.Adam(net.parameters(), lr=problem.RATE)

begin, checkpoint = 0, env.get("CHECKPOINT")
if checkpoint and os.path.exists(checkpoint):
    state = torch.load(checkpoint)
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    begin = state["step"]
    problem.say(f"rank {rank} of {size} goes on from step {begin}")

x, y = map(torch.from_numpy, problem.share(rank, size))
for step in range(begin, problem.steps):
    if checkpoint and rank == 0 and step % 10 == 0:
        state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        torch.save(state, checkpoint + ".new")
        os.replace(checkpoint + ".new", checkpoint)
    problem.between(rank, step)
    loss = torch.nn.functional.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if rank == 0 and step % 20 == 0:
        problem.say(f"step {step}: loss {loss.item():.4f}")

problem.save(rank, size, {name: p.detach().numpy().T for name, p in parameters.items()})
dist.barrier()
dist.destroy_process_group()
