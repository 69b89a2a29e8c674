"""ROUGE-1, ROUGE-2 and ROUGE-L, equal to the last digit to what ROUGE-1.5.5.pl prints.

Its ways are kept even where they surprise; each is named where it happens.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copyfit import __version__
from copyfit.errors import ConfigError, DataError
from copyfit.evaluation.bootstrap import RESAMPLES, bootstrap
from copyfit.text.japanese import dictionary, mecab_words
from copyfit.text.porter import stem

METRICS = ("R1", "R2", "RL")
FORMULAS = ("average", "best")
WORDS = ("ascii", "mecab")
DIGITS = 5


class Score(NamedTuple):
    """What one metric says of one item."""

    recall: float
    precision: float
    f1: float


class Average(NamedTuple):
    """What one metric says of all items: bootstrapped means with their confidence limits."""

    recall: float
    precision: float
    f1: float
    recall_low: float
    recall_high: float
    precision_low: float
    precision_high: float
    f1_low: float
    f1_high: float


@dataclass(frozen=True)
class RougeResult:
    """The scores of each item and of all together, by metric: R1, R2, RL."""

    items: tuple[Mapping[str, Score], ...]
    averages: Mapping[str, Average]
    signature: str

    def to_json(self) -> dict[str, Any]:
        """Return the averages as plain values."""
        averages = {metric: average._asdict() for metric, average in self.averages.items()}
        return {**averages, "n": len(self.items), "signature": self.signature}

    def table(self) -> NDArray[np.float64]:
        """Lay out the scores of the items: [items, metrics x (recall, precision, f1)]."""
        return np.array([[value for metric in METRICS for value in item[metric]] for item in self.items])


class Match(NamedTuple):
    """How many units of a reference a hypothesis hits, and how many units both have."""

    hits: int
    reference: int
    hypothesis: int


class Text(NamedTuple):
    """A summary as the metrics read it. A byte limit leaves more in `sentences` than in `words`."""

    words: list[str]
    sentences: list[list[str]]


@dataclass(frozen=True)
class Rouge:
    """Score hypotheses against references, each a text with one sentence a line.

    `stem` is the script's -m, `limit_bytes` -b, `limit_words` -l, `formula` -f A or B, `confidence` -c. What
    the script does not have: `limit_characters` cuts hypotheses only, `words` may be those of MeCab, which
    are counted in the same way, punctuation among them.
    """

    stem: bool = True
    limit_bytes: int | None = None
    limit_words: int | None = None
    formula: str = "average"
    confidence: float = 95
    limit_characters: int | None = None
    words: str = "ascii"

    def __post_init__(self) -> None:
        self._check_limits()
        for name, value, known in (("formula", self.formula, FORMULAS), ("words", self.words, WORDS)):
            if value not in known:
                raise ConfigError(f"{name} must be {' or '.join(known)}, given {value!r}")
        if not 0 <= self.confidence <= 100:
            raise ConfigError(f"the confidence must be from 0 to 100 percent, given {self.confidence:g}")
        if self.words == "mecab":
            self._check_mecab()

    def _check_limits(self) -> None:
        limits = self._limits()
        if len(limits) > 1:
            raise ConfigError(f"there can be one limit, given both {' and '.join(limits)}: leave one out")
        for limit in limits.values():
            if limit < 1:
                raise ConfigError(f"a limit must be at least 1, given {limit}: leave it out for none")

    def _check_mecab(self) -> None:
        if self.stem or self.limit_bytes:
            wrong = "stems" if self.stem else "a limit in bytes"
            raise ConfigError(
                f"words of MeCab go without stems and bytes, given {wrong}: leave it out or limit characters"
            )
        # A library that is missing is to be told before there is work that needs it.
        dictionary()

    def _limits(self) -> dict[str, int]:
        limits = {
            "bytes": self.limit_bytes,
            "words": self.limit_words,
            "characters of hypotheses": self.limit_characters,
        }
        return {what: limit for what, limit in limits.items() if limit is not None}

    def score(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> RougeResult:
        """Score each hypothesis against its own references."""
        _check_counts(hypotheses, references)
        items = tuple(map(self._score_item, hypotheses, references))
        result = RougeResult(items, {}, self._signature(references))
        limits = bootstrap(result.table(), self.confidence)
        columns = np.stack([limits.mean, limits.low, limits.high], axis=1).reshape(len(METRICS), 3, 3)
        averages = {
            metric: _average(values.tolist()) for metric, values in zip(METRICS, columns, strict=True)
        }
        return replace(result, averages=averages)

    def _score_item(self, hypothesis: str, references: Sequence[str]) -> dict[str, Score]:
        peer = self._read(self._cut_characters(hypothesis))
        models = [self._read(reference) for reference in references]
        unigrams = [_match_ngrams(model, peer, 1) for model in models]
        bigrams = [_match_ngrams(model, peer, 2) for model in models]
        sequences = [_match_sequences(model, peer) for model in models]
        return {
            "R1": _score(self._pool(unigrams, _printed_recall)),
            "R2": _score(self._pool(bigrams, _printed_recall)),
            "RL": _score(self._pool(sequences, _recall)),
        }

    def _pool(self, matches: Sequence[Match], merit: Callable[[Match], float]) -> Match:
        """Sum hits and counts over the references, or keep the first of those with the best recall."""
        if self.formula == "best":
            return max(matches, key=merit)
        return Match(*map(sum, zip(*matches, strict=True)))

    def _cut_characters(self, text: str) -> str:
        """Cut to the code points that the unit `char` counts."""
        if self.limit_characters is None:
            return text
        return unicodedata.normalize("NFC", text)[: self.limit_characters]

    def _lines(self, text: str) -> list[bytes]:
        if self.words == "mecab":
            return [" ".join(mecab_words(line)).encode() for line in text.split("\n")]
        return text.encode("utf-8", "surrogatepass").lower().split(b"\n")

    def _read(self, text: str) -> Text:
        lines = [line for line in self._lines(text) if line]
        if self.limit_bytes is not None:
            words = self._words(_cut_bytes(lines, self.limit_bytes))
            sentences = self._words(_cut_bytes_of_each(lines, self.limit_bytes))
        else:
            words = sentences = self._words(
                _cut_words(lines, self.limit_words) if self.limit_words else lines
            )
        return Text([word for sentence in words for word in sentence], sentences)

    def _words(self, lines: Iterable[bytes]) -> list[list[str]]:
        if self.words == "mecab":
            return [line.decode().split(" ") for line in lines]
        sentences = [split_words(line) for line in lines]
        return [[stem(word) for word in words] for words in sentences] if self.stem else sentences

    def _signature(self, references: Sequence[Sequence[str]]) -> str:
        counts = sorted({len(texts) for texts in references})
        limits = [f"{limit} {what}" for what, limit in self._limits().items()]
        return "|".join(
            [
                "ROUGE-1.5.5",
                f"references:{'-'.join(str(count) for count in sorted({counts[0], counts[-1]}))}",
                f"words:{dictionary() if self.words == 'mecab' else self.words}",
                f"stem:{'porter+wordnet-2.0' if self.stem else 'no'}",
                f"limit:{' '.join(limits) or 'no'}",
                f"formula:{self.formula}",
                f"confidence:{self.confidence:g}",
                f"resamples:{RESAMPLES}",
                f"copyfit:{__version__}",
            ]
        )


def split_words(line: bytes) -> list[str]:
    """Find the words of a lower-case line: runs of ASCII letters and digits."""
    return [word.decode("ascii") for word in re.findall(rb"[a-z0-9]+", line)]


def _check_counts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    if not hypotheses:
        raise DataError("there must be at least one hypothesis to score, given none")
    if len(hypotheses) != len(references):
        raise DataError(
            f"each hypothesis needs its references, given {len(hypotheses)} hypotheses"
            f" and {len(references)} items with references"
        )
    for index, texts in enumerate(references):
        if not texts:
            raise DataError(f"each hypothesis needs at least one reference, item {index} has none")


def _cut_words(lines: Iterable[bytes], limit: int) -> list[bytes]:
    """Keep the first `limit` words; white space before a line's first word counts as one."""
    kept: list[bytes] = []
    for line in lines:
        text = line.rstrip()
        words = re.split(rb"\s+", text)[:limit] if text else []
        limit -= len(words)
        kept.append(b" ".join(words))
        if limit == 0:
            break
    return kept


