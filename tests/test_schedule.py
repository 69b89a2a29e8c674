import math

import pytest

from copyfit.training.schedule import cosine, inverse_square_root, rate_of_step


def test_the_inverse_square_root_rises_to_its_peak_and_falls_with_the_root() -> None:
    assert inverse_square_root(1, 4000) == 1 / 4000
    assert inverse_square_root(2000, 4000) == 0.5
    assert inverse_square_root(4000, 4000) == 1
    assert inverse_square_root(16_000, 4000) == 0.5
    assert inverse_square_root(4, 0) == 0.5


def test_the_cosine_rises_to_its_peak_and_ends_at_its_floor() -> None:
    rates = [cosine(step, 10, total=110, floor=0.1) for step in (5, 10, 60, 110, 500)]
    assert rates == pytest.approx([0.5, 1.0, 0.55, 0.1, 0.1])
    assert cosine(35, 10, total=110, floor=0.0) == pytest.approx((1 + math.sqrt(0.5)) / 2)


def test_a_cosine_without_a_warm_up_begins_below_its_peak_and_never_divides_by_nothing() -> None:
    assert cosine(1, 0, total=2, floor=0.0) == pytest.approx(0.5)
    assert cosine(3, 5, total=5, floor=0.0) == pytest.approx(0.6)
    assert cosine(5, 5, total=5, floor=0.0) == 1.0


def test_the_rate_scales_with_the_peak() -> None:
    falling = rate_of_step("inverse-square-root", peak=2e-3, warmup=100, total=None, floor=0.0)
    swinging = rate_of_step("cosine", peak=2e-3, warmup=100, total=300, floor=0.5)
    assert (falling(50), falling(400)) == pytest.approx((1e-3, 1e-3))
    assert (swinging(50), swinging(200), swinging(300)) == pytest.approx((1e-3, 1.5e-3, 1e-3))


def test_a_cosine_needs_an_end() -> None:
    with pytest.raises(ValueError, match="last step"):
        rate_of_step("cosine", peak=1e-3, warmup=0, total=None, floor=0.0)
