"""The random states a run draws from, as plain tensors: taken, shared between processes, put back."""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor


def capture() -> dict[str, Tensor]:
    """Take the states of Python, NumPy, PyTorch and every CUDA device."""
    version, words, gauss = random.getstate()
    _, keys, place, has_gauss, cached = np.random.get_state(legacy=True)
    states = {
        "python": torch.tensor([version, *words]),
        "python_gauss": torch.tensor([gauss is not None, gauss or 0.0], dtype=torch.float64),
        "numpy": torch.from_numpy(np.append(np.asarray(keys, dtype=np.int64), place)),
        "numpy_gauss": torch.tensor([has_gauss, cached], dtype=torch.float64),
        "torch": torch.get_rng_state(),
    }
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return states | {f"cuda{device}": state for device, state in enumerate(cuda)}


def restore(states: Mapping[str, Tensor]) -> None:
    """Put states back that were taken."""
    version, *words = states["python"].tolist()
    has_gauss, gauss = states["python_gauss"].tolist()
    random.setstate((version, tuple(words), gauss if has_gauss else None))
    *keys, place = states["numpy"].tolist()
    has_gauss, cached = states["numpy_gauss"].tolist()
    np.random.set_state(("MT19937", np.array(keys, dtype=np.uint32), place, int(has_gauss), cached))
    torch.set_rng_state(states["torch"])
    for device in range(torch.cuda.device_count()):
        if f"cuda{device}" in states:
            torch.cuda.set_rng_state(states[f"cuda{device}"], device)


@contextmanager
def untouched() -> Iterator[None]:
    """Put all states back after something that draws from them."""
    states = capture()
    try:
        yield
    finally:
        restore(states)


def start(*seeds: int) -> None:
    """Start all states from some numbers."""
    # With their number, since seeds are told apart only up to zeros at their end.
    mixed = np.random.SeedSequence((len(seeds), *seeds)).generate_state(1)[0]
    random.seed(int(mixed))
    np.random.seed(mixed)
    torch.manual_seed(int(mixed))
