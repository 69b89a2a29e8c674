"""Architectures behind one contract. Never see text or files."""
