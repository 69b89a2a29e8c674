"""Share what tests of checkpoint need."""

from pathlib import Path
from typing import Any

import pytest
from numpy.typing import NDArray

from copyfit.checkpoint import Checkpoint, load_weights, open_checkpoint
from copyfit.errors import CheckpointError
from support_writing import random_weights, tiny_checkpoint

CHECKPOINT = tiny_checkpoint()
WEIGHTS = random_weights(CHECKPOINT)


def read_all(folder: Path) -> tuple[Checkpoint, dict[str, NDArray[Any]]]:
    return open_checkpoint(folder), load_weights(folder)


def refused(folder: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        read_all(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


def tensor(begin: int, end: int, kind: str = "F32", shape: str = "[2]") -> str:
    return f'{{"dtype": "{kind}", "shape": {shape}, "data_offsets": [{begin}, {end}]}}'
