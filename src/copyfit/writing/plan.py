"""From a text and a request to the jobs of a search."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import NamedTuple

from copyfit.checkpoint import Checkpoint
from copyfit.errors import DataError, RequestError
from copyfit.generation.constraints import feasible
from copyfit.generation.jobs import Job, always
from copyfit.text.automata import needs_ucs2
from copyfit.text.normal import normalise
from copyfit.text.units import count
from copyfit.writing.measure import Measure
from copyfit.writing.requests import Request

Alphabet = tuple[str, bool]
"""A unit, and for `gsm7` whether the text is to travel as UCS-2."""


class Source(NamedTuple):
    """Hold a text as a model reads it: normalised, and its tokens, of which the last may be left out."""

    text: str
    tokens: tuple[int, ...]
    truncated: bool


@dataclass(frozen=True)
class Plan:
    """Hold one request worked out: the source as it is read, and one job for each budget told."""

    request: Request
    source: str
    truncated: bool
    alphabet: Alphabet | None = None
    aims: tuple[int, ...] = ()
    """The budgets told, in the unit of the request; none where no length at all can be written."""
    jobs: tuple[Job, ...] = ()
    """One for each aim."""
    wanted: Callable[[], bool] = always

    def told(self, alphabet: Alphabet, job: Job, aims: tuple[int, ...]) -> "Plan":
        """Return the plan with one job for each budget to tell."""
        jobs = tuple(replace(job, aim=aim * job.scale) for aim in aims)
        return replace(self, alphabet=alphabet, aims=aims, jobs=jobs)

    def while_wanted(self, wanted: Callable[[], bool]) -> "Plan":
        """Return the plan with jobs that end once they are no longer wanted."""
        return replace(self, wanted=wanted, jobs=tuple(replace(job, wanted=wanted) for job in self.jobs))


class Planner:
    """Work out requests for one checkpoint; keep the measure of every unit that was asked for."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._measures: dict[Alphabet, Measure] = {}

    def measure(self, alphabet: Alphabet) -> Measure:
        """Return the measure of a unit, made when it is first asked for."""
        if alphabet not in self._measures:
            unit, ucs2 = alphabet
            self._measures[alphabet] = Measure(
                self._checkpoint.target, unit, self._checkpoint.unit, ucs2=ucs2
            )
        return self._measures[alphabet]

    def read(self, text: str) -> Source:
        """Turn a text into a source, the same for all requests."""
        source = normalise(text)
        if not source:
            raise RequestError("the text must not be empty; give an article to write a headline for")
        tokens = self._checkpoint.source.encode(source)
        longest = self._checkpoint.longest_source
        read = tuple(self._checkpoint.source.shorten(tokens, longest))
        return Source(source, read, len(tokens) > longest)

    def plan(self, source: Source, request: Request) -> Plan:
        """Turn a source and a request into jobs; raise where no text at all could meet the wishes."""
        self._check_wishes(request)
        options = [
            (alphabet, self._job(source, request, alphabet))
            for alphabet in _alphabets(source.text, request.unit)
        ]
        plan = Plan(request, source.text, source.truncated)
        for alphabet, job in options:
            if feasible(job, self.measure(alphabet).counting):
                return plan.told(alphabet, job, request.aims)
        return self._fall_back(plan, options)

    def _fall_back(self, plan: Plan, options: Sequence[tuple[Alphabet, Job]]) -> Plan:
        """Plan for the greatest length below the bounds that the vocabulary can write at all."""
        request = plan.request
        if request.require or request.start:
            wanted = ", ".join(map(repr, filter(None, (request.start, *request.require))))
            raise RequestError(f"{wanted} must fit into {request}; no text does, ask for another length")
        reached = [
            (self.measure(alphabet).nearest(request.bounds[1]), alphabet, job) for alphabet, job in options
        ]
        nearest, alphabet, job = max(reached, key=itemgetter(0))
        if not nearest:
            return plan
        return plan.told(alphabet, replace(job, floor=nearest, limit=nearest), (nearest,))

    def _check_wishes(self, request: Request) -> None:
        for text in filter(None, (request.start, *request.require)):
            try:
                self._checkpoint.target.encode(text)
            except DataError as problem:
                raise RequestError(f"this model cannot write {text!r}: {problem}") from problem

    def _job(self, source: Source, request: Request, alphabet: Alphabet) -> Job:
        floor, limit = request.bounds
        return Job(
            source=source.tokens,
            aim=0.0,
            floor=floor,
            limit=limit,
            max_steps=self.measure(alphabet).longest_steps(limit),
            scale=self._scale(source.text, alphabet),
            prefix=tuple(self._checkpoint.target.encode(request.start)) if request.start else (),
            required=request.require,
            normalised=request.mode == "free",
        )

    def _scale(self, source: str, alphabet: Alphabet) -> float:
        """Estimate how many of the model's units one unit is, from the source's count in both."""
        unit, ucs2 = alphabet
        trained = self._checkpoint.unit
        if unit == trained:
            return 1.0
        # One foreign character would count a whole source as UCS-2, though its headline is kept in GSM-7.
        counted = "char" if unit == "gsm7" and not ucs2 else unit
        return max(count(source, trained), 1) / max(count(source, counted), 1)


def _alphabets(source: str, unit: str) -> list[Alphabet]:
    if unit != "gsm7":
        return [(unit, False)]
    ucs2 = needs_ucs2(source)
    return [(unit, ucs2), (unit, not ucs2)]
