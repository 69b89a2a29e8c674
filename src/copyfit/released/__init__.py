"""Checkpoints of the paper's released code, turned into copyfit's without running anything of theirs."""
