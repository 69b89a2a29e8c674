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


class TransformerShape(ModelSection):
    """Shape an encoder-decoder Transformer, however it is told the budget."""

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


class TransformerSection(TransformerShape):
    """Shape an encoder-decoder Transformer; the defaults are the paper's base size."""

    architecture: Literal["transformer"] = "transformer"


class LengthBinsSection(TransformerShape):
    """Shape a Transformer that is told the budget by a marker before the source (Fan et al. 2018)."""

    architecture: Literal["length-bins"] = "length-bins"
    positions: Literal["pe"] = "pe"
    """The decoder's positions do not tell the budget."""
    bins: int = Field(10, ge=2)
    """How many bins of equal count the training budgets are cut into; fewer where many of them are equal."""
    edges: tuple[float, ...] = ()
    """Greatest budget of each bin but the last, rising; left out, they follow from the training budgets."""

    @model_validator(mode="after")
    def _edges_rise(self) -> Self:
        if list(self.edges) != sorted(set(self.edges)):
            raise ValueError(f"edges must rise, given {list(self.edges)}")
        return self

    def settled(self, budgets: NDArray[np.integer[Any]]) -> Self:
        """Cut the training budgets into bins of equal count, unless the recipe has cut them."""
        if self.edges:
            return self
        shares = np.arange(1, self.bins) / self.bins
        edges = np.unique(np.quantile(budgets, shares, method="inverted_cdf"))
        return self.model_copy(update={"edges": tuple(edges[edges < budgets.max()].astype(float).tolist())})

    def describe(self) -> str:
        """Count the bins."""
        return f"{len(self.edges) + 1} length bins"


class ConvolutionalSection(ModelSection):
    """Shape a convolutional encoder-decoder; the defaults are those of LC (Liu et al. 2018)."""

    architecture: Literal["convolutional"] = "convolutional"
    control: Literal["none", "lc"] = "none"
    """How the decoder is told the budget: not, or by its embedded input, which is multiplied by it."""
    divisor: float = Field(100, gt=0)
    """What lc divides the budget by."""
    width: int = Field(512, ge=1)
    """Features of a token between blocks."""
    embedding: int = Field(256, ge=1)
    """Features of a token where it is embedded, attends and is scored."""
    kernel: int = Field(3, ge=1)
    """How many tokens a block looks at: around each one in sources, up to each one in targets."""
    encoder_blocks: int = Field(8, ge=1)
    """How deep sources are read."""
    decoder_blocks: int = Field(8, ge=1)
    """How deep targets are written."""
    places: int = Field(1024, ge=1)
    """How many places of a row have a learned position each; what stands beyond them shares the last one."""
    dropout: float = Field(0.2, ge=0, lt=1)
    """Chance of a feature to be left out in training."""

    def describe(self) -> str:
        """Name the way of control."""
        return f"control {self.control}"


class RecurrentSection(ModelSection):
    """Shape an LSTM encoder-decoder; the defaults are those of the code that the paper builds LenInit on."""

    architecture: Literal["recurrent"] = "recurrent"
    control: Literal["none", "leninit", "lenemb"] = "none"
    """How the decoder is told the budget: not, by its first cells, or at each step by what remains."""
    width: int = Field(512, ge=2, multiple_of=2)
    """Features of a decoder's cell, and of both directions of the encoder together."""
    embedding: int = Field(512, ge=1)
    """Features of an embedded token, and of an embedded remaining budget."""
    layers: int = Field(2, ge=1)
    """How many LSTMs lie on one another, in the encoder and in the decoder, which takes over its states."""
    longest: int = Field(0, ge=0)
    """Greatest remaining budget lenemb has an embedding for, shared by all above; 0 is that of training."""
    dropout: float = Field(0.3, ge=0, lt=1)
    """Chance of a feature to be left out in training, between layers but not between steps."""

    def settled(self, budgets: NDArray[np.integer[Any]]) -> Self:
        """Embed all remaining budgets there are in training, unless the recipe says otherwise."""
        if self.control != "lenemb" or self.longest:
            return self
        return self.model_copy(update={"longest": int(budgets.max())})

    def describe(self) -> str:
        """Name the way of control."""
        return f"control {self.control}"


class Architecture(NamedTuple):
    """Name the section of an architecture, and where its model is: `module:class`, imported when built."""

    section: type[ModelSection]
    home: str


ARCHITECTURES = {
    "transformer": Architecture(TransformerSection, "copyfit.models.transformer:Transformer"),
    "length-bins": Architecture(LengthBinsSection, "copyfit.models.bins:LengthBins"),
    "convolutional": Architecture(ConvolutionalSection, "copyfit.models.conv:Convolutional"),
    "recurrent": Architecture(RecurrentSection, "copyfit.models.lstm:Recurrent"),
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
