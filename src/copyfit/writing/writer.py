"""Text in, headlines that fit out."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count as count_from
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Self, TypedDict, Unpack, overload

from copyfit.combining import combine, open_members
from copyfit.errors import RequestError
from copyfit.generation.jobs import Engine, SearchOptions, always
from copyfit.runtime.load import load_engine
from copyfit.text.normal import normalise
from copyfit.text.units import count as count_units
from copyfit.text.words import ends_whole
from copyfit.writing.choice import Candidate, choose, likeliest, rerank
from copyfit.writing.headline import Headline, MiscountError, Result
from copyfit.writing.models import Models, fetch_model, find_models
from copyfit.writing.overlap import BEST_OF, RERANKS, Overlap, Rerank, check_words
from copyfit.writing.plan import Plan, Planner, Source
from copyfit.writing.progress import reporter
from copyfit.writing.requests import Natural, Request, Wish
from copyfit.writing.searches import Found, Searcher

BATCH_SIZE = 32
"""How many searches run together when nothing else is said."""
MOST_BEAMS = 100
WITHDRAWN = "the order was withdrawn before it was served"
TEXTS_KEPT = 4
"""How many of the last texts of a call are not read anew where they are wished in several lengths."""
POOL = 4
"""How many finished texts are kept for each one that is asked for, so that there is a choice."""


class Options(TypedDict, total=False):
    """Name what can be asked of a writer besides the length."""

    unit: str | None
    mode: str | None
    minimum: int | None
    preset: str | None
    require: Sequence[str]
    start: str | None
    num_beams: int
    no_repeat_ngram_size: int
    rerank: Rerank | None
    batch_size: int | None
    show_progress_bar: bool | None


class Order(NamedTuple):
    """Hold a text and what is wished for it."""

    text: str
    wish: Wish
    wanted: Callable[[], bool] = always
    """Asked now and then while it is served, by any thread; once it is false, it fails at once."""


@dataclass(frozen=True)
class Effort:
    """Say how hard to search and how much to give back, the same for a whole call."""

    num_beams: int = 5
    count: int = 1
    batch_size: int = BATCH_SIZE
    show_progress_bar: bool | None = False
    """None shows progress on a terminal only."""
    no_repeat_ngram_size: int = 0
    """No so many tokens in a row twice, as far as fit and required words allow; 0 is off."""
    rerank: Rerank | None = None
    """Write 20 headlines and put those first that have the most words of the source."""

    @property
    def pool(self) -> int:
        """Return how many headlines there are to choose from."""
        return max(self.count, BEST_OF) if self.rerank else self.count

    def check(self) -> None:
        """Raise unless all numbers are within what a search can take."""
        _check_whole("num_beams", self.num_beams, (1, MOST_BEAMS))
        _check_whole("candidates", self.count, (1, MOST_BEAMS))
        _check_whole("batch_size", self.batch_size, (1, 1_000_000))
        _check_whole("no_repeat_ngram_size", self.no_repeat_ngram_size, (0, 100))
        if self.rerank not in {None, *RERANKS}:
            raise RequestError(f"rerank must be one of {', '.join(RERANKS)}, given {self.rerank!r}")

    def search_options(self) -> SearchOptions:
        """Return the options of a search wide enough to choose from."""
        num_beams = max(self.num_beams, self.pool)
        keep = max(num_beams, POOL * self.pool)
        return SearchOptions(
            num_beams=num_beams,
            keep=keep,
            no_repeat_ngram=self.no_repeat_ngram_size,
            batch_size=self.batch_size,
        )


class Writer:
    """Write headlines with one model, or with the mean probabilities of several that share vocabularies.

    Every method takes a `length` and, by keyword, `unit`, `mode` (exact, max, range or free), `minimum` for
    a range, or a `preset` in their place; `require` (words that must occur) and `start` (how the headline
    begins); `num_beams`, `no_repeat_ngram_size`, `rerank` (`occurrences` or `once`: of 20 headlines, prefer
    those with the most words of the text), `batch_size` and `show_progress_bar`.
    """

    def __init__(
        self,
        model: Models = None,
        *,
        device: str | None = None,
        engine: Engine | str | None = None,
    ) -> None:
        members = open_members(find_models(model))
        self._checkpoint = combine(members)
        self.models = len(members)
        self._planner = Planner(self._checkpoint)
        self.name = self._checkpoint.name
        self.natural = Natural(self._checkpoint.natural_length, self._checkpoint.unit)
        self._engine = (
            load_engine(members, device=device, name=engine)
            if engine is None or isinstance(engine, str)
            else engine
        )

    @classmethod
    def from_pretrained(cls, model: str | Path, *, device: str | None = None) -> Self:
        """Open a model from a folder, or from the Hugging Face hub by `owner/name`."""
        return cls(fetch_model(model), device=device)

    @overload
    def __call__(self, text: str, *, length: int | None = None, **options: Unpack[Options]) -> str: ...

    @overload
    def __call__(
        self, text: list[str] | tuple[str, ...], *, length: int | None = None, **options: Unpack[Options]
    ) -> list[str]: ...

    def __call__(
        self,
        text: str | list[str] | tuple[str, ...],
        *,
        length: int | None = None,
        **options: Unpack[Options],
    ) -> str | list[str]:
        """Return the best headline of a text, or those of several texts in their order."""
        wish, effort = _asked(length, options)
        if isinstance(text, str):
            return _headlines(*self.fulfil([Order(text, wish)], effort))[0].text
        if not isinstance(text, list | tuple):
            raise RequestError(f"a text must be a string or a list of strings, given {type(text).__name__}")
        wish.resolve(self.natural)
        results = self.fulfil([Order(each, wish) for each in text], effort)
        return [_best(index, result).text for index, result in enumerate(results)]

    def candidates(
        self, text: str, *, length: int | None = None, count: int = 5, **options: Unpack[Options]
    ) -> list[Headline]:
        """Return up to `count` distinct headlines of one text, the best first."""
        wish, effort = _asked(length, options)
        return list(_headlines(*self.fulfil([Order(text, wish)], replace(effort, count=count))))

    def pipe(
        self,
        texts: Iterable[str | tuple[str, int]],
        *,
        length: int | None = None,
        **options: Unpack[Options],
    ) -> Iterator[Headline]:
        """Yield the best headline of each text, reading ahead by a batch; a pair brings its own length."""
        wish, effort = _asked(length, options)
        effort.check()
        _check_ahead(wish, self.natural)
        return self._flow((_order(item, wish) for item in texts), effort)

    def _flow(self, orders: Iterator[Order], effort: Effort) -> Iterator[Headline]:
        index = count_from(0)
        while batch := list(islice(orders, effort.batch_size)):
            for result in self.fulfil(batch, effort):
                yield _best(next(index), result)

    def fulfil(self, orders: Sequence[Order], effort: Effort) -> list[Result]:
        """Serve many orders together, in their order; one that cannot be served fails alone."""
        effort.check()
        read = lru_cache(TEXTS_KEPT)(self._planner.read)
        drafts = [self._draft(order, read) for order in orders]
        plans = [draft for draft in drafts if isinstance(draft, Plan)]
        if effort.rerank is not None:
            check_words(plan.source for plan in plans)
        report = reporter(
            len(plans), show=effort.show_progress_bar if len(plans) > effort.batch_size else False
        )
        searcher = Searcher(self._engine, self._planner, effort.search_options(), effort.batch_size, report)
        found = iter(searcher.run(plans))
        return [
            self._result(draft, next(found), effort) if isinstance(draft, Plan) else draft for draft in drafts
        ]

    def _draft(self, order: Order, read: Callable[[str], Source]) -> Plan | Result:
        request: Request | None = None
        try:
            request = order.wish.resolve(self.natural)
            if not isinstance(order.text, str):
                raise RequestError(f"a text must be a string, given {type(order.text).__name__}")
            return self._planner.plan(read(order.text), request).while_wanted(order.wanted)
        except RequestError as problem:
            return Result(request, error=str(problem))

    def _result(self, plan: Plan, found: Sequence[Found], effort: Effort) -> Result:
        if not plan.wanted():
            return Result(plan.request, error=WITHDRAWN)
        chosen = _chosen(plan, [self._candidate(plan, each) for each in found], effort)
        headlines = tuple(_headline(plan, candidate) for candidate in chosen)
        return Result(plan.request, headlines, plan.truncated)

    def _candidate(self, plan: Plan, found: Found) -> Candidate:
        text = self._checkpoint.target.decode(found.hypothesis.tokens)
        return Candidate(
            text=text,
            score=found.hypothesis.score,
            spent=found.hypothesis.spent,
            aim=found.aim,
            whole=ends_whole(text, plan.source, self._checkpoint.words),
        )


def _chosen(plan: Plan, candidates: Sequence[Candidate], effort: Effort) -> list[Candidate]:
    free = plan.request.mode == "free"
    best = (likeliest if free else choose)(candidates, effort.pool)
    if effort.rerank is not None:
        best = rerank(best, Overlap(plan.source, effort.rerank), whole_first=not free)[: effort.count]
    return best or [Candidate("", 0.0, 0, plan.request.budget, False)]


def _headline(plan: Plan, candidate: Candidate) -> Headline:
    """Count the finished text again, by the path that knows nothing of tokens."""
    unit, text = plan.request.unit, candidate.text
    length = count_units(text, unit)
    if length != candidate.spent or normalise(text) != text:
        raise MiscountError(
            f"{text!r} was to be {candidate.spent} {unit}, it is {length}; please report this"
        )
    return Headline(
        text=text,
        length=length,
        unit=unit,
        fits=plan.request.holds(length),
        whole_words=candidate.whole,
        score=candidate.score,
        truncated=plan.truncated,
        aim=candidate.aim,
    )


def _headlines(result: Result) -> tuple[Headline, ...]:
    if result.error is not None:
        raise RequestError(result.error)
    return result.headlines


def _best(index: int, result: Result) -> Headline:
    """Return the best headline of one text of several, or say which of them has none."""
    if result.error is not None:
        raise RequestError(f"texts[{index}]: {result.error}")
    return result.headlines[0]


def _order(item: str | tuple[str, int], wish: Wish) -> Order:
    if isinstance(item, tuple):
        text, length = item
        return Order(text, replace(wish, length=length))
    return Order(item, wish)


def _check_ahead(wish: Wish, natural: Natural) -> None:
    """Raise where a wish cannot be met whatever length a text may bring."""
    if wish.length is None and wish.preset is None:
        wish = replace(wish, length=wish.minimum or 1)
    wish.resolve(natural)


def _asked(length: int | None, options: Options) -> tuple[Wish, Effort]:
    unknown = sorted(set(options) - set(Options.__annotations__))
    if unknown:
        raise TypeError(f"unknown option {unknown[0]!r}; options are {', '.join(Options.__annotations__)}")
    wish = Wish(
        length=length,
        minimum=options.get("minimum"),
        unit=options.get("unit"),
        mode=options.get("mode"),
        preset=options.get("preset"),
        require=options.get("require", ()),
        start=options.get("start"),
    )
    batch_size = options.get("batch_size")
    effort = Effort(
        num_beams=options.get("num_beams", 5),
        no_repeat_ngram_size=options.get("no_repeat_ngram_size", 0),
        rerank=options.get("rerank"),
        batch_size=BATCH_SIZE if batch_size is None else batch_size,
        show_progress_bar=options.get("show_progress_bar"),
    )
    return wish, effort


def _check_whole(name: str, value: object, bounds: tuple[int, int]) -> None:
    least, most = bounds
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise RequestError(f"{name} must be a whole number from {least} to {most}, given {value!r}")
