"""A stand-in: only launch is here. A program can tell by `is_available`, which PyTorch has."""
