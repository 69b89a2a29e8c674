"""Write checkpoints as the paper's released code does, and compute in plain numpy what it computes."""

import argparse
import sys
import types
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = dict[str, NDArray[np.float32]]

PAD, EOS, UNK = 1, 2, 3
"""Behind a symbol that is a heritage of Lua."""
WIDTH, HEADS, INNER, ENCODER_LAYERS, DECODER_LAYERS = 12, 3, 20, 2, 3

SOURCE_TOKENS = ("storm", "harbour", "the", "sch@@", "ool", "clos@@", "es", "a@@", "b", ",", "@@@")
"""Words, pieces of words, and one that looks like a mark of a space."""
TARGET_TOKENS = (
    "e",
    "@@@@",
    "t",
    "a",
    "o",
    "the",
    "é",
    "n",
    "!",
    "\u0301",
    "東",
    "\u2126",
    "s@@",
    "madeupword0000",
)
"""Among them an accent that joins a letter, an Ohm sign that NFC replaces, and pieces of sources."""
KEPT = ("e", " ", "t", "a", "o", "é", "n", "!", "東")
"""What of it can be written."""


@dataclass(frozen=True)
class Kind:
    """Say what kind of model there is to be."""

    lrpe: bool = False
    ldpe: bool = False
    pe: bool = False
    pre_norm: bool = False
    share: str = "none"
    """`none`, `decoder` or `all`."""

    @property
    def source_tokens(self) -> tuple[str, ...]:
        return joined() if self.share == "all" else SOURCE_TOKENS

    @property
    def target_tokens(self) -> tuple[str, ...]:
        return joined() if self.share == "all" else TARGET_TOKENS

    def arguments(self, **changes: Any) -> dict[str, Any]:
        return {
            "arch": "transformer_wmt_en_de",
            "task": "translation",
            "data": ["data-bin/news"],
            "lr": [0.001],
            "adam_betas": "(0.9, 0.98)",
            "dropout": 0.3,
            "attention_dropout": 0.1,
            "adaptive_softmax_cutoff": None,
            "encoder_embed_path": None,
            "encoder_embed_dim": WIDTH,
            "encoder_ffn_embed_dim": INNER,
            "encoder_layers": ENCODER_LAYERS,
            "encoder_attention_heads": HEADS,
            "encoder_normalize_before": self.pre_norm,
            "encoder_learned_pos": False,
            "decoder_embed_path": None,
            "decoder_embed_dim": WIDTH,
            "decoder_input_dim": WIDTH,
            "decoder_output_dim": WIDTH,
            "decoder_ffn_embed_dim": INNER,
            "decoder_layers": DECODER_LAYERS,
            "decoder_attention_heads": HEADS,
            "decoder_normalize_before": self.pre_norm,
            "decoder_learned_pos": False,
            "no_token_positional_embeddings": False,
            "share_all_embeddings": self.share == "all",
            "share_decoder_input_output_embed": self.share == "decoder",
            "represent_length_by_lrpe": self.lrpe,
            "represent_length_by_ldpe": self.ldpe,
            "ordinary_sinpos": self.pe,
            "max_source_positions": 1024,
            "max_target_positions": 1024,
            "left_pad_source": "True",
            "left_pad_target": "False",
            "seed": 2723,
        } | changes

    def weights(self, seed: int = 0) -> Weights:
        """Draw weights, large enough that every one of them matters."""
        random = np.random.default_rng(seed)
        weights: Weights = {
            name: (random.standard_normal(shape) * (0.4 if len(shape) > 1 else 0.2)).astype(np.float32)
            for name, shape in self._shapes()
        }
        for name in weights:
            if "norm" in name and name.endswith("weight"):
                weights[name] += 1
        if self.share == "all":
            weights["decoder.embed_tokens.weight"] = weights["encoder.embed_tokens.weight"]
        return weights | self._buffers()

    def _shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        yield "encoder.embed_tokens.weight", (4 + len(self.source_tokens), WIDTH)
        yield "decoder.embed_tokens.weight", (4 + len(self.target_tokens), WIDTH)
        for layer in range(ENCODER_LAYERS):
            name = f"encoder.layers.{layer}"
            yield from _attention(f"{name}.self_attn")
            yield from _feed_forward(name)
            for norm in ("layer_norms.0", "layer_norms.1"):
                yield from _norm(f"{name}.{norm}")
        for layer in range(DECODER_LAYERS):
            name = f"decoder.layers.{layer}"
            yield from _attention(f"{name}.self_attn")
            yield from _attention(f"{name}.encoder_attn")
            yield from _feed_forward(name)
            for norm in ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"):
                yield from _norm(f"{name}.{norm}")
        if self.share == "none":
            yield "decoder.embed_out", (4 + len(self.target_tokens), WIDTH)
        if self.pre_norm:
            yield from _norm("encoder.layer_norm")
            yield from _norm("decoder.layer_norm")

    def _buffers(self) -> Weights:
        told = {"original": self.pe, "lrpe": self.lrpe, "ldpe": self.ldpe}
        decoder = [f"decoder.embed_positions_{name}" for name, is_there in told.items() if is_there]
        traces = {f"{name}._float_tensor": np.zeros(1) for name in ["encoder.embed_positions", *decoder]}
        versions = {f"{side}.version": np.array([2.0]) for side in ("encoder", "decoder")}
        return {name: value.astype(np.float32) for name, value in (traces | versions).items()}


