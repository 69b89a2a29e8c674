"""Strings to token ids and back, and what a length is. Needs no PyTorch."""
