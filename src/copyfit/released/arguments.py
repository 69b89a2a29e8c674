"""What the file's training command says of the model, and what of it can be honoured."""

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from copyfit.config import Section, check
from copyfit.errors import ConfigError
from copyfit.models.config import TransformerSection


class Arguments(Section):
    """Hold the arguments that decide what a model computes, by fairseq's names and with its defaults.

    A literal is the only value that copyfit's Transformer has.
    """

    arch: str = Field(pattern="^transformer")
    represent_length_by_lrpe: bool = False
    represent_length_by_ldpe: bool = False
    ordinary_sinpos: bool = False
    encoder_embed_dim: int = 512
    decoder_embed_dim: int = 512
    decoder_input_dim: int = 512
    decoder_output_dim: int = 512
    encoder_ffn_embed_dim: int = 2048
    decoder_ffn_embed_dim: int = 2048
    encoder_attention_heads: int = 8
    decoder_attention_heads: int = 8
    encoder_normalize_before: bool = False
    decoder_normalize_before: bool = False
    encoder_layers: int = 6
    decoder_layers: int = 6
    dropout: float = 0.1
    share_all_embeddings: bool = False
    share_decoder_input_output_embed: bool = False
    max_source_positions: int = Field(1024, ge=1)
    encoder_learned_pos: Literal[False] = False
    decoder_learned_pos: Literal[False] = False
    no_token_positional_embeddings: Literal[False] = False
    no_scale_embedding: Literal[False] = False
    adaptive_softmax_cutoff: None = None
    activation_fn: Literal["relu"] = "relu"

    @model_validator(mode="after")
    def _one_shape_for_both_sides(self) -> Self:
        for one, other in (
            ("encoder_embed_dim", "decoder_embed_dim"),
            ("decoder_embed_dim", "decoder_input_dim"),
            ("decoder_embed_dim", "decoder_output_dim"),
            ("encoder_ffn_embed_dim", "decoder_ffn_embed_dim"),
            ("encoder_attention_heads", "decoder_attention_heads"),
            ("encoder_normalize_before", "decoder_normalize_before"),
        ):
            given = getattr(self, one), getattr(self, other)
            if given[0] != given[1]:
                raise ConfigError(f"{one} and {other} must be equal, given {given[0]} and {given[1]}")
        return self

    @model_validator(mode="after")
    def _positions_of_some_kind(self) -> Self:
        if self.positions not in {"lrpe", "ldpe", "pe", "lrpe+pe", "ldpe+pe"}:
            raise ConfigError(
                "at most one of represent_length_by_lrpe and represent_length_by_ldpe must be set, and with "
                f"neither ordinary_sinpos; given {self.positions or 'none of them'}"
            )
        return self

    @property
    def positions(self) -> str:
        """Return the name of the sum that is added to the decoder's input."""
        told = {
            "lrpe": self.represent_length_by_lrpe,
            "ldpe": self.represent_length_by_ldpe,
            "pe": self.ordinary_sinpos,
        }
        return "+".join(name for name, is_added in told.items() if is_added)

    @property
    def shares_output(self) -> bool:
        """Tell whether the table that reads target tokens also scores them."""
        return self.share_all_embeddings or self.share_decoder_input_output_embed


def read_arguments(values: Mapping[str, object], *, where: str) -> Arguments:
    """Pick out what decides what the model computes; name the first argument that cannot be honoured."""
    known = {name: values[name] for name in Arguments.model_fields if name in values}
    return check(known, Arguments, where=where)


def section_of(arguments: Arguments, *, where: str) -> TransformerSection:
    """Return the section of the same model.

    Its tables are never tied: START is read as what ends a text, but scored as a token that is never written.
    """
    return check(
        {
            "positions": arguments.positions,
            "layout": "released",
            "norm": "pre" if arguments.encoder_normalize_before else "post",
            "width": arguments.encoder_embed_dim,
            "heads": arguments.encoder_attention_heads,
            "inner": arguments.encoder_ffn_embed_dim,
            "encoder_layers": arguments.encoder_layers,
            "decoder_layers": arguments.decoder_layers,
            "dropout": arguments.dropout,
            "tied": False,
        },
        TransformerSection,
        where=where,
    )
