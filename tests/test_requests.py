from collections.abc import Sequence
from math import nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import RequestError
from copyfit.text.presets import PRESETS
from copyfit.text.units import UNITS
from copyfit.writing.requests import Natural, Request, Wish

NATURAL = Natural(40, "char")
NUMPY = (np.True_, np.float64(5), np.array([5, 6]))
BUDGETS = st.integers(1, 10_000)


def resolve(**wish: Any) -> Request:
    return Wish(**wish).resolve(NATURAL)


def refused(**wish: Any) -> str:
    with pytest.raises(RequestError) as caught:
        resolve(**wish)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_length_is_exact_characters_when_nothing_else_is_said() -> None:
    request = resolve(length=30)
    assert (request.unit, request.mode, request.budget, request.bounds) == ("char", "exact", 30, (30, 30))


def test_two_bounds_are_a_range() -> None:
    request = resolve(length=30, minimum=20)
    assert (request.mode, request.bounds) == ("range", (20, 30))


def test_no_length_at_all_is_the_natural_one_in_mode_free() -> None:
    request = Wish().resolve(Natural(17, "byte"))
    assert (request.unit, request.mode, request.budget) == ("byte", "free", 17)
    assert request == Wish(unit="byte", mode="free").resolve(Natural(17, "byte"))


def test_free_headlines_end_at_four_times_the_budget() -> None:
    assert resolve(length=30, mode="free").bounds == (1, 120)
    assert resolve(length=9_000, mode="free").bounds == (1, 10_000)


def test_at_least_is_a_range_that_aims_just_above_its_bound() -> None:
    request = resolve(minimum=30)
    assert request.mode == "range"
    assert request.bounds == (30, 120)
    assert request.aims[0] == 30
    assert request.aims[-1] == 42
    assert str(request) == "range from 30 char"


def test_the_model_is_told_the_upper_bound_and_some_budgets_below() -> None:
    assert resolve(length=30, mode="max").aims == (21, 24, 27, 30)
    assert resolve(length=30, minimum=27).aims == (27, 28, 29, 30)
    assert resolve(length=30, minimum=30).aims == (30,)
    assert resolve(length=1, mode="max").aims == (1,)
    assert resolve(length=30).aims == (30,)
    assert resolve(length=30, mode="free").aims == (30,)


@given(BUDGETS, BUDGETS, st.sampled_from(["max", "range"]))
def test_every_budget_told_is_within_the_bounds(one: int, other: int, mode: str) -> None:
    least, most = sorted((one, other))
    request = resolve(length=most, minimum=least if mode == "range" else None, mode=mode)
    assert request.aims[-1] == most
    assert list(request.aims) == sorted(set(request.aims))
    assert 1 <= len(request.aims) <= 4
    assert all(request.bounds[0] <= aim <= most and aim >= 0.7 * most - 1 for aim in request.aims)


@pytest.mark.parametrize(
    ("wish", "fitting"),
    [
        ({"length": 5}, [5]),
        ({"length": 5, "mode": "max"}, [1, 2, 3, 4, 5]),
        ({"length": 5, "minimum": 3}, [3, 4, 5]),
        ({"length": 5, "mode": "free"}, [5]),
    ],
)
def test_a_length_fits_when_the_mode_holds(wish: dict[str, Any], fitting: list[int]) -> None:
    request = resolve(**wish)
    assert [length for length in range(30) if request.holds(length)] == fitting


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_every_preset_can_be_asked_for(preset: Any) -> None:
    request = resolve(preset=preset.name)
    assert (request.preset, request.unit, request.mode) == (preset.name, preset.unit, preset.mode)
    assert request.bounds == (preset.minimum or {"exact": preset.limit}.get(preset.mode, 1), preset.limit)
    assert resolve(preset=preset.name, mode="exact").bounds == (preset.limit, preset.limit)
    assert resolve(preset=preset.name, unit=preset.unit) == request


