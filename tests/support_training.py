"""Random pairs, tiny models and runs of one process for the tests of training."""

import random
import resource
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn

from copyfit.checkpoint import Checkpoint
from copyfit.data.batches import ALONE, BatchPlan, BatchSection, Sharding, fit_shape
from copyfit.data.ragged import Ragged
from copyfit.data.store import EncodedPairs, Manifest, Store
from copyfit.models.build import build_model
from copyfit.models.config import TransformerSection
from copyfit.models.contract import Batch
from copyfit.models.transformer import Transformer
from copyfit.text.tokenizer import SourceSection, SourceTokenizer
from copyfit.text.vocabulary import TargetSection, TargetVocabulary
from copyfit.text.words import WordList
from copyfit.training.feeding import Share
from copyfit.training.processes import Processes
from copyfit.training.recipe import Recipe, TrainingSection

SOURCE_SIZE, TARGET_SIZE = 23, 17


def random_store(pairs: int, *, seed: int = 0) -> Store:
    draw = np.random.default_rng(seed)
    source_lengths, target_lengths = draw.integers(2, 8, pairs), draw.integers(1, 6, pairs)
    sources = Ragged.of(draw.integers(3, SOURCE_SIZE, source_lengths.sum()), source_lengths)
    targets = Ragged.of(draw.integers(3, TARGET_SIZE, target_lengths.sum()), target_lengths)
    costs = np.ones(len(targets.values), np.int64)
    encoded = EncodedPairs(sources, np.arange(pairs), target_lengths, (targets,), (costs,))
    manifest = Manifest(
        unit="char",
        recipe="",
        tokenizers={},
        segmentations=0,
        sources=pairs,
        pairs=pairs,
        source_tokens=len(sources.values),
        target_tokens=len(targets.values),
        longest_source=int(source_lengths.max()),
        longest_target=int(target_lengths.max()),
        natural_length=3,
        dropped={},
        files={},
    )
    return Store(Path(), manifest, encoded)


def random_plan(store: Store, *, sharding: Sharding = ALONE, target_tokens: int = 64) -> BatchPlan:
    shape = fit_shape(BatchSection(target_tokens=target_tokens, source_tokens=0), store)
    return BatchPlan(store, shape, seed=3, sharding=sharding)


def tiny_model(*, dropout: float = 0.0, seed: int = 7) -> Transformer:
    torch.manual_seed(seed)
    model = build_model(tiny_section(dropout), source_size=SOURCE_SIZE, target_size=TARGET_SIZE)
    return cast(Transformer, model)


def tiny_section(dropout: float = 0.0) -> TransformerSection:
    return TransformerSection(
        width=16, heads=2, inner=24, encoder_layers=1, decoder_layers=1, dropout=dropout
    )


def one_process() -> Processes:
    return Processes(Accelerator(cpu=True, mixed_precision="no"))


def settings(**changes: object) -> TrainingSection:
    values = {"steps": 4, "warmup_steps": 2, "clip_norm": 0.0, "label_smoothing": 0.0}
    return TrainingSection.model_validate(values | changes)


NAMES = ["anna", "ben", "carla", "dev", "erik", "fay", "gus", "hana", "ivo", "jun", "kai", "lea"]
DEEDS = ["sells", "buys", "paints", "hides", "finds", "mends", "counts"]
THINGS = ["lamps", "boats", "apples", "hats", "maps", "clocks", "kites"]


def write_pairs(path: Path, pairs: int, *, seed: int) -> None:
    draw = random.Random(seed)
    lines = []
    for day in range(pairs):
        name, deed, thing = draw.choice(NAMES), draw.choice(DEEDS), draw.choice(THINGS)
        ending = f" on day {day}" if draw.random() < 0.5 else ""
        lines.append(
            f"On day {day} {name} of the old town {deed} many {thing}.\t{name} {deed} {thing}{ending}"
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def small_recipe(folder: Path, **training: object) -> Recipe:
    for name, pairs in (("train", 120), ("validation", 12)):
        if not (folder / f"{name}.tsv").exists():
            write_pairs(folder / f"{name}.tsv", pairs, seed=pairs)
    values = {
        "name": "small",
        "data": {
            "train": [str(folder / "train.tsv")],
            "validation": [str(folder / "validation.tsv")],
            "workers": 1,
        },
        "source": {"size": 320},
        "target": {"kind": "character", "minimum": 1},
        "model": {
            "width": 16,
            "heads": 2,
            "inner": 24,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "dropout": 0.3,
        },
        "batches": {"target_tokens": 640},
        "training": {"warmup_steps": 5, "save_every": 1000, "journal_every": 2, **training},
        "validation": {"every": 1000, "decode": 0},
    }
    return Recipe.model_validate(values)


@cache
def checkpoint_of() -> Checkpoint:
    texts = [f"{name} {deed} {thing}" for name in NAMES for deed in DEEDS for thing in THINGS]
    return Checkpoint(
        name="small",
        model=tiny_section(),
        unit="char",
        source=SourceTokenizer.train(texts, SourceSection(kind="bpe", size=300, sample=1000)),
        target=TargetVocabulary.train(
            texts, TargetSection(kind="character", size=300, minimum=1, sample=1000)
        ),
        words=WordList.from_counts(Counter(" ".join(texts).split())),
        natural_length=15,
        longest_source=20,
    )


@contextmanager
def full_disk(bytes_a_file: int) -> Iterator[None]:
    """Let no file grow beyond a size, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_a_file, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


POISON = SOURCE_SIZE - 1
"""The source token that spoils the logits of a poisoned model."""


class Poisoned(nn.Module):
    """Be a model whose loss is no number for batches with one token."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.inner = model

    def forward(self, batch: Batch) -> Tensor:
        logits: Tensor = self.inner(batch)
        return logits.masked_fill((batch.source == POISON).any(), torch.nan)


def poison(share: Share) -> Share:
    """Put the spoiling token into the last batch of a step."""
    *others, last = share.batches
    return share._replace(
        batches=(*others, last._replace(source=last.source.masked_fill(last.source > 0, POISON)))
    )


def cure(share: Share) -> Share:
    """Leave the spoiling token out of all batches of a step."""
    cured = (batch._replace(source=batch.source.clamp(max=POISON - 1)) for batch in share.batches)
    return share._replace(batches=tuple(cured))
