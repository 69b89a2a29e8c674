"""The central promise: no headline breaks its mode or claims a fit it does not have."""

import random
import unicodedata
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from copyfit.checkpoint import Checkpoint, save_checkpoint
from copyfit.models.build import build_model
from copyfit.models.config import TransformerSection
from copyfit.text.tokenizer import SourceSection, SourceTokenizer
from copyfit.text.units import UNITS
from copyfit.text.vocabulary import TargetSection, TargetVocabulary
from copyfit.text.words import WordList
from copyfit.writing.headline import Headline, Result
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort, Order, Writer
from support_text import ORACLES, RAW_TEXTS, SOLID_ZOO, gsm_septets

ALPHABETS = (*[SOLID_ZOO] * 3, "etaoinsrhldETA'-.,7", "日本語の見出しー", "абвгдеё—")


class Case(NamedTuple):
    text: str
    unit: str
    mode: str
    budget: int
    minimum: int

    def in_words(self) -> "Case":
        return self._replace(budget=-(-self.budget // WORD), minimum=-(-self.minimum // WORD))

    @property
    def wish(self) -> Wish:
        minimum = min(self.minimum, self.budget) if self.mode == "range" else None
        return Wish(length=self.budget, minimum=minimum, unit=self.unit, mode=self.mode)

    @property
    def fitting(self) -> range:
        least = {"exact": self.budget, "free": self.budget, "max": 1, "range": min(self.minimum, self.budget)}
        return range(least[self.mode], self.budget + 1)


class World(NamedTuple):
    writer: Writer
    atoms: tuple[str, ...]
    """The clusters that the model can write, without the space."""
    words: tuple[str, ...]
    """Some words that it can write."""

    def can_write(self, unit: str, lengths: range) -> bool:
        """Tell whether some length is a sum of the costs of clusters; a space could only add more sums."""
        if unit == "word":
            return True
        atoms = [atom for atom in self.atoms if unit != "gsm7" or gsm_septets(atom)]
        costs = {ORACLES[unit](atom) for atom in atoms}
        sums = {0}
        for total in range(1, lengths.stop):
            if any(total - cost in sums for cost in costs):
                sums.add(total)
        return any(length in sums for length in lengths)


def made_up_texts(draw: random.Random) -> list[str]:
    clusters = draw.choice(ALPHABETS)
    alphabet = draw.sample(clusters, min(len(clusters), draw.randint(2, 30)))
    words = ["".join(draw.choices(alphabet, k=draw.randint(1, 6))) for _ in range(20)]
    return [" ".join(draw.choices(words, k=draw.randint(1, 8))) for _ in range(30)]


@lru_cache(maxsize=8)
def make_world(seed: int) -> World:
    draw = random.Random(seed)
    texts = made_up_texts(draw)
    kind = draw.choice(["character", "subword"])
    section = TransformerSection(
        positions=draw.choice(["pe", "ldpe", "ldpe+pe", "lrpe", "lrpe+pe", "pre"]),
        width=8,
        heads=2,
        inner=8,
        encoder_layers=1,
        decoder_layers=1,
        dropout=0,
    )
    checkpoint = Checkpoint(
        name=f"world {seed}",
        model=section,
        unit=draw.choice(UNITS),
        source=SourceTokenizer.train(texts, SourceSection.model_validate({"size": 300})),
        target=TargetVocabulary.train(
            texts, TargetSection.model_validate({"kind": kind, "size": 200, "minimum": 1})
        ),
        words=WordList(texts[0].split()),
        natural_length=draw.randint(1, 40),
        longest_source=draw.randint(1, 20),
    )
    atoms = tuple(
        piece for piece in checkpoint.target.pieces if ORACLES["grapheme"](piece) == 1 and piece != " "
    )
    return World(
        open_writer(checkpoint, seed, strength=draw.choice([1, 5, 20])), atoms, tuple(texts[0].split())
    )


def open_writer(checkpoint: Checkpoint, seed: int, *, strength: float) -> Writer:
    with torch.random.fork_rng(devices=[]), TemporaryDirectory() as folder:
        torch.manual_seed(seed)
        sizes = {"source_size": checkpoint.source.size, "target_size": checkpoint.target.size}
        model = build_model(checkpoint.model, **sizes)
        weights = {
            name: np.float32(strength) * weight.detach().numpy() for name, weight in model.named_parameters()
        }
        save_checkpoint(Path(folder) / "model", checkpoint, weights)
        return Writer(Path(folder) / "model", device="cpu")


def check(case: Case, result: Result, world: World) -> None:
    assert result.error is None
    assert result.headlines
    texts = [headline.text for headline in result.headlines]
    assert len(set(texts)) == len(texts)
    for headline in result.headlines:
        check_headline(case, headline, world)


def check_headline(case: Case, headline: Headline, world: World) -> None:
    text = headline.text
    assert text == " ".join(unicodedata.normalize("NFC", text).split())
    true_length = ORACLES[case.unit](text)
    assert (headline.length, headline.unit) == (true_length, case.unit)
    assert headline.fits == (true_length in case.fitting)
    if case.mode == "free":
        assert true_length <= 4 * case.budget
    else:
        assert true_length <= case.budget
        assert headline.fits or not world.can_write(case.unit, case.fitting)


WORD = 12
"""Of how many characters a word stands for here: a model without sense writes long ones."""
MODES = ("exact", "exact", "max", "range", "free")
WORLDS = st.integers(0, 10_000)
WRITTEN = RAW_TEXTS.filter(lambda text: bool(text.split()))
"""A blank text is refused, which would prove nothing. (A bare `str.split` hypothesis takes for a length.)"""
# No shrinking: it would try the slow searches of a batch a thousand times.
LAX: dict[str, Any] = {"phases": [Phase.reuse, Phase.generate], "suppress_health_check": list(HealthCheck)}


def make_cases(draw: random.Random, texts: list[str], *, count: int, longest: int) -> list[Case]:
    # Few units at a time: those of one unit are searched together.
    units = draw.sample(UNITS, draw.randint(1, 2))
    cases = [
        Case(
            text=draw.choice(texts),
            unit=draw.choice(units),
            mode=draw.choice(MODES),
            budget=draw.randint(1, longest),
            minimum=draw.randint(1, longest),
        )
        for _ in range(count)
    ]
    return [case.in_words() if case.unit == "word" else case for case in cases]


def check_batches(batches: int, *, cases: int, longest: int, widest: int) -> None:
    @given(WORLDS, st.lists(WRITTEN, min_size=1, max_size=6), st.randoms(use_true_random=True))
    @settings(max_examples=batches, **LAX)
    def check_batch(seed: int, texts: list[str], draw: random.Random) -> None:
        world = make_world(seed)
        batch = make_cases(draw, texts, count=cases, longest=longest)
        orders = [Order(case.text, case.wish) for case in batch]
        effort = Effort(num_beams=draw.randint(1, widest), count=draw.randint(1, widest), batch_size=256)
        for case, result in zip(batch, world.writer.fulfil(orders, effort), strict=True):
            check(case, result, world)

    check_batch()


def test_no_headline_breaks_its_mode_or_claims_a_fit_it_does_not_have() -> None:
    check_batches(3, cases=50, longest=24, widest=3)


@pytest.mark.long
@pytest.mark.parametrize(
    ("batches", "cases", "longest", "widest"),
    [(60, 100, 8, 3), (26, 130, 24, 3), (6, 120, 60, 2), (3, 60, 300, 1)],
)
def test_no_headline_of_ten_thousand_breaks_its_mode_or_claims_a_fit_it_does_not_have(
    batches: int, cases: int, longest: int, widest: int
) -> None:
    check_batches(batches, cases=cases, longest=longest, widest=widest)


@given(
    seed=WORLDS,
    chosen=st.lists(st.integers(0, 7), max_size=2),
    begun=st.booleans(),
    unit=st.sampled_from(UNITS),
    budget=st.integers(1, 40),
)
@settings(max_examples=30, **LAX)
def test_required_words_and_start_stand_in_every_headline_or_are_refused(
    *, seed: int, chosen: list[int], begun: bool, unit: str, budget: int
) -> None:
    world = make_world(seed % 20)
    words = [world.words[number % len(world.words)] for number in chosen]
    case = Case("A text", unit, "max", budget, 1)
    case = case.in_words() if unit == "word" else case
    wish = replace(case.wish, require=words, start=world.words[0] if begun else None)
    (result,) = world.writer.fulfil([Order(case.text, wish)], Effort(num_beams=2, count=2))
    wanted = " ".join(dict.fromkeys([*([world.words[0]] if begun else []), *words]))
    if result.error is not None:
        assert "must fit into" in result.error
        assert ORACLES[unit](wanted) > case.budget
        return
    check(case, result, world)
    for headline in result.headlines:
        assert all(word in headline.text for word in words)
        assert headline.text.startswith(world.words[0]) or not begun
