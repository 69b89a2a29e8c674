"""What a recipe says of the model."""

from typing import Literal, Self

from pydantic import Field, model_validator

from copyfit.config import Section


class TransformerSection(Section):
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


ModelSection = TransformerSection
"""Any architecture's section."""