@pytest.mark.parametrize(
    "value", [0, -1, -(10**30), 10_001, 10**30, True, 5.0, nan, "30", [30], b"3", *NUMPY]
)
@pytest.mark.parametrize("name", ["length", "min"])
def test_a_budget_that_is_no_sensible_number_is_refused(name: str, value: object) -> None:
    message = refused(**({"length": value} if name == "length" else {"minimum": value, "length": 50}))
    assert message.startswith(f"{name} must be ")
    assert "from 1 to 10000, given" in message
    assert len(message) < 120


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"length": 20, "minimum": 30}, "min must not be above max, given 30 and 20"),
        ({"length": 20, "unit": "pixel"}, "the unit must be one of char, grapheme"),
        ({"length": 20, "unit": 7}, "unit must be a name, given 7"),
        ({"length": 20, "mode": "about"}, "mode must be one of exact, max, range, free, given 'about'"),
        ({"length": 20, "mode": ["exact"]}, "mode must be one of"),
        ({"length": 20, "mode": "range"}, "mode range needs a min"),
        ({"length": 20, "minimum": 3, "mode": "max"}, "min goes with mode range, given mode max"),
        ({"mode": "exact"}, "mode exact needs a length"),
        ({"mode": "range"}, "mode range needs a length"),
        ({"unit": "byte"}, "unit byte needs a length; without one it is 40 char"),
        ({"unit": "pixel"}, "the unit must be one of"),
        ({"preset": "sms", "length": 20}, "preset sms brings its own length, 160 gsm7"),
        ({"preset": "sms", "minimum": 20}, "preset sms brings its own length"),
        ({"preset": "sms", "unit": "char"}, "preset sms counts gsm7, given unit 'char'"),
        ({"preset": "smss"}, "sms"),
        ({"preset": 3}, "preset must be a name, given 3"),
        ({"length": 20, "require": "word"}, "required words must be a list of words, given 'word'"),
        ({"length": 20, "require": 3}, "required words must be a list"),
        ({"length": 20, "require": ["a", 3]}, "a required word must be text, given 3"),
        ({"length": 20, "require": [" "]}, "a required word must not be empty"),
        ({"length": 20, "require": ["a"] * 21}, "at most 20 words can be required, given 21"),
        ({"length": 20, "start": ""}, "the start must not be empty"),
        ({"length": 20, "start": 3}, "the start must be text, given 3"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(wish: dict[str, Any], message: str) -> None:
    assert message in refused(**wish)


def test_required_words_and_start_are_taken_in_normal_form() -> None:
    request = resolve(length=20, require=["Cafe\u0301", " New\tYork", "Café"], start=" The\n")
    assert request.require == ("Café", "New York")
    assert request.start == "The"


@given(
    st.sampled_from(UNITS),
    st.one_of(st.none(), st.integers(-5, 12_000)),
    st.one_of(st.none(), st.integers(-5, 12_000)),
    st.sampled_from([None, "exact", "max", "range", "free"]),
)
def test_a_wish_is_served_if_it_makes_sense_and_else_refused_in_one_line(
    unit: str, length: int | None, minimum: int | None, mode: str | None
) -> None:
    wish = Wish(length, minimum, unit, mode)
    given = [budget for budget in (length, minimum) if budget is not None]
    ordered = minimum is None or length is None or minimum <= length
    ranged = minimum is not None
    sensible = all(1 <= budget <= 10_000 for budget in given) and ordered
    natural = not given and mode in {None, "free"} and unit == "char"
    if natural or (given and sensible and (mode in {None, "range"} if ranged else mode != "range")):
        least, most = wish.resolve(NATURAL).bounds
        assert 1 <= least <= most <= 10_000
    else:
        with pytest.raises(RequestError, match=r"\A[^\n]+\Z"):
            wish.resolve(NATURAL)


def test_words_may_come_in_any_sequence() -> None:
    sequences: list[Sequence[str]] = [["a", "b"], ("a", "b")]
    assert {resolve(length=9, require=words).require for words in sequences} == {("a", "b")}