def _cut_bytes(lines: Iterable[bytes], limit: int) -> list[bytes]:
    kept = []
    for line in lines:
        kept.append(line[:limit])
        limit -= len(kept[-1])
        if limit == 0:
            break
    return kept


def _cut_bytes_of_each(lines: Iterable[bytes], limit: int) -> list[bytes]:
    """Cut as the script does for ROUGE-L: each line alone, up to the first that fills the limit."""
    kept = []
    for line in lines:
        kept.append(line[:limit])
        if len(line) >= limit:
            break
    return kept


def _match_ngrams(reference: Text, hypothesis: Text, size: int) -> Match:
    wanted, found = _ngrams(reference.words, size), _ngrams(hypothesis.words, size)
    hits = sum(min(count, found[ngram]) for ngram, count in wanted.items() if ngram in found)
    return Match(hits, wanted.total(), found.total())


def _ngrams(words: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(size)), strict=False))


def _match_sequences(reference: Text, hypothesis: Text) -> Match:
    """Hit the words of each reference sentence that lie in its LCS with any sentence of the hypothesis.

    No word is hit more often than either text's `words` have it.
    """
    left = Counter(reference.words) & Counter(hypothesis.words)
    hits = 0
    for sentence in reference.sentences:
        positions = {
            position for other in hypothesis.sentences for position in _common_positions(sentence, other)
        }
        for position in sorted(positions):
            if left[sentence[position]] > 0:
                left[sentence[position]] -= 1
                hits += 1
    return Match(hits, sum(map(len, reference.sentences)), len(hypothesis.words))


