"""Write a headline for each pair, and say how good and how exact they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal, NamedTuple, Protocol

from copyfit.data.corpus import Pair
from copyfit.errors import DataError, RequestError
from copyfit.evaluation.lengths import LengthError, length_error
from copyfit.evaluation.rerank import BEST_OF, rerank
from copyfit.evaluation.rouge import Rouge, RougeResult
from copyfit.text.units import count
from copyfit.writing.headline import Headline, Result
from copyfit.writing.requests import Wish
from copyfit.writing.writer import BATCH_SIZE, Effort, Order

Length = int | Literal["reference"]
"""The budget of every headline, or `reference`: each one's is the length of its first reference."""


class Writes(Protocol):
    """What an evaluation needs of a writer."""

    @property
    def name(self) -> str:
        """The name of the model."""
        ...

    def fulfil(self, orders: Sequence[Order], effort: Effort) -> list[Result]:
        """Serve many orders, in their order."""
        ...


class Settings(NamedTuple):
    """How to search and to score: `rerank` takes the best of many by the paper's rule."""

    limit_bytes: int | None = None
    rerank: bool = False
    num_beams: int = 5
    batch_size: int = BATCH_SIZE
    show_progress_bar: bool | None = False

    def effort(self) -> Effort:
        """Return how hard to search: as wide as there are headlines to choose from."""
        wanted = BEST_OF if self.rerank else 1
        return Effort(max(self.num_beams, wanted), wanted, self.batch_size, self.show_progress_bar)


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
            "length_error": self.length_error._asdict(),
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
    scorer = Rouge(limit_bytes=settings.limit_bytes)
    budgets = [count(pair.targets[0], unit) if length == "reference" else length for pair in pairs]
    started = perf_counter()
    headlines = _write(
        writer, pairs, [Wish(length=budget, unit=unit, mode=mode) for budget in budgets], settings
    )
    seconds = perf_counter() - started
    texts = tuple(headline.text for headline in headlines)
    rouge = scorer.score(texts, [pair.targets for pair in pairs])
    return Evaluation(
        model=writer.name,
        length=length,
        unit=unit,
        mode=mode,
        rouge=rouge,
        length_error=length_error([headline.length for headline in headlines], budgets),
        signature=f"{rouge.signature}|beams:{settings.effort().num_beams}|rerank:{_choice(settings)}",
        headlines_per_second=len(texts) / seconds,
        headlines=texts,
    )


def _write(
    writer: Writes, pairs: Sequence[Pair], wishes: Sequence[Wish], settings: Settings
) -> list[Headline]:
    orders = [Order(pair.source, wish) for pair, wish in zip(pairs, wishes, strict=True)]
    results = writer.fulfil(orders, settings.effort())
    for index, result in enumerate(results):
        if result.error is not None:
            raise RequestError(f"pair {index}: {result.error}")
    if not settings.rerank:
        return [result.headlines[0] for result in results]
    return [rerank(result.headlines, pair.source) for result, pair in zip(results, pairs, strict=True)]


def _choice(settings: Settings) -> str:
    return f"best of {BEST_OF}" if settings.rerank else "no"
