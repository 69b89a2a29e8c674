"""Text that fits: headlines of an exact length, in any unit."""

__version__ = "0.1.0"
