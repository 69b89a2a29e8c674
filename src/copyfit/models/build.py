"""The one list of architectures."""

from copyfit.models.config import ModelSection
from copyfit.models.transformer import Transformer

ARCHITECTURES: dict[str, type[Transformer]] = {"transformer": Transformer}


def build_model(section: ModelSection, *, source_size: int, target_size: int) -> Transformer:
    """Build a model with fresh weights, drawn from PyTorch's global random state."""
    return ARCHITECTURES[section.architecture](section, source_size=source_size, target_size=target_size)
