"""What is asked of a writer, and whether it can be served at all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from operator import index
from typing import Any, Literal, get_args

from copyfit.errors import RequestError
from copyfit.text.budgets import MAX_BUDGET
from copyfit.text.normal import normalise
from copyfit.text.presets import Preset, find_preset
from copyfit.text.units import check_unit

Mode = Literal["exact", "max", "range", "free"]
MODES: tuple[Mode, ...] = get_args(Mode)
FREE_CEILING = 4
"""Where nothing bounds a headline from above, it ends at this multiple of its budget at the latest."""
LEAST_SHARE = 0.7
"""Below this share of the upper bound no budget is told to the model."""
TOLD_BUDGETS = 4
"""How many budgets within the bounds are told to the model in the modes `max` and `range`."""
MAX_REQUIRED = 20


@dataclass(frozen=True)
class Natural:
    """Hold the budget a model takes by itself: the median length of its training targets."""

    length: int
    unit: str


@dataclass(frozen=True)
class Request:
    """Hold a checked budget and the words a headline must have; `Wish.resolve` makes one."""

    unit: str
    mode: Mode
    budget: int
    minimum: int | None = None
    """The lower bound, in mode `range` only."""
    preset: str | None = None
    require: tuple[str, ...] = ()
    start: str = ""
    bounded: bool = True
    """Whether the upper bound was asked for, or is only where the search has to stop."""

    @property
    def bounds(self) -> tuple[int, int]:
        """Return the least and the greatest length that the search may write."""
        if self.mode == "free":
            return 1, min(FREE_CEILING * self.budget, MAX_BUDGET)
        return {"exact": self.budget, "max": 1, "range": self.minimum or 1}[self.mode], self.budget

    @property
    def aims(self) -> tuple[int, ...]:
        """Return the budgets to tell the model, the greatest last: the upper bound, where there is one."""
        if self.mode in {"exact", "free"}:
            return (self.budget,)
        minimum = self.minimum or 1
        most = self.budget if self.bounded else min(self.budget, int(minimum / LEAST_SHARE))
        least = max(minimum, ceil(LEAST_SHARE * most))
        steps = TOLD_BUDGETS - 1
        return tuple(sorted({round(least + (most - least) * i / steps) for i in range(TOLD_BUDGETS)}))

    def holds(self, length: int) -> bool:
        """Tell whether a length keeps to the mode; in mode `free`, whether the model hit the budget."""
        if self.mode == "free":
            return length == self.budget
        least, most = self.bounds
        return least <= length <= most

    def __str__(self) -> str:
        if not self.bounded:
            return f"{self.mode} from {self.minimum} {self.unit}"
        least = f"{self.minimum} to " if self.mode == "range" else ""
        return f"{self.mode} {least}{self.budget} {self.unit}"


@dataclass(frozen=True)
class Wish:
    """Hold what was asked, as it was asked; what is not given follows from the rest."""

    length: int | None = None
    minimum: int | None = None
    unit: str | None = None
    mode: str | None = None
    preset: str | None = None
    require: Sequence[str] = ()
    start: str | None = None

    @property
    def is_natural(self) -> bool:
        """Tell whether the length is left to the model."""
        return self.preset is None and self.length is None and self.minimum is None

    def resolve(self, natural: Natural) -> Request:
        """Check the wish and fill in what it leaves open."""
        if self.preset is not None:
            return self._of_preset(find_preset(_word("preset", self.preset)))
        if self.is_natural:
            return self._of_nature(natural)
        mode = self._mode("exact" if self.minimum is None else "range")
        unit = check_unit(_word("unit", self.unit)) if self.unit is not None else "char"
        minimum, budget = self._bounds(mode)
        return self._request(unit, mode, budget, minimum)

    def _of_preset(self, preset: Preset) -> Request:
        if self.length is not None or self.minimum is not None:
            raise RequestError(
                f"preset {preset.name} brings its own length, {preset.limit} {preset.unit}; give one of them"
            )
        if self.unit not in {None, preset.unit}:
            raise RequestError(
                f"preset {preset.name} counts {preset.unit}, given unit {self.unit!r}; leave it out"
            )
        mode = self._mode(preset.mode)
        minimum = preset.minimum if mode == "range" else None
        return replace(
            self._request(preset.unit, mode, preset.limit, minimum), preset=preset.name, bounded=True
        )

    def _of_nature(self, natural: Natural) -> Request:
        mode = self._mode("free")
        if mode != "free":
            raise RequestError(f"mode {mode} needs a length; give one, or leave the mode out")
        if self.unit not in {None, natural.unit}:
            check_unit(_word("unit", self.unit))
            raise RequestError(
                f"unit {self.unit} needs a length; without one it is {natural.length} {natural.unit}"
            )
        return self._request(natural.unit, mode, natural.length, None)

    def _mode(self, default: str) -> Mode:
        mode = default if self.mode is None else self.mode
        if mode not in MODES:
            raise RequestError(f"mode must be one of {', '.join(MODES)}, given {mode!r}")
        return mode

    def _bounds(self, mode: Mode) -> tuple[int | None, int]:
        if mode != "range":
            if self.minimum is not None:
                raise RequestError(f"min goes with mode range, given mode {mode}; leave one of them out")
            return None, _budget("length", self.length)
        minimum = _budget("min", self.minimum)
        if self.length is None:
            return minimum, min(FREE_CEILING * minimum, MAX_BUDGET)
        budget = _budget("length", self.length)
        if minimum > budget:
            raise RequestError(f"min must not be above max, given {minimum} and {budget}")
        return minimum, budget

    def _request(self, unit: str, mode: Mode, budget: int, minimum: int | None) -> Request:
        return Request(
            unit=unit,
            mode=mode,
            budget=budget,
            minimum=minimum,
            require=_required(self.require),
            start=_start(self.start),
            bounded=self.length is not None or minimum is None,
        )


def _budget(name: str, value: object) -> int:
    if value is None:
        raise RequestError(f"mode range needs a {name}; give one, or ask for mode max")
    budget = _whole(value)
    if budget is None:
        raise RequestError(f"{name} must be a whole number from 1 to {MAX_BUDGET}, given {value!r}")
    if not 1 <= budget <= MAX_BUDGET:
        raise RequestError(f"{name} must be from 1 to {MAX_BUDGET}, given {_shown(budget)}")
    return budget


def _whole(value: Any) -> int | None:
    try:
        return None if isinstance(value, bool) else index(value)
    except TypeError:
        return None


def _shown(value: int) -> str:
    return str(value) if abs(value) < 10**18 else "a number of more than 18 digits"


def _word(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise RequestError(f"{name} must be a name, given {value!r}")
    return value


def _required(words: object) -> tuple[str, ...]:
    if isinstance(words, str) or not isinstance(words, Sequence):
        raise RequestError(f"required words must be a list of words, given {words!r}")
    if len(words) > MAX_REQUIRED:
        raise RequestError(f"at most {MAX_REQUIRED} words can be required, given {len(words)}")
    return tuple(dict.fromkeys(_text("a required word", word) for word in words))


def _start(text: object) -> str:
    return "" if text is None else _text("the start", text)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise RequestError(f"{name} must be text, given {value!r}")
    text = normalise(value)
    if not text:
        raise RequestError(f"{name} must not be empty; leave it out")
    return text
