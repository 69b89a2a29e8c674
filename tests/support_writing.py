"""Tiny models with random weights, and the folders they are kept in."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from copyfit.checkpoint import Checkpoint, save_checkpoint
from copyfit.generation.jobs import Counting, Hypothesis, Job, SearchOptions
from copyfit.models.build import build_model
from copyfit.models.config import TransformerSection
from copyfit.text.automaton import FIRST_PIECE
from copyfit.text.tokenizer import SourceSection, SourceTokenizer
from copyfit.text.vocabulary import TargetSection, TargetVocabulary
from copyfit.text.words import WordList

TEXTS = (
    "A storm shuts the old schools of the harbour town for a week, say teachers",
    "The mayor opens a green park for children; 40 families cheer & dance (twice)",
    "Ferries turn back as the flood reaches the lower harbour 🚢 on Monday",
    "Café Müller rouvre ses portes après l’incendie — « enfin » ☕",
    "Москва открывает новый музей для детей у реки",
    "東京で大雨、電車が止まる。学校は休み",
    "서울의 새 공원이 문을 열다 👩‍👩‍👧",
    "दिल्ली में नया पुल खुला",
)
ARTICLE = TEXTS[0] + ". " + TEXTS[1] + "."
SECTION = TransformerSection(width=16, heads=2, inner=32, encoder_layers=1, decoder_layers=1, dropout=0)


def tiny_checkpoint(
    kind: str = "subword", *, unit: str = "char", texts: tuple[str, ...] = TEXTS, longest_source: int = 150
) -> Checkpoint:
    target = TargetSection.model_validate({"kind": kind, "size": 400, "minimum": 1})
    return Checkpoint(
        name="tiny",
        model=SECTION,
        unit=unit,
        source=SourceTokenizer.train(texts, SourceSection.model_validate({"size": 320})),
        target=TargetVocabulary.train(texts, target),
        words=WordList(["park", "harbour", "town"]),
        natural_length=24,
        longest_source=longest_source,
        facts={"Training pairs": 8, "Note": "made up"},
    )


def random_weights(checkpoint: Checkpoint, *, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build_model(
            checkpoint.model, source_size=checkpoint.source.size, target_size=checkpoint.target.size
        )
    # Larger than fresh ones, so that the model has opinions.
    return {name: 3 * parameter.detach().numpy() for name, parameter in model.named_parameters()}


class Stutterer:
    """Be an engine that needs no model: fill the budget with one letter, which the source decides."""

    def search(
        self, jobs: Sequence[Job], counting: Counting, options: SearchOptions
    ) -> list[list[Hypothesis]]:
        costs = counting.automaton.cost[counting.automaton.start]
        letters = [
            token
            for token, piece in enumerate(counting.pieces, FIRST_PIECE)
            if piece.isascii() and piece.isalpha() and costs[token] == 1
        ]
        return [
            [
                Hypothesis((letters[(sum(job.source) + rank) % len(letters)],) * job.limit, -rank, job.limit)
                for rank in range(min(options.keep, len(letters)))
            ]
            for job in jobs
        ]


def save_tiny(directory: Path, kind: str = "subword", *, unit: str = "char", seed: int = 0) -> Path:
    checkpoint = tiny_checkpoint(kind, unit=unit)
    save_checkpoint(directory, checkpoint, random_weights(checkpoint, seed=seed))
    return directory


def forge(directory: Path, name: str, content: bytes) -> None:
    """Replace a file of a checkpoint and its record, as someone who knows the format could."""
    (directory / name).write_bytes(content)
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    config["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")


def change_config(directory: Path, **changes: object) -> None:
    path = directory / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")
