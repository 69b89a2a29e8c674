"""Give weights the names and shapes that copyfit's Transformer has for them."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from copyfit.errors import CheckpointError
from copyfit.models.config import TransformerSection
from copyfit.released.vocabularies import Rows

_NO_WEIGHT = re.compile(r"(en|de)coder\.(version|embed_positions\w*\.(_float_tensor|weights))")
"""Numbers of versions, and traces of sinusoids."""
_KINDS = ("weight", "bias")
_TOLD = 5
"""How many unknown weights are named."""

Weights = dict[str, Tensor]


class Tables(NamedTuple):
    """Say how many rows the file's tables must have, and which of them to keep for what."""

    source_size: int
    target_size: int
    source: Rows
    read: Rows
    written: Rows
    shares_output: bool


class _Given:
    """Hand out the weights of a file, each once and in the shape that is expected."""

    def __init__(self, weights: Mapping[str, Tensor], width: int, where: str) -> None:
        self._left = {name: weight for name, weight in weights.items() if not _NO_WEIGHT.fullmatch(name)}
        self._where = where
        self.width = width

    def take(self, shape: tuple[int, ...], *names: str) -> Tensor:
        """Return the weight that has one of these names, newer versions of fairseq having another."""
        name = next((name for name in names if name in self._left), None)
        if name is None:
            raise CheckpointError(f"{self._where} must hold {' or '.join(names)}, which is missing")
        weight = self._left.pop(name)
        if weight.shape != shape:
            raise CheckpointError(
                f"{self._where}: {name} must have the shape {shape}, it has {tuple(weight.shape)}"
            )
        return weight.detach().float()

    def table(self, side: str, rows: int, name: str) -> Tensor:
        """Return a table that has a row for each token of a dictionary."""
        weight = self._left.get(name)
        if weight is not None and weight.ndim == 2 and weight.shape[0] != rows:
            raise CheckpointError(
                f"{self._where}: {name} must have a row for each of the {rows} tokens of the {side} "
                f"dictionary and fairseq, it has {weight.shape[0]}; give the dictionary of this checkpoint"
            )
        return self.take((rows, self.width), name)

    def linear(self, ours: str, theirs: str, outputs: int, inputs: int) -> Weights:
        """Return the weight and bias of a linear map under its new name."""
        return {
            f"{ours}.weight": self.take((outputs, inputs), f"{theirs}.weight"),
            f"{ours}.bias": self.take((outputs,), f"{theirs}.bias"),
        }

    def norm(self, ours: str, *theirs: str) -> Weights:
        """Return what scales and shifts normalised features."""
        return {
            f"{ours}.{kind}": self.take((self.width,), *(f"{name}.{kind}" for name in theirs))
            for kind in _KINDS
        }

    def projections(self, attention: str, kind: str) -> Tensor:
        """Return weights or biases of query, key and value, one below the other, fused or not in the file."""
        inputs = (self.width,) if kind == "weight" else ()
        parts = [f"{attention}.{part}_proj.{kind}" for part in "qkv"]
        if parts[0] in self._left:
            return torch.cat([self.take((self.width, *inputs), part) for part in parts])
        return self.take((3 * self.width, *inputs), f"{attention}.in_proj_{kind}")

    def close(self) -> None:
        """Refuse weights that nobody took."""
        if self._left:
            names = sorted(self._left)
            more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
            raise CheckpointError(
                f"{self._where} must hold weights of a plain Transformer only, "
                f"it holds {', '.join(names[:_TOLD])}{more}"
            )


def convert_weights(
    weights: Mapping[str, Tensor], section: TransformerSection, tables: Tables, *, where: str
) -> dict[str, NDArray[np.float32]]:
    """Return the weights of copyfit's model; name a weight that is missing, unknown or of another shape."""
    given = _Given(weights, section.width, where)
    converted = _tables(given, tables)
    for layer in range(section.encoder_layers):
        converted |= _encoder_layer(given, section, layer)
    for layer in range(section.decoder_layers):
        converted |= _decoder_layer(given, section, layer)
    for kind in _KINDS:
        converted |= _source_attention(given, section, kind)
    if section.norm == "pre":
        for side in ("encoder", "decoder"):
            converted |= given.norm(f"{side}_norm", f"{side}.layer_norm")
    given.close()
    return {name: weight.numpy() for name, weight in converted.items()}


def _tables(given: _Given, tables: Tables) -> Weights:
    source = given.table("source", tables.source_size, "encoder.embed_tokens.weight")
    target = given.table("target", tables.target_size, "decoder.embed_tokens.weight")
    shared = tables.shares_output
    output = target if shared else given.table("target", tables.target_size, "decoder.embed_out")
    return {
        "source_table.weight": source[list(tables.source)],
        "target_table.weight": target[list(tables.read)],
        "output.weight": output[list(tables.written)],
    }


def _encoder_layer(given: _Given, section: TransformerSection, layer: int) -> Weights:
    ours, theirs = f"encoder.{layer}", f"encoder.layers.{layer}"
    return {
        **_both_sides(given, section, ours, theirs),
        **given.norm(f"{ours}.residuals.0.norm", f"{theirs}.layer_norms.0", f"{theirs}.self_attn_layer_norm"),
        **given.norm(f"{ours}.residuals.1.norm", f"{theirs}.layer_norms.1", f"{theirs}.final_layer_norm"),
    }


def _decoder_layer(given: _Given, section: TransformerSection, layer: int) -> Weights:
    ours, theirs = f"decoder.{layer}", f"decoder.layers.{layer}"
    width = section.width
    converted = _both_sides(given, section, ours, theirs)
    converted |= given.linear(
        f"{ours}.source_attention.outputs", f"{theirs}.encoder_attn.out_proj", width, width
    )
    for number, name in enumerate(("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm")):
        converted |= given.norm(
            f"{ours}.residuals.{number}.norm", f"{theirs}.{name}", f"{theirs}.layer_norms.{number}"
        )
    return converted


def _both_sides(given: _Given, section: TransformerSection, ours: str, theirs: str) -> Weights:
    width, inner, attention = section.width, section.inner, f"{theirs}.self_attn"
    return {
        **{f"{ours}.attention.inputs.{kind}": given.projections(attention, kind) for kind in _KINDS},
        **given.linear(f"{ours}.attention.outputs", f"{attention}.out_proj", width, width),
        **given.linear(f"{ours}.feed_forward.inner", f"{theirs}.fc1", inner, width),
        **given.linear(f"{ours}.feed_forward.outer", f"{theirs}.fc2", width, inner),
    }


def _source_attention(given: _Given, section: TransformerSection, kind: str) -> Weights:
    """Part the queries of the decoder from its keys and values, which copyfit has for all layers in one."""
    names = [f"decoder.layers.{layer}.encoder_attn" for layer in range(section.decoder_layers)]
    joined = [given.projections(name, kind) for name in names]
    queries = {
        f"decoder.{layer}.source_attention.inputs.{kind}": part[: section.width]
        for layer, part in enumerate(joined)
    }
    return {**queries, f"source_keys.{kind}": torch.cat([part[section.width :] for part in joined])}
