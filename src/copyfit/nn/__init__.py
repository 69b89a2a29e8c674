"""Tensor functions and small modules."""
