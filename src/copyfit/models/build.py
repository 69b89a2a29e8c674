"""From a section to its model."""

from importlib import import_module
from typing import cast

from copyfit.models.config import ARCHITECTURES, ModelSection
from copyfit.models.contract import Model


def build_model(section: ModelSection, *, source_size: int, target_size: int) -> Model:
    """Build a model with fresh weights, drawn from PyTorch's global random state."""
    module, name = ARCHITECTURES[section.architecture].home.split(":")
    architecture = getattr(import_module(module), name)
    return cast(Model, architecture(section, source_size=source_size, target_size=target_size))