def joined() -> tuple[str, ...]:
    """Return the tokens of both sides as one dictionary."""
    return tuple(dict.fromkeys([*TARGET_TOKENS, *SOURCE_TOKENS]))


def _attention(name: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.in_proj_weight", (3 * WIDTH, WIDTH)
    yield f"{name}.in_proj_bias", (3 * WIDTH,)
    yield f"{name}.out_proj.weight", (WIDTH, WIDTH)
    yield f"{name}.out_proj.bias", (WIDTH,)


def _feed_forward(name: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.fc1.weight", (INNER, WIDTH)
    yield f"{name}.fc1.bias", (INNER,)
    yield f"{name}.fc2.weight", (WIDTH, INNER)
    yield f"{name}.fc2.bias", (WIDTH,)


def _norm(name: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    yield f"{name}.weight", (WIDTH,)
    yield f"{name}.bias", (WIDTH,)


@contextmanager
def fairseq_meters() -> Iterator[dict[str, Any]]:
    """Lend meters whose pickles name fairseq's classes; afterwards no such module is there."""
    package, module = types.ModuleType("fairseq"), types.ModuleType("fairseq.meters")
    for name in ("AverageMeter", "TimeMeter", "StopwatchMeter", "Unheard"):
        setattr(module, name, type(name, (), {"__module__": "fairseq.meters"}))
    modules = {"fairseq": package, "fairseq.meters": module}
    sys.modules.update(modules)
    try:
        yield vars(module)
    finally:
        for name in modules:
            del sys.modules[name]


def content_of(kind: Kind, weights: Weights | None = None, **changes: Any) -> dict[str, Any]:
    """Return what a checkpoint holds, its meters left out."""
    tensors = {name: torch.tensor(value) for name, value in (weights or kind.weights()).items()}
    return {
        "args": argparse.Namespace(**kind.arguments(**changes)),
        "model": OrderedDict(tensors),
        "optimizer_history": [{"optimizer_name": "FairseqAdam", "num_updates": 7, "lr_scheduler_state": {}}],
        "last_optimizer_state": {"state": {0: {"step": 7, "exp_avg": torch.zeros(3)}}, "param_groups": []},
        "extra_state": {"best": 1.25, "val_loss": 1.25, "train_iterator": {"epoch": 3}},
    }


def save(path: Path, content: dict[str, Any], *, zipped: bool = True) -> Path:
    """Write a file with the meters of a training, as PyTorch does now or as it did in 2018."""
    with fairseq_meters() as classes:
        meters: OrderedDict[str, Any] = OrderedDict()
        for name in ("AverageMeter", "TimeMeter", "StopwatchMeter"):
            meters[name] = classes[name]()
            meters[name].__dict__.update(avg=2.5, sum=torch.ones(1), count=4)
        whole = content | {"extra_state": content["extra_state"] | {"train_meters": meters}}
        torch.save(whole, path, _use_new_zipfile_serialization=zipped)
    return path


def write_dictionary(path: Path, tokens: Sequence[str]) -> Path:
    """Write tokens with falling counts, as `dict.article.txt` has them."""
    lines = [f"{token} {1000 - place}\n" for place, token in enumerate(tokens)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def row_of_piece(tokens: Sequence[str], piece: str) -> int:
    """Return the row of the token that stands for a character."""
    return row_of(tokens, "@@@@" if piece == " " else piece)


def row_of(tokens: Sequence[str], token: str) -> int:
    """Return the row that fairseq gives a token."""
    return 4 + tokens.index(token) if token in tokens else UNK


def released_logits(
    kind: Kind, weights: Mapping[str, NDArray[Any]], source: Sequence[int], fed: Sequence[int], *, length: int
) -> Array:
    """Compute the logits behind every fed token: EOS first, `length` characters being asked for.

    `source` ends in EOS. Everything is looked up in tables, row by row, as the released code does.
    """
    model = _Oracle(kind, {name: value.astype(np.float64) for name, value in weights.items()})
    return model.decode(model.encode(source), fed, length + 1)


class _Oracle:
    def __init__(self, kind: Kind, weights: Mapping[str, Array]) -> None:
        self.kind = kind
        self.weights = weights

    def encode(self, source: Sequence[int]) -> Array:
        tokens: Array = self.weights["encoder.embed_tokens.weight"][list(source)] * np.sqrt(WIDTH)
        tokens = tokens + _table(len(source) + 2, 10000.0)[2:]
        for layer in range(ENCODER_LAYERS):
            name = f"encoder.layers.{layer}"
            tokens = self.residual(
                f"{name}.layer_norms.0",
                tokens,
                lambda given, name=name: self.attend(f"{name}.self_attn", given, given),
            )
            tokens = self.residual(
                f"{name}.layer_norms.1", tokens, lambda given, name=name: self.feed_forward(name, given)
            )
        return self.norm("encoder.layer_norm", tokens) if self.kind.pre_norm else tokens

    def decode(self, encoded: Array, fed: Sequence[int], length: int) -> Array:
        tokens = self.weights["decoder.embed_tokens.weight"][list(fed)] * np.sqrt(WIDTH)
        tokens = tokens + self.positions(len(fed), length)
        for layer in range(DECODER_LAYERS):
            name = f"decoder.layers.{layer}"
            tokens = self.residual(
                f"{name}.self_attn_layer_norm",
                tokens,
                lambda given, name=name: self.attend(f"{name}.self_attn", given, given, causal=True),
            )
            tokens = self.residual(
                f"{name}.encoder_attn_layer_norm",
                tokens,
                lambda given, name=name: self.attend(f"{name}.encoder_attn", given, encoded),
            )
            tokens = self.residual(
                f"{name}.final_layer_norm", tokens, lambda given, name=name: self.feed_forward(name, given)
            )
        if self.kind.pre_norm:
            tokens = self.norm("decoder.layer_norm", tokens)
        table = "decoder.embed_out" if self.kind.share == "none" else "decoder.embed_tokens.weight"
        return np.asarray(tokens @ self.weights[table].T)

    def positions(self, steps: int, length: int) -> Array:
        """Add the encodings up; `length` counts the end, and places begin at 2, behind the padding's."""
        places = 2 + np.arange(steps)
        total = np.zeros((steps, WIDTH))
        if self.kind.pe:
            total += _table(steps + 2, 10000.0)[places]
        if self.kind.lrpe:
            total += _table(steps + 2, float(length))[places]
        if self.kind.ldpe:
            left = length + 3 - places
            assert left.min() >= 0, "there the released code fails"
            total += _table(length + 3, 10000.0)[left]
        return total

    def residual(self, norm: str, tokens: Array, branch: Any) -> Array:
        if self.kind.pre_norm:
            return np.asarray(tokens + branch(self.norm(norm, tokens)))
        return self.norm(norm, tokens + branch(tokens))

    def norm(self, name: str, tokens: Array) -> Array:
        centred = tokens - tokens.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return np.asarray(scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"])

    def linear(self, name: str, tokens: Array) -> Array:
        return np.asarray(tokens @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"])

    def feed_forward(self, name: str, tokens: Array) -> Array:
        return self.linear(f"{name}.fc2", np.maximum(self.linear(f"{name}.fc1", tokens), 0))

    def attend(self, name: str, queries: Array, keys: Array, *, causal: bool = False) -> Array:
        weight, bias = self.weights[f"{name}.in_proj_weight"], self.weights[f"{name}.in_proj_bias"]
        query = queries @ weight[:WIDTH].T + bias[:WIDTH]
        key = keys @ weight[WIDTH : 2 * WIDTH].T + bias[WIDTH : 2 * WIDTH]
        value = keys @ weight[2 * WIDTH :].T + bias[2 * WIDTH :]
        heads = []
        for columns in np.split(np.arange(WIDTH), HEADS):
            scores = (query[:, columns] / np.sqrt(WIDTH / HEADS)) @ key[:, columns].T
            if causal:
                scores = np.where(np.tri(len(scores), dtype=bool), scores, -np.inf)
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            heads.append(shares / shares.sum(-1, keepdims=True) @ value[:, columns])
        return self.linear(f"{name}.out_proj", np.concatenate(heads, axis=-1))


def _table(rows: int, base: float) -> Array:
    """Work out a table of sinusoids whose row for the padding is empty."""
    half = WIDTH // 2
    frequencies = np.array([base ** -(place / (half - 1)) for place in range(half)])
    angles = np.arange(rows)[:, None] * frequencies
    table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    table[PAD] = 0
    return table
