#!/usr/bin/env python3
"""Judges a training job by what it has left behind, not by what it says.

usage: check.py WEIGHTS-DIR RANKS [SAVED]

RANKS processes have arrived ("-": any number); SAVED of them (all; "-": as many as the first says)
have left weights behind. The weights of all are the same, and the network they make is good at samples
that nobody has trained with. Says what is wrong and fails, or prints "N ranks: fine".
"""
import glob
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/frameworks"))
sys.dont_write_bytecode = True
import problem  # noqa: E402

directory, ranks = sys.argv[1:3]
saved = sys.argv[3] if len(sys.argv) > 3 else ranks
GOOD = 0.2  # of the error before; a rank that learns alone stays above 0.4


def expect(condition, words):
    if not condition:
        sys.exit(f"{directory}: {words}")


came = glob.glob(f"{directory}/*.env")
expect(ranks in ("-", str(len(came))), f"{len(came)} processes have arrived, not {ranks}")
files = {int(os.path.basename(path)[:-4]): np.load(path) for path in glob.glob(f"{directory}/*.npz")}
expect(0 in files, "no weights of rank 0")
saved = int(files[0]["size"] if saved == "-" else saved)
expect(sorted(files) == list(range(saved)), f"weights of ranks {sorted(files)}, not of 0 to {saved - 1}")
for rank, file in files.items():
    expect(file["rank"] == rank and file["size"] == saved, f"rank {rank} takes itself for {file['rank']} of {file['size']}")
    for name in problem.NAMES:
        expect(file[name].shape == problem.TEACHER[name].shape, f"{name} of rank {rank} is of shape {file[name].shape}")
        expect(np.isfinite(file[name]).all(), f"{name} of rank {rank} is not made of numbers: training has diverged")
        expect(np.array_equal(file[name], files[0][name]), f"{name} of rank {rank} is not that of rank 0")
before, now = problem.error(problem.beginning()), problem.error(files[0])
expect(now < GOOD * before, f"the error is {now:.4f}, and was {before:.4f} before")
print(f"{len(came)} ranks: fine")
