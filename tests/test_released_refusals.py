"""What an import refuses: what would act, what is damaged, what cannot be honoured."""

import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from copyfit.errors import CheckpointError
from support_imports import LRPE_PE, files
from support_released import (
    WIDTH,
    Weights,
    content_of,
    fairseq_meters,
)


class Trap:
    """Leave a mark when unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.mark),)


PLACES: dict[str, Callable[[dict[str, Any], Trap], object]] = {
    "in the args": lambda content, trap: setattr(content["args"], "data", trap),
    "in a list of the args": lambda content, trap: setattr(content["args"], "lr", [0.1, trap]),
    "as the args": lambda content, trap: content.update(args=trap),
    "among the weights": lambda content, trap: content["model"].update(more=trap),
    "beside everything": lambda content, trap: content.update(more=trap),
    "beside the meters": lambda content, trap: content["extra_state"].update(more=trap),
}


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("place", PLACES)
def test_what_would_act_is_refused_and_never_run(tmp_path: Path, place: str, zipped: bool) -> None:
    content = content_of(LRPE_PE)
    PLACES[place](content, Trap(tmp_path / "mark"))
    made = files(tmp_path, LRPE_PE, content, zipped=zipped)
    assert (
        "must hold plain values and weights only, it asks for posix.mkdir: nothing was run" in made.refused()
    )
    assert not (tmp_path / "mark").exists()


def test_the_trap_would_have_acted(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Trap(tmp_path / "mark")))  # noqa: S301
    assert (tmp_path / "mark").exists()


@pytest.mark.parametrize("protocol", range(6))
def test_a_bare_pickle_is_refused_and_never_run(tmp_path: Path, protocol: int) -> None:
    made = files(tmp_path)
    made.released.checkpoint.write_bytes(pickle.dumps(Trap(tmp_path / "mark"), protocol))
    assert "checkpoint_best.pt must" in made.refused()
    assert not (tmp_path / "mark").exists()


def test_other_classes_of_fairseq_are_refused(tmp_path: Path) -> None:
    content = content_of(LRPE_PE)
    made = files(tmp_path)
    with fairseq_meters() as classes:
        torch.save(content | {"more": classes["Unheard"]()}, made.released.checkpoint)
    assert "it asks for fairseq.meters.Unheard: nothing was run" in made.refused()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1, 2], "must be a table with args and model, it is of the type list"),
        ({"model": {}}, "args must be an argparse.Namespace, it is not there"),
        ({"args": {"arch": "transformer"}, "model": {}}, "it is of the type dict"),
        ({"args": content_of(LRPE_PE)["args"], "model": 3}, "model must be a table of weights"),
        ({"args": content_of(LRPE_PE)["args"], "model": {"a": 3}}, "by name, 'a' is none"),
        ({"args": content_of(LRPE_PE)["args"], "model": {4: torch.zeros(1)}}, "by name, 4 is none"),
        (
            {"args": content_of(LRPE_PE)["args"], "model": {"a": torch.ones(2, dtype=torch.long)}},
            "dense tensors of floats by name, 'a' is none",
        ),
        (
            {"args": content_of(LRPE_PE)["args"], "model": {"a": torch.ones(2, 2).to_sparse()}},
            "dense tensors of floats by name, 'a' is none",
        ),
    ],
)
def test_files_of_other_programs_are_refused(tmp_path: Path, content: object, message: str) -> None:
    made = files(tmp_path)
    torch.save(content, made.released.checkpoint)
    assert message in made.refused()


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    made = files(tmp_path)
    made.released.checkpoint.unlink()
    assert "checkpoint_best.pt: No such file or directory" in made.refused()


@pytest.mark.parametrize("zipped", [True, False])
def test_a_file_cut_off_anywhere_is_refused(tmp_path: Path, zipped: bool) -> None:
    made = files(tmp_path, zipped=zipped)
    content = made.released.checkpoint.read_bytes()
    for length in sorted({0, 1, 2, 40, len(content) - 1, *range(0, len(content), len(content) // 25)}):
        made.released.checkpoint.write_bytes(content[:length])
        assert "checkpoint_best.pt" in made.refused()


@pytest.mark.parametrize("zipped", [True, False])
def test_a_file_with_flipped_bits_is_read_or_refused(tmp_path: Path, zipped: bool) -> None:
    made = files(tmp_path, zipped=zipped)
    content = made.released.checkpoint.read_bytes()
    draw = random.Random(7)
    refused = 0
    for _ in range(60):
        flipped = bytearray(content)
        flipped[draw.randrange(4000)] ^= 1 << draw.randrange(8)
        made.released.checkpoint.write_bytes(flipped)
        try:
            made.imported()
        except CheckpointError:
            refused += 1
    assert refused > 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arch": "lstm"}, "arch: String should match pattern '^transformer', given 'lstm'"),
        ({"encoder_learned_pos": True}, "encoder_learned_pos: Input should be False, given True"),
        ({"decoder_learned_pos": True}, "decoder_learned_pos: Input should be False, given True"),
        ({"adaptive_softmax_cutoff": "1000,5000"}, "adaptive_softmax_cutoff: Input should be None"),
        ({"no_token_positional_embeddings": True}, "no_token_positional_embeddings: Input should be False"),
        ({"no_scale_embedding": True}, "no_scale_embedding: Input should be False"),
        ({"activation_fn": "gelu"}, "activation_fn: Input should be 'relu', given 'gelu'"),
        (
            {"decoder_attention_heads": 2},
            "encoder_attention_heads and decoder_attention_heads must be equal, given 3 and 2",
        ),
        ({"decoder_embed_dim": 24}, "encoder_embed_dim and decoder_embed_dim must be equal"),
        ({"decoder_input_dim": 6}, "decoder_embed_dim and decoder_input_dim must be equal"),
        ({"decoder_output_dim": 6}, "decoder_embed_dim and decoder_output_dim must be equal"),
        ({"decoder_ffn_embed_dim": 21}, "encoder_ffn_embed_dim and decoder_ffn_embed_dim must be equal"),
        ({"decoder_normalize_before": True}, "decoder_normalize_before must be equal, given False and True"),
        ({"encoder_attention_heads": 5, "decoder_attention_heads": 5}, "width must be a multiple of heads"),
        ({"encoder_layers": "many"}, "encoder_layers: Input should be a valid integer"),
        ({"encoder_layers": 0}, "encoder_layers: Input should be greater than or equal to 1"),
        ({"ordinary_sinpos": False, "represent_length_by_lrpe": False}, "given none of them"),
        ({"represent_length_by_ldpe": True}, "given lrpe+ldpe+pe"),
    ],
)
def test_what_cannot_be_honoured_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    refused = files(tmp_path, LRPE_PE, content_of(LRPE_PE, **change)).refused()
    assert refused.startswith(f"{tmp_path / 'checkpoint_best.pt'}: args: ")
    assert message in refused


def without(name: str) -> Weights:
    return {key: weight for key, weight in LRPE_PE.weights().items() if key != name}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            without("decoder.layers.1.encoder_attn.in_proj_weight"),
            "must hold decoder.layers.1.encoder_attn.in_proj_weight, which is missing",
        ),
        (
            without("encoder.layers.0.layer_norms.1.bias"),
            "must hold encoder.layers.0.layer_norms.1.bias or encoder.layers.0.final_layer_norm.bias, which",
        ),
        (without("encoder.embed_tokens.weight"), "must hold encoder.embed_tokens.weight, which is missing"),
        (
            {**LRPE_PE.weights(), "decoder.layers.0.self_attn.bias_k": np.ones(3, np.float32)},
            "plain Transformer only, it holds decoder.layers.0.self_attn.bias_k",
        ),
        (
            {**LRPE_PE.weights(), **{f"more{number}": np.ones(1, np.float32) for number in range(7)}},
            "it holds more0, more1, more2, more3, more4 and 2 more",
        ),
        (
            {**LRPE_PE.weights(), "encoder.layers.0.fc1.weight": np.ones((3, 4), np.float32)},
            "encoder.layers.0.fc1.weight must have the shape (20, 12), it has (3, 4)",
        ),
        (
            {**LRPE_PE.weights(), "encoder.embed_tokens.weight": np.ones((9, WIDTH), np.float32)},
            "must have a row for each of the 28 tokens of the source dictionary and fairseq, it has 9",
        ),
        (
            {**LRPE_PE.weights(), "decoder.embed_tokens.weight": np.ones((28, 3), np.float32)},
            "decoder.embed_tokens.weight must have the shape (28, 12), it has (28, 3)",
        ),
        (
            {**LRPE_PE.weights(), "encoder.layers.0.fc1.bias": np.full(20, np.nan, np.float32)},
            "weights must be finite numbers, encoder.0.feed_forward.inner.bias is not",
        ),
    ],
)
def test_wrong_weights_are_named(tmp_path: Path, weights: Weights, message: str) -> None:
    assert message in files(tmp_path, LRPE_PE, content_of(LRPE_PE, weights)).refused()


def test_layers_that_args_do_not_tell_are_named(tmp_path: Path) -> None:
    content = content_of(LRPE_PE, decoder_layers=2)
    refused = files(tmp_path, LRPE_PE, content).refused()
    assert "it holds decoder.layers.2.encoder_attn.in_proj_bias, " in refused
    assert refused.endswith(" more")
