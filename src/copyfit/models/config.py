"""What a recipe says of the model."""

from typing import Literal, Self

from pydantic import Field, model_validator

from copyfit.config import Section


class TransformerSection(Section):
    """Shape an encoder-decoder Transformer; the defaults are the paper's base size."""

    architecture: Literal["transformer"] = "transformer"
    positions: Literal["pe", "ldpe", "ldpe+pe", "lrpe", "lrpe+pe", "pre", "pre+pe"] = "ldpe+pe"
    layout: Literal["paper", "released"] = "paper"
    norm: Literal["pre", "post"] = "pre"
    width: int = Field(512, ge=4, multiple_of=2)
    heads: int = Field(8, ge=1)
    inner: int = Field(2048, ge=1)
    encoder_layers: int = Field(6, ge=1)
    decoder_layers: int = Field(6, ge=1)
    dropout: float = Field(0.1, ge=0, lt=1)
    tied: bool = True
    """Whether the table that embeds target tokens is also the one that scores them."""

    @model_validator(mode="after")
    def _heads_divide_the_width(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads, given {self.width} and {self.heads}")
        return self


ModelSection = TransformerSection
"""Any architecture's section."""
