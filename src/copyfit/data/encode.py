"""Blocks of rows to encoded pairs: what the worker processes do."""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, compress, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from copyfit.data.corpus import Block, Pair, parse
from copyfit.data.duplicates import PairHashes
from copyfit.data.filters import FilterSection, fingerprint, objection
from copyfit.data.ragged import Ragged
from copyfit.data.store import EncodedPairs, TokenTypes, smallest_unsigned
from copyfit.text.automaton import FORBIDDEN, CostAutomaton
from copyfit.text.tokenizer import SourceTokenizer
from copyfit.text.vocabulary import TargetVocabulary
from copyfit.text.word_cache import WordCache

_CACHED_WORDS = 1 << 18
UNWRITABLE = -1
"""The budget of a target that breaks a rule of its unit."""


class Rules(NamedTuple):
    """Say how pairs are filtered and encoded."""

    unit: str
    filters: FilterSection
    longest_source: int
    longest_target: int
    segmentations: int
    dropout: float
    seed: int
    leave_out: frozenset[int] = frozenset()


class EncodedBlock(NamedTuple):
    """Hold what became of a block: its pairs, and what was dropped for which reason."""

    pairs: EncodedPairs
    hashes: PairHashes
    tokens: Counter[str]
    """What stands between the spaces of the targets."""
    dropped: Counter[str]
    bad_lines: list[str]


class _Texts(NamedTuple):
    """Hold the texts of a block: `source_of` has each target's place among the sources."""

    sources: list[str]
    targets: list[str]
    source_of: list[int]


class Encoder:
    """Filter and encode blocks; the same block gives the same pairs in every process."""

    def __init__(self, source: SourceTokenizer, target: TargetVocabulary, rules: Rules) -> None:
        self._source = source
        self._source_words = WordCache(self._encode_word, room=_CACHED_WORDS)
        self._target = target
        self._rules = rules
        # A text that GSM-7 cannot write travels as UCS-2.
        ucs2 = (False, True) if rules.unit == "gsm7" else (False,)
        self._automata = [target.automaton(rules.unit, ucs2=flag) for flag in ucs2]
        greatest = max(int(automaton.cost.max()) for automaton in self._automata)
        self.types = TokenTypes(
            smallest_unsigned(source.size - 1),
            smallest_unsigned(target.size - 1),
            smallest_unsigned(greatest),
        )

    def __call__(self, number: int, block: Block) -> EncodedBlock:
        """Encode the block of this number."""
        bad_lines: list[str] = []
        dropped = Counter[str]()
        admitted = self._admit(parse(block, lambda problem: bad_lines.append(str(problem))), dropped)
        written = self._target.encode_batch(admitted.targets)
        targets = ragged((ids or () for ids in written), self.types.target)
        _, budgets = self._spend(targets)
        reasons = list(map(self._reason, written, budgets.tolist()))
        dropped.update(filter(None, reasons))
        kept = np.array([reason is None for reason in reasons], np.bool_)
        texts = _choose(admitted, kept)
        pairs = self._encode(texts, targets.take(np.flatnonzero(kept)), number)
        return EncodedBlock(
            pairs,
            _hash(texts),
            Counter(chain.from_iterable(map(str.split, texts.targets))),
            dropped,
            bad_lines,
        )

    def _admit(self, pairs: Iterable[Pair], dropped: Counter[str]) -> _Texts:
        texts = _Texts([], [], [])
        for source, targets in pairs:
            for target in targets:
                reason = objection(source, target, self._rules.filters)
                if reason:
                    dropped[reason] += 1
                else:
                    texts.targets.append(target)
                    texts.source_of.append(len(texts.sources))
            texts.sources.append(source)
        return texts

    def _reason(self, ids: Sequence[int] | None, budget: int) -> str | None:
        if ids is None:
            return "outside_vocabulary"
        if len(ids) > self._rules.longest_target:
            return "target_tokens"
        if budget < 1:
            return "unwritable"
        return "left_out" if budget in self._rules.leave_out else None

    def _encode(self, texts: _Texts, canonical: Ragged, number: int) -> EncodedPairs:
        targets = [canonical]
        for variant in range(1, self._rules.segmentations + 1):
            targets.append(self._resegment(texts.targets, canonical, (self._rules.seed, number, variant)))
        spent = [self._spend(target) for target in targets]
        sources, source_of = _without_repeats(texts)
        return EncodedPairs(
            self._encode_sources(sources),
            source_of,
            spent[0][1],
            tuple(targets),
            tuple(costs for costs, _ in spent),
        )

    def _encode_sources(self, sources: list[str]) -> Ragged:
        limit, dtype = self._rules.longest_source, np.dtype(self.types.source)
        words = self._source_words.__getitem__
        ending = self._pack(self._source.ending)
        room = limit * dtype.itemsize - len(ending)
        # A word has at least one token, so that what follows the first `limit` words is cut off anyway.
        rows = [b"".join(map(words, source.split(" ", limit)[:limit]))[:room] + ending for source in sources]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows)) // dtype.itemsize
        return Ragged.of(np.frombuffer(b"".join(rows), dtype), lengths)

    def _encode_word(self, word: str) -> bytes:
        return self._pack(self._source.encode_word(word))

    def _pack(self, ids: Sequence[int]) -> bytes:
        return array(np.dtype(self.types.source).char, ids).tobytes()

    def _resegment(self, targets: list[str], canonical: Ragged, seed: tuple[int, ...]) -> Ragged:
        state = int(np.random.SeedSequence(seed).generate_state(1)[0])
        sampled = self._target.encode_batch(targets, dropout=self._rules.dropout, seed=state)
        limit = self._rules.longest_target
        rows = (
            ids if ids is not None and len(ids) <= limit else canonical.row(row).tolist()
            for row, ids in enumerate(sampled)
        )
        return ragged(rows, self.types.target)

    def _spend(self, targets: Ragged) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
        costs, budgets = spend(targets, self._automata[0])
        for automaton in self._automata[1:]:
            other_costs, other_budgets = spend(targets, automaton)
            unwritable = budgets == UNWRITABLE
            costs = np.where(np.repeat(unwritable, targets.lengths()), other_costs, costs)
            budgets = np.where(unwritable, other_budgets, budgets)
        return costs, budgets


