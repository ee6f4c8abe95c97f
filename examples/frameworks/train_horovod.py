#!/usr/bin/env python3
"""Horovod with PyTorch: every rank learns from its share, Horovod takes the mean of the gradients.

Whoever starts it, mpirun or horovodrun, tells it who it is; nothing has to be read here.
"""
import horovod.torch as hvd
import torch

import problem

problem.arrived()
hvd.init()
rank, size = hvd.rank(), hvd.size()

first, last = torch.nn.Linear(problem.INPUTS, problem.HIDDEN), torch.nn.Linear(problem.HIDDEN, 1)
parameters = {"w1": first.weight, "b1": first.bias, "w2": last.weight, "b2": last.bias}
if rank == 0:  # the others have something else until they are told
    with torch.no_grad():
        for name, value in problem.beginning().items():  # torch keeps matrices the other way round
            parameters[name].copy_(torch.from_numpy(value.T))
net = torch.nn.Sequential(first, torch.nn.Tanh(), last)
optimizer = torch.optim.Adam(net.parameters(), lr=problem.RATE)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=net.named_parameters())
hvd.broadcast_parameters(net.state_dict(), root_rank=0)

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
hvd.shutdown()
