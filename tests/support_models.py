"""Tiny models with random answers, and vocabularies small enough to try every text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from copyfit.generation.jobs import Counting, Hypothesis, Job, SearchOptions
from copyfit.models.contract import Cache, Growth, Memory, Seq2Seq, Started
from copyfit.runtime.torch_engine import TorchEngine
from copyfit.text.automata import cost_automaton
from copyfit.text.automaton import END, FIRST_PIECE, START
from copyfit.text.units import count
from support_steps import Walk

_CODES = 257
_WAVES = 8
_HASH_BASE = 6_364_136_223_846_793_005


class RandomModel:
    """Answer by random tables and waves, in float64 so that no two texts score the same.

    What it answers depends on the whole prefix (rolled up in the cache), the source, the budget and what is
    consumed of it.
    """

    def __init__(self, vocabulary: int, seed: int, sharpness: float = 1.5) -> None:
        random = np.random.default_rng(seed)
        self._tables = [
            torch.from_numpy(sharpness * random.standard_normal((rows, vocabulary)))
            for rows in (_CODES, _CODES, _WAVES)
        ]

    def start(self, source: Tensor, source_lengths: Tensor, reads: Tensor, budget: Tensor) -> Started:
        inside = torch.arange(source.shape[1]) < source_lengths[:, None]
        code = (source * torch.arange(1, source.shape[1] + 1) * inside).sum(dim=1) * 31 + source_lengths
        empty = torch.zeros_like(reads)[:, None]
        return Started((code.index_select(0, reads), budget.double()), (empty,), ())

    def step(self, tokens: Tensor, consumed: Tensor, cache: Cache, memory: Memory) -> tuple[Tensor, Growth]:
        (rolled,), (code, budget) = cache.state, memory
        assert isinstance(rolled, Tensor)
        assert isinstance(code, Tensor)
        assert isinstance(budget, Tensor)
        rolled = (rolled * 31 + tokens * 17 + 7) % 1_000_003
        left = budget[:, None] - consumed.double()
        waves = torch.sin(left[..., None] * torch.arange(1, _WAVES + 1) / budget[:, None, None].sqrt())
        by_prefix, by_source, by_budget = self._tables
        heard = (waves[..., None] * by_budget).sum(dim=-2)
        answer = by_prefix[rolled % _CODES] + by_source[code % _CODES][:, None] + heard
        return answer, Growth((rolled,), ())


@dataclass(frozen=True)
class World:
    """A vocabulary and a unit; its models were trained on characters."""

    pieces: tuple[str, ...]
    unit: str
    prefixed: bool
    counting: Counting

    @property
    def size(self) -> int:
        return FIRST_PIECE + len(self.pieces)

    def text(self, tokens: Sequence[int]) -> str:
        spelled = "".join(self.pieces[token - FIRST_PIECE] for token in tokens)
        return spelled.removeprefix(" ") if self.prefixed else spelled

    def tokens(self, pieces: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.pieces.index(piece) + FIRST_PIECE for piece in pieces)

    def is_text(self, tokens: Sequence[int]) -> bool:
        """Tell whether tokens spell a text: no space at its ends, no two in a row."""
        text = self.text(tokens)
        spelled = "".join(self.pieces[token - FIRST_PIECE] for token in tokens)
        return text != "" and text == text.strip() and "  " not in text and self.prefixed == (spelled != text)

    def every_text(self, job: Job) -> Iterator[tuple[int, ...]]:
        """Yield every token sequence that keeps the bounds of a job, by trying them all."""
        for length in range(1, job.max_steps + 1):
            for tokens in product(range(FIRST_PIECE, self.size), repeat=length):
                if self.is_text(tokens) and job.floor <= count(self.text(tokens), self.unit) <= job.limit:
                    yield tokens

    def model(self, seed: int) -> RandomModel:
        return RandomModel(self.size, seed)

    def search(
        self, model: Seq2Seq, jobs: Sequence[Job], options: SearchOptions | None = None
    ) -> list[list[Hypothesis]]:
        engine = TorchEngine(model, torch.device("cpu"))
        return engine.search(jobs, self.counting, options or SearchOptions())


@cache
def make_world(pieces: tuple[str, ...], unit: str = "char", *, prefixed: bool = False) -> World:
    """Make a world of pieces; the same one for the same pieces."""
    lengths = [0.0] * FIRST_PIECE + [float(len(piece)) * (unit != "char") for piece in pieces]
    counting = Counting(
        cost_automaton(pieces, unit, prefixed=prefixed),
        np.array(lengths, dtype=np.float32),
        pieces,
        _rolling_hash(pieces),
    )
    return World(pieces, unit, prefixed, counting)


def make_job(floor: int, limit: int) -> Job:
    """Make a job whose model is told the limit, with room for two tokens more than units."""
    return Job(source=(5, 4, 3), aim=float(limit), floor=floor, limit=limit, max_steps=limit + 2)


def teacher_forced(model: Seq2Seq, world: World, job: Job, tokens: Sequence[int]) -> float:
    """Return the summed log-probability of a text and its end."""
    answers = log_probabilities(model, world, job, tokens)
    return sum(float(answer[token]) for answer, token in zip(answers, [*tokens, END], strict=True))


def log_probabilities(model: Seq2Seq, world: World, job: Job, tokens: Sequence[int]) -> list[Tensor]:
    """Feed a text to the model alone, token by token; return its answers before each and at the end."""
    walk = Walk(model, [job.source], [job.aim], dtype=torch.float32)
    fed = zip([START, *tokens], positions(world, job, tokens), strict=True)
    return [walk.step([[token]], position)[0, 0].log_softmax(-1) for token, position in fed]


def positions(world: World, job: Job, tokens: Sequence[int]) -> list[float]:
    """Return what the model is told before each token and before the end, counted on the text itself."""
    told, spent = [0.0], 0
    for length in range(1, len(tokens) + 1):
        now = count(world.text(tokens[:length]), world.unit)
        piece = world.pieces[tokens[length - 1] - FIRST_PIECE]
        free_move = 0 if world.unit == "char" else len(piece)
        told.append(now * job.scale if now > spent else told[-1] + free_move)
        spent = now
    return told


def _rolling_hash(pieces: Sequence[str]) -> NDArray[np.int64]:
    steps = [(1, 0)] * FIRST_PIECE
    for piece in pieces:
        multiplier, addend = 1, 0
        for character in piece:
            multiplier = multiplier * _HASH_BASE % 2**64
            addend = (addend * _HASH_BASE + ord(character) * 0x9E3779B97F4A7C15) % 2**64
        steps.append((multiplier, addend))
    return np.array(steps, dtype=np.uint64).view(np.int64)


def holds_whole(text: str, phrase: str) -> bool:
    """Tell whether a phrase stands in a text with no letter or digit of a spaced script against its own."""
    left = "(?<![0-9A-Za-zé])" if re.match("[0-9A-Za-zé]", phrase) else ""
    right = "(?![0-9A-Za-zé])" if re.search("[0-9A-Za-zé]$", phrase) else ""
    return re.search(left + re.escape(phrase) + right, text) is not None
