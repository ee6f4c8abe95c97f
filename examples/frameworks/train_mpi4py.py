#!/usr/bin/env python3
"""mpi4py: every rank computes the gradient of its share, MPI adds them up. Open MPI or MPICH.

An mpi4py of one MPI under the other's mpirun is silent: every rank is alone in a world of its own.
WORLD is how many the job has asked for; fewer end it.
"""
import os
import sys

import numpy as np
from mpi4py import MPI

import problem

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
problem.arrived()
if size != int(os.environ.get("WORLD", size)):
    sys.exit(f"{size} in this world instead of {os.environ['WORLD']}: mpi4py is of another MPI than mpirun, "
             f"it is for {MPI.Get_library_version().splitlines()[0]}")

x, y = problem.share(rank, size)
weights = problem.beginning()


def gradient():
    hidden = np.tanh(x @ weights["w1"] + weights["b1"])
    out = 2 * (hidden @ weights["w2"] + weights["b2"] - y) / len(x)
    back = (out @ weights["w2"].T) * (1 - hidden ** 2)
    return {"w1": x.T @ back, "b1": back.sum(0), "w2": hidden.T @ out, "b2": out.sum(0)}


mean = {name: np.zeros_like(value) for name, value in weights.items()}
square = {name: np.zeros_like(value) for name, value in weights.items()}
for step in range(problem.steps):
    problem.between(rank, step)
    for name, mine in gradient().items():
        g = np.empty_like(mine)
        world.Allreduce(mine, g, MPI.SUM)
        g /= size
        mean[name] = 0.9 * mean[name] + 0.1 * g  # Adam
        square[name] = 0.999 * square[name] + 0.001 * g ** 2
        scale = problem.RATE * np.sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1))
        weights[name] -= scale * mean[name] / (np.sqrt(square[name]) + 1e-8)

problem.save(rank, size, weights)