def _common_positions(reference: Sequence[str], hypothesis: Sequence[str]) -> set[int]:
    """Find which words of a reference sentence form its LCS; of several, the one the script walks back to."""
    lengths = _common_lengths(reference, hypothesis)
    positions: set[int] = set()
    row, column = len(reference), len(hypothesis)
    while row and column:
        if reference[row - 1] == hypothesis[column - 1]:
            row, column = row - 1, column - 1
            positions.add(row)
        elif lengths[row - 1][column] >= lengths[row][column - 1]:
            row -= 1
        else:
            column -= 1
    return positions


def _common_lengths(reference: Sequence[str], hypothesis: Sequence[str]) -> list[list[int]]:
    """Fill the table of LCS lengths of all pairs of beginnings."""
    lengths = [[0] * (len(hypothesis) + 1)]
    for word in reference:
        above, length = lengths[-1], 0
        row = [0]
        for column, other in enumerate(hypothesis):
            length = above[column] + 1 if word == other else max(above[column + 1], length)
            row.append(length)
        lengths.append(row)
    return lengths


def _recall(match: Match) -> float:
    return match.hits / match.reference if match.reference else 0.0


def _printed_recall(match: Match) -> float:
    return round(_recall(match), DIGITS)


def _score(match: Match) -> Score:
    recall = _printed_recall(match)
    precision = round(match.hits / match.hypothesis, DIGITS) if match.hypothesis else 0.0
    weighted = 0.5 * precision + 0.5 * recall
    return Score(recall, precision, round(precision * recall / weighted, DIGITS) if weighted > 0 else 0.0)


def _average(values: Sequence[Sequence[float]]) -> Average:
    """Lay out [recall, precision, f1] x [mean, low, high]."""
    means = [mean for mean, _, _ in values]
    limits = [limit for _, low, high in values for limit in (low, high)]
    return Average(*(round(value, DIGITS) for value in [*means, *limits]))
