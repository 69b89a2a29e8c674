"""Choose an engine and open a model in it; the one door to PyTorch for everything above."""

from collections.abc import Sequence

from copyfit.combining import Member
from copyfit.environment import needing_train_extra
from copyfit.errors import CheckpointError, RequestError
from copyfit.generation.jobs import Engine

ENGINES = ("torch",)


def load_engine(members: Sequence[Member], *, device: str | None = None, name: str | None = None) -> Engine:
    """Open models as one in an engine by name, on a device by name; None picks the best there is."""
    if name is not None and name not in ENGINES:
        raise RequestError(f"the engine must be one of {', '.join(ENGINES)}, given {name!r}")
    with needing_train_extra("running a model", CheckpointError):
        from copyfit.runtime.torch_model import open_torch_engine
    return open_torch_engine(members, device=device)
