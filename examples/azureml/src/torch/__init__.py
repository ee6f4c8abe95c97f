"""PyTorch where it is installed; where it is not, a stand-in for `python -m torch.distributed.launch`.

The example's command starts that module, so without this package it would need PyTorch just to be tried.
This directory comes first on Python's path: a torch that is installed is looked for behind it, and if
there is one, it takes the place of this package before anything else of it is imported.
"""
import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_path = [entry for entry in sys.path if os.path.abspath(entry) != _here]
_spec = importlib.machinery.PathFinder.find_spec("torch", _path)
if _spec and _spec.loader:
    _torch = importlib.util.module_from_spec(_spec)
    sys.modules["torch"] = _torch
    _spec.loader.exec_module(_torch)