def _choose(texts: _Texts, kept: NDArray[np.bool_]) -> _Texts:
    pairs = np.flatnonzero(kept).tolist()
    sources, source_of = np.unique([texts.source_of[pair] for pair in pairs], return_inverse=True)
    return _Texts(
        [texts.sources[source] for source in sources.astype(np.int64).tolist()],
        [texts.targets[pair] for pair in pairs],
        source_of.tolist(),
    )


def _without_repeats(texts: _Texts) -> tuple[list[str], NDArray[np.int64]]:
    """Return the sources, equal neighbours once, and each target's place among them."""
    new = [True, *(one != other for one, other in pairwise(texts.sources))][: len(texts.sources)]
    places = np.cumsum(new, dtype=np.int64) - 1
    return list(compress(texts.sources, new)), places[np.array(texts.source_of, np.int64)]


def _hash(texts: _Texts) -> PairHashes:
    sources = list(map(fingerprint, texts.sources))
    pairs = map(fingerprint, texts.targets, map(sources.__getitem__, texts.source_of))
    return PairHashes(
        np.array(sources, np.uint64), np.array(texts.source_of, np.int64), np.fromiter(pairs, np.uint64)
    )


def ragged(rows: Iterable[Sequence[int]], dtype: DTypeLike) -> Ragged:
    """Lay rows end to end."""
    held = list(rows)
    lengths = np.fromiter(map(len, held), np.int64, len(held))
    return Ragged.of(np.fromiter(chain.from_iterable(held), dtype, int(lengths.sum())), lengths)


def spend(targets: Ragged, automaton: CostAutomaton) -> tuple[NDArray[np.int16], NDArray[np.int64]]:
    """Walk an automaton along all targets at once; return each token's cost and each target's budget.

    The budget is `UNWRITABLE` where a token is forbidden or the text may not end.
    """
    lengths = targets.lengths()
    order = np.argsort(-lengths, kind="stable")
    starts = targets.offsets[:-1][order]
    costs = np.zeros(len(targets.values), np.int16)
    totals = np.zeros(len(order), np.int64)
    state = np.full(len(order), automaton.start, np.int64)
    writable = np.ones(len(order), np.bool_)
    going = np.searchsorted(-lengths[order], -np.arange(lengths.max(initial=0)), side="left")
    for place, count in enumerate(going.tolist()):
        where = starts[:count] + place
        tokens = targets.values[where]
        cost = automaton.cost[state[:count], tokens]
        costs[where] = cost
        totals[:count] += cost
        writable[:count] &= cost != FORBIDDEN
        state[:count] = automaton.next_state[state[:count], tokens]
    budgets = np.empty_like(totals)
    budgets[order] = np.where(writable & automaton.accepts[state], totals, UNWRITABLE)
    return costs, budgets
