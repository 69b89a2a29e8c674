"""Choose an engine and open a model in it; the one door to PyTorch for everything above."""

from collections.abc import Sequence

from copyfit.checkpoint import read_config
from copyfit.combining import Member
from copyfit.environment import needing_extra
from copyfit.errors import CheckpointError, RequestError
from copyfit.generation.jobs import Engine

TORCH, ONNX = ENGINES = ("torch", "onnx")


def load_engine(members: Sequence[Member], *, device: str | None = None, name: str | None = None) -> Engine:
    """Open models as one in an engine, by name or the one their folders are for, on a device by name."""
    exported = [read_config(member.directory).is_exported for member in members]
    name = name or (ONNX if all(exported) else TORCH)
    if name not in ENGINES:
        raise RequestError(f"the engine must be one of {', '.join(ENGINES)}, given {name!r}")
    if name == ONNX:
        return _load_onnx(members, device)
    with needing_extra("train", "running a model", CheckpointError):
        from copyfit.runtime.torch_model import open_torch_engine
    return open_torch_engine(members, device=device)


def _load_onnx(members: Sequence[Member], device: str | None) -> Engine:
    from copyfit.runtime.onnx_engine import open_onnx_engine

    if len(members) > 1:
        raise RequestError(
            f"exported models run alone, given {len(members)}; make an ensemble of the folders of weights"
        )
    if device not in (None, "cpu"):
        raise RequestError(f"exported models run on cpu, given {device!r}; give the folder of weights")
    return open_onnx_engine(members[0].directory)
