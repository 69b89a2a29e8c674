import pytest

from copyfit.errors import RequestError
from copyfit.text.budgets import MAX_BUDGET
from copyfit.text.presets import PRESETS, Preset, find_preset
from copyfit.text.units import UNITS, count

EVERY_PRESET = pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)


def test_there_are_presets_for_many_platforms_each_with_a_name_of_its_own() -> None:
    assert len({preset.name for preset in PRESETS}) == len(PRESETS) >= 25


@EVERY_PRESET
def test_a_preset_is_a_budget_that_can_be_asked_for(preset: Preset) -> None:
    assert preset.name == preset.name.lower().strip()
    assert " " not in preset.name
    assert preset.unit in UNITS
    assert 0 < preset.limit <= MAX_BUDGET
    assert preset.mode in {"exact", "max", "range"}
    assert find_preset(preset.name) == preset


@EVERY_PRESET
def test_a_preset_has_a_minimum_when_it_is_a_range(preset: Preset) -> None:
    if preset.mode == "range":
        assert preset.minimum is not None
        assert 0 < preset.minimum < preset.limit
    else:
        assert preset.minimum is None


@EVERY_PRESET
def test_a_preset_says_what_it_is_and_where_its_number_comes_from(preset: Preset) -> None:
    assert preset.reference.strip()
    assert preset.note.endswith(".")


@pytest.mark.parametrize(
    ("name", "unit", "limit"),
    [
        ("google-ads-headline", "cell", 30),
        ("google-ads-description", "cell", 90),
        ("google-ads-path", "cell", 15),
        ("superdesk-headline", "char", 42),
        ("yahoo-japan-topics", "cell-cjk", 31),
        ("duc-2004", "byte", 75),
        ("app-store-name", "char", 30),
        ("google-play-short", "char", 80),
        ("sms", "gsm7", 160),
        ("x-post", "x", 280),
        ("bluesky-post", "grapheme", 300),
        ("git-subject", "char", 50),
    ],
)
def test_known_limits_are_kept(name: str, unit: str, limit: int) -> None:
    preset = find_preset(name)
    assert (preset.unit, preset.limit) == (unit, limit)


@pytest.mark.parametrize(
    ("name", "longest"),
    [
        ("google-ads-headline", "今すぐ無料で始める広告の見出し"),
        ("yahoo-japan-topics", "消費税10%に引き上げ 来年4月から"),
        ("sms", "ж" * 70),
        ("sms-unicode", "😀" * 35),
        ("x-post", "見" * 140),
        ("bluesky-post", "👩\u200d👧" * 300),
        ("duc-2004", "é" * 37 + "e"),
    ],
)
def test_a_text_that_just_fits_a_platform_has_the_length_of_its_preset(name: str, longest: str) -> None:
    preset = find_preset(name)
    assert count(longest, preset.unit) == preset.limit


def test_approximations_say_that_they_are() -> None:
    for name in ("seo-title", "meta-description", "push-title", "push-body"):
        assert find_preset(name).note.startswith("An approximation")
    assert "600 pixels" in find_preset("seo-title").note


def test_an_unknown_preset_is_refused_with_what_was_probably_meant() -> None:
    with pytest.raises(RequestError, match="given 'google-ad-headline'; did you mean google-ads-headline"):
        find_preset("google-ad-headline")


def test_a_preset_like_no_other_is_refused_with_all_names() -> None:
    with pytest.raises(RequestError) as refusal:
        find_preset("qqqq")
    assert all(preset.name in str(refusal.value) for preset in PRESETS)
