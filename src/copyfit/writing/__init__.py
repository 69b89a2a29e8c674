"""Text in, headlines that fit out. Needs no PyTorch."""
