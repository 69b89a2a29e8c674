"""The paper's model as CTranslate2 runs it: the competitor to beat on a CPU."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import torch
from ctranslate2.specs import TransformerSpec
from torch import nn

from benchmarks.peers.positions import source_positions, target_positions
from copyfit.models.transformer import Transformer

SPECIAL = ("<blank>", "<s>", "</s>", "<unk>")
"""The first names of a vocabulary; our third and later tokens have names that end in their numbers."""


def convert(model: Transformer, folder: Path, *, length: int) -> None:
    """Write a Transformer as a CTranslate2 model whose position table is baked for one length."""
    shape = model.section
    spec = TransformerSpec.from_config(
        (shape.encoder_layers, shape.decoder_layers), shape.heads, pre_norm=shape.norm == "pre"
    )
    _encoder(spec.encoder, model)
    _decoder(spec.decoder, model, length=length)
    spec.register_source_vocabulary(names(range(model.source_table.num_embeddings)))
    spec.register_target_vocabulary(names(range(model.target_table.num_embeddings)))
    spec.validate()
    spec.optimize()
    folder.mkdir(parents=True)
    spec.save(str(folder))


def names(tokens: Iterable[int]) -> list[str]:
    """Name tokens as the converted model does."""
    return [SPECIAL[token] if token < len(SPECIAL) else f"t{token}" for token in tokens]


def scores(translator: Any, source: Sequence[int], target: Sequence[int]) -> list[float]:
    """Return the log-probability of every token of a target, and of its end."""
    (result,) = translator.score_batch([names(source)], [names(target)])
    return list(result.log_probs)


def open_translator(folder: Path, threads: int, compute_type: str) -> Any:
    """Open a converted model on the CPU."""
    return ctranslate2.Translator(
        str(folder), device="cpu", intra_threads=threads, inter_threads=1, compute_type=compute_type
    )


def write(
    translator: Any, sources: Sequence[Sequence[int]], *, length: int, num_beams: int
) -> list[list[str]]:
    """Write a headline of `length` characters for every source of one batch."""
    results = translator.translate_batch(
        [names(source) for source in sources],
        beam_size=num_beams,
        max_decoding_length=length + 1,
        min_decoding_length=length,
        max_batch_size=0,
        end_token="</s>",
    )
    return [result.hypotheses[0] for result in results]


def _encoder(spec: Any, model: Transformer) -> None:
    spec.embeddings[0].weight = _array(model.source_table.weight)
    spec.scale_embeddings = True
    spec.position_encodings.encodings = _array(source_positions(model))
    _norm(spec.layer_norm, model.encoder_norm)
    for layer, ours in zip(spec.layer, _layers(model.encoder), strict=True):
        _self_attention(layer.self_attention, ours.attention, ours.residuals[0].norm)
        _feed_forward(layer.ffn, ours.feed_forward, ours.residuals[1].norm)


def _decoder(spec: Any, model: Transformer, *, length: int) -> None:
    section = model.section
    spec.embeddings.weight = _array(model.target_table.weight)
    spec.scale_embeddings = True
    spec.position_encodings.encodings = _array(target_positions(model, length))
    _norm(spec.layer_norm, model.decoder_norm)
    spec.projection.weight = _array(model.output.weight)
    keys = model.source_keys.weight.view(section.decoder_layers, 2 * section.width, section.width)
    biases = model.source_keys.bias.view(section.decoder_layers, 2 * section.width)
    for number, (layer, ours) in enumerate(zip(spec.layer, _layers(model.decoder), strict=True)):
        _self_attention(layer.self_attention, ours.attention, ours.residuals[0].norm)
        _norm(layer.attention.layer_norm, ours.residuals[1].norm)
        _linear(layer.attention.linear[0], ours.source_attention.inputs)
        layer.attention.linear[1].weight = _array(keys[number])
        layer.attention.linear[1].bias = _array(biases[number])
        _linear(layer.attention.linear[2], ours.source_attention.outputs)
        _feed_forward(layer.ffn, ours.feed_forward, ours.residuals[2].norm)


def _self_attention(spec: Any, attention: Any, norm: Any) -> None:
    _norm(spec.layer_norm, norm)
    _linear(spec.linear[0], attention.inputs)
    _linear(spec.linear[1], attention.outputs)


def _feed_forward(spec: Any, feed_forward: Any, norm: Any) -> None:
    _norm(spec.layer_norm, norm)
    _linear(spec.linear_0, feed_forward.inner)
    _linear(spec.linear_1, feed_forward.outer)


def _layers(layers: Any) -> list[Any]:
    return list(layers)


def _linear(spec: Any, module: nn.Linear) -> None:
    spec.weight = _array(module.weight)
    spec.bias = _array(module.bias)


def _norm(spec: Any, module: Any) -> None:
    spec.gamma = _array(module.weight)
    spec.beta = _array(module.bias)


def _array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(tensor.detach().float().numpy())
