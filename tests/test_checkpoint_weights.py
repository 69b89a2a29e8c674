"""Weights that are not what a checkpoint says, and pickles in their place."""

import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import torch
from numpy.typing import NDArray

from copyfit.checkpoint import load_weights, open_checkpoint, save_checkpoint
from copyfit.combining import open_members
from copyfit.errors import CheckpointError
from copyfit.runtime.load import load_engine
from copyfit.runtime.torch_model import open_model
from support_checkpoint import CHECKPOINT, WEIGHTS, refused, tensor
from support_writing import forge, save_tiny


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_checkpoint(tmp_path / "model", CHECKPOINT, WEIGHTS)
    return tmp_path / "model"


def test_weights_of_another_vocabulary_size_are_refused(folder: Path, tmp_path: Path) -> None:
    other = save_tiny(tmp_path / "other", "character")
    forge(folder, "model.safetensors", (other / "model.safetensors").read_bytes())
    with pytest.raises(CheckpointError, match="must have the shape"):
        open_model(folder, open_checkpoint(folder))


def without(weights: dict[str, NDArray[np.float32]], name: str) -> dict[str, NDArray[np.float32]]:
    return {key: array for key, array in weights.items() if key != name}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda weights: without(weights, "source_table.weight"), "source_table.weight is missing"),
        (lambda weights: weights | {"extra": np.zeros(1, np.float32)}, "extra is unknown"),
        (
            lambda weights: (
                without(weights, "target_table.weight") | {"target.weight": weights["source_table.weight"]}
            ),
            "target_table.weight is missing",
        ),
        (
            lambda weights: weights | {"source_table.weight": np.zeros((2, 2), np.float32)},
            "must have the shape",
        ),
    ],
)
def test_missing_extra_and_misnamed_weights_are_named(
    tmp_path: Path,
    change: Callable[[dict[str, NDArray[np.float32]]], dict[str, NDArray[np.float32]]],
    message: str,
) -> None:
    save_checkpoint(tmp_path / "model", CHECKPOINT, change(WEIGHTS))
    with pytest.raises(CheckpointError, match=message):
        load_engine(open_members([tmp_path / "model"]), device="cpu")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_neither_saved_nor_read(folder: Path, value: float) -> None:
    broken = {name: array.copy() for name, array in WEIGHTS.items()}
    broken["source_table.weight"][3, 1] = value
    with pytest.raises(CheckpointError, match=r"source_table\.weight is not"):
        save_checkpoint(folder, CHECKPOINT, broken)
    forge(folder, "model.safetensors", safetensors.numpy.save(broken))
    assert "finite" in refused(folder)


def header(text: str, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(text)) + text.encode() + data


@pytest.mark.parametrize(
    "content",
    [
        b"",
        struct.pack("<Q", 0),
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 1000) + b"{}",
        header("not JSON"),
        header("[]"),
        header(f'{{"a": {tensor(0, 8)}}}', b"\0" * 4),
        header(f'{{"a": {tensor(0, 8)}, "b": {tensor(4, 12)}}}', b"\0" * 12),
        header(f'{{"a": {tensor(8, 0)}}}', b"\0" * 8),
        header(f'{{"a": {tensor(0, 8, kind="F99")}}}', b"\0" * 8),
        header(f'{{"a": {tensor(0, 8, shape="[3]")}}}', b"\0" * 8),
        header(f'{{"a": {tensor(0, 8, shape="[4611686018427387904, 8]")}}}', b"\0" * 8),
        header(f'{{"a": {tensor(0, 4, kind="BF16")}}}', b"\0" * 4),
    ],
)
def test_a_forged_weight_file_is_refused(folder: Path, content: bytes) -> None:
    forge(folder, "model.safetensors", content)
    assert "model.safetensors" in refused(folder)


class Trap:
    """Leave a mark when unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.mark,)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_a_pickle_named_as_weights_is_refused_and_never_run(
    folder: Path, tmp_path: Path, protocol: int
) -> None:
    content = pickle.dumps(Trap(tmp_path / "mark"), protocol)
    forge(folder, "model.safetensors", content)
    assert "is a pickle" in refused(folder)
    assert not (tmp_path / "mark").exists()


def test_a_file_of_torch_named_as_weights_is_refused(folder: Path) -> None:
    torch.save({"a": torch.zeros(2)}, folder / "model.safetensors")
    assert "is a pickle" in refused(folder)


@pytest.mark.parametrize("name", ["model.pt", "pytorch_model.bin", "weights.pth", "last.ckpt", "model.PKL"])
def test_a_pickle_beside_or_instead_of_a_folder_is_refused(folder: Path, name: str) -> None:
    (folder / "model.safetensors").rename(folder / name)
    assert f"{name} is a pickle" in refused(folder)
    assert f"{name} is a pickle" in refused(folder / name)


def test_weights_whose_header_length_looks_like_a_pickle_are_read(folder: Path) -> None:
    text = f'{{"a": {tensor(0, 8)}}}'.ljust(0x0280)
    forge(folder, "model.safetensors", header(text, b"\0" * 8))
    assert list(load_weights(folder)) == ["a"]
