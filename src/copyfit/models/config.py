"""What a recipe says of the model, and the one list of architectures. Needs no PyTorch."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from copyfit.config import Section, check
from copyfit.errors import ConfigError


class ModelSection(Section):
    """Be the section of some architecture."""

    architecture: str

    def settled(self, budgets: NDArray[np.integer[Any]]) -> Self:  # noqa: ARG002
        """Return the section with what follows from the budgets of the training pairs filled in."""
        return self

    def describe(self) -> str:
        """Say in a few words how the model is told the budget."""
        raise NotImplementedError


class TransformerSection(ModelSection):
    """Shape an encoder-decoder Transformer; the defaults are the paper's base size."""

    architecture: Literal["transformer"] = "transformer"
    positions: Literal["pe", "ldpe", "ldpe+pe", "lrpe", "lrpe+pe", "pre", "pre+pe"] = "ldpe+pe"
    """How the decoder is told the budget: not (pe), what is left (ldpe), the share used up (lrpe, pre)."""
    layout: Literal["paper", "released"] = "paper"
    """Order of sines and cosines and first position: the paper's, or those of its released code."""
    norm: Literal["pre", "post"] = "pre"
    """Whether a layer's input is normalised, or the sum behind it."""
    width: int = Field(512, ge=4, multiple_of=2)
    """Features of a token between layers."""
    heads: int = Field(8, ge=1)
    """Attention heads a layer."""
    inner: int = Field(2048, ge=1)
    """Features of a token within a feed-forward net."""
    encoder_layers: int = Field(6, ge=1)
    """How deep sources are read."""
    decoder_layers: int = Field(6, ge=1)
    """How deep targets are written; few make decoding fast."""
    dropout: float = Field(0.1, ge=0, lt=1)
    """Chance of a feature to be left out in training."""
    tied: bool = True
    """Whether the table that embeds target tokens is also the one that scores them."""

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads, given {self.width} and {self.heads}")
        return self

    def describe(self) -> str:
        """Name the encoding of positions."""
        return f"positions {self.positions}"


class Architecture(NamedTuple):
    """Name the section of an architecture, and where its model is: `module:class`, imported when built."""

    section: type[ModelSection]
    home: str


ARCHITECTURES = {
    "transformer": Architecture(TransformerSection, "copyfit.models.transformer:Transformer"),
}
"""Every architecture by name; the first one is meant where none is named."""


def _of_architecture(values: Any) -> Any:
    if not isinstance(values, Mapping):
        return values
    name = values.get("architecture", next(iter(ARCHITECTURES)))
    if name not in ARCHITECTURES:
        raise ConfigError(f"model.architecture must be one of {', '.join(ARCHITECTURES)}, given {name!r}")
    return check(values, ARCHITECTURES[name].section, where="model")


AnyModelSection = Annotated[SerializeAsAny[ModelSection], BeforeValidator(_of_architecture)]
"""The section that its key `architecture` names."""
