"""A stand-in for PyTorch: only torch.distributed.launch and torch.distributed.run are here."""
