"""Write a headline for each pair, and say how good and how exact they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from copyfit.data.corpus import Pair
from copyfit.errors import DataError, RequestError
from copyfit.evaluation.lengths import (
    Length,
    LengthError,
    LengthLimits,
    budgets_of,
    length_error,
    length_limits,
    plain_lengths,
)
from copyfit.evaluation.rouge import Rouge, RougeResult
from copyfit.writing.headline import Headline, Result
from copyfit.writing.overlap import BEST_OF
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort, Order


class Writes(Protocol):
    """What an evaluation needs of a writer."""

    @property
    def name(self) -> str:
        """The name of the model."""
        ...

    @property
    def models(self) -> int:
        """How many models write together."""
        ...

    def fulfil(self, orders: Sequence[Order], effort: Effort) -> list[Result]:
        """Serve many orders, in their order."""
        ...


class Settings(NamedTuple):
    """How to search and how to score."""

    effort: Effort = Effort()
    rouge: Rouge = Rouge()


DEFAULTS = Settings()


@dataclass(frozen=True)
class Evaluation:
    """What came of an evaluation; `length` is what was asked for."""

    model: str
    length: Length
    unit: str
    mode: str
    rouge: RougeResult
    length_error: LengthError
    length_limits: LengthLimits
    signature: str
    headlines_per_second: float
    headlines: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return all but the headlines as plain values."""
        averages = {metric: average._asdict() for metric, average in self.rouge.averages.items()}
        return {
            "n": len(self.headlines),
            "length": self.length,
            "unit": self.unit,
            "mode": self.mode,
            "rouge": averages,
            "length_error": plain_lengths(self.length_error, self.length_limits),
            "signature": self.signature,
            "headlines_per_second": round(self.headlines_per_second, 2),
            "model": self.model,
        }


def evaluate(
    writer: Writes,
    pairs: Sequence[Pair],
    *,
    length: Length = "reference",
    unit: str = "char",
    mode: str = "free",
    settings: Settings = DEFAULTS,
) -> Evaluation:
    """Write a headline of the length for each source; score it against all targets of its pair."""
    if not pairs:
        raise DataError("there must be at least one pair to evaluate on, given none")
    budgets = budgets_of(length, [pair.targets[0] for pair in pairs], unit)
    orders = [
        Order(pair.source, Wish(length=budget, unit=unit, mode=mode))
        for pair, budget in zip(pairs, budgets, strict=True)
    ]
    started = perf_counter()
    results = writer.fulfil(orders, settings.effort)
    seconds = perf_counter() - started
    headlines = [_headline(index, result) for index, result in enumerate(results)]
    texts = tuple(headline.text for headline in headlines)
    lengths = [headline.length for headline in headlines]
    rouge = settings.rouge.score(texts, [pair.targets for pair in pairs])
    return Evaluation(
        model=writer.name,
        length=length,
        unit=unit,
        mode=mode,
        rouge=rouge,
        length_error=length_error(lengths, budgets),
        length_limits=length_limits(lengths, budgets, settings.rouge.confidence),
        signature=f"mode:{mode}|length:{length}|unit:{unit}|{_search(writer, settings)}|{rouge.signature}",
        headlines_per_second=len(texts) / seconds,
        headlines=texts,
    )


def _headline(index: int, result: Result) -> Headline:
    if result.error is not None:
        raise RequestError(f"pair {index}: {result.error}")
    return result.headlines[0]


def _search(writer: Writes, settings: Settings) -> str:
    """Name what decides on the headlines besides the budget."""
    effort = settings.effort
    return (
        f"models:{writer.models}|beams:{effort.search_options().num_beams}"
        f"|rerank:{f'{effort.rerank} of {BEST_OF}' if effort.rerank else 'no'}"
        f"|no-repeat:{effort.no_repeat_ngram_size or 'no'}"
    )
