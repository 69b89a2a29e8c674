import unicodedata

import grapheme
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copyfit.errors import RequestError
from copyfit.text.units import UNITS, check_unit, count, septets, weigh
from support_text import LOOSE_ZOO, ORACLES, ORDINARY, RAW_TEXTS, SOLID, gsm_septets

ADDITIVE = tuple(unit for unit in UNITS if unit not in {"word", "gsm7"})
FAMILY = "👩\u200d👩\u200d👧\u200d👦"
SCOTLAND = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"


def test_the_units_are_the_promised_ones() -> None:
    assert UNITS == ("char", "grapheme", "cell", "cell-cjk", "byte", "utf16", "word", "x", "gsm7")


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("", (0, 0, 0, 0, 0, 0, 0, 0)),
        ("Fire in Leeds", (13, 13, 13, 13, 13, 3, 13, 13)),
        ("cafe\u0301", (4, 4, 4, 5, 4, 1, 4, 4)),
        ("東京で火災、3人", (8, 8, 15, 22, 8, 1, 15, 19)),
        ("ｶﾞｽ", (3, 2, 3, 9, 3, 1, 6, 7)),
        ("서울 불", (4, 4, 7, 10, 4, 2, 7, 10)),
        ("ที่นี่", (6, 2, 2, 18, 6, 1, 6, 14)),
        ("नमस्ते", (6, 3, 4, 18, 6, 1, 6, 14)),
        ("Zürich: 5€", (10, 10, 10, 13, 10, 2, 11, 11)),
        (FAMILY, (7, 1, 2, 25, 11, 1, 2, 26)),
        (SCOTLAND, (7, 1, 2, 28, 14, 1, 2, 32)),
        ("🇯🇵🇺🇸", (4, 2, 4, 16, 8, 1, 4, 19)),
        ("5\ufe0f\u20e3 tips", (8, 6, 7, 12, 8, 2, 7, 19)),
    ],
)
def test_a_text_has_its_known_length_in_every_unit(text: str, lengths: tuple[int, ...]) -> None:
    units = ("char", "grapheme", "cell", "byte", "utf16", "word", "x", "gsm7")
    assert tuple(count(text, unit) for unit in units) == lengths


def test_the_unit_is_code_points_when_none_is_given() -> None:
    assert count("e\u0301😀") == 2


@pytest.mark.parametrize(
    ("text", "narrow", "wide"), [("…", 1, 2), ("“No”", 4, 6), ("Δ§±", 3, 6), ("ａ", 2, 2), ("é", 1, 2)]
)
def test_ambiguous_characters_take_two_cells_in_a_cjk_context(text: str, narrow: int, wide: int) -> None:
    assert (count(text, "cell"), count(text, "cell-cjk")) == (narrow, wide)


def test_fifteen_and_a_half_full_width_characters_are_31_cells() -> None:
    assert count("消費税10%に引き上げ 来年4月から", "cell-cjk") == 31


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("Just some text", 14),
        ("á" * 140, 140),
        ("ǅ and Ồ", 8),
        ("문제는", 6),
        ("☕\ufe0f", 2),
        ("❤", 2),
        ("©", 1),
        ("©\ufe0f", 2),
        ("👾", 2),
        ("🙋🏽", 2),
        ("👨\u200d🎤", 2),
        (FAMILY, 2),
        ("#\ufe0f\u20e3", 2),
        ("\u2013\u2014\u2018\u2019\u201c\u201d", 6),
        ("\u2026\u2022", 4),
        ("\u2033", 1),
        ("https://example.com/a", 21),
    ],
)
def test_x_weighs_as_its_published_rules_say(text: str, weight: int) -> None:
    assert count(text, "x") == weight


def test_x_knows_every_emoji_of_the_basic_plane_and_no_other() -> None:
    for code in [*range(0x80, 0x300), *range(0x2000, 0x3400)]:
        sequence = unicodedata.normalize("NFC", chr(code) + "\ufe0f")
        assert count(sequence, "x") == ORACLES["x"](sequence), hex(code)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("a" * 160, 160),
        ("a" * 158 + "€", 160),
        ("^{}\\[~]|€\f", 20),
        ("@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ", 31),
        ("\u2126", 1),  # the ohm sign composes to omega, which GSM-7 has
        ("ж" * 70, 160),
        ("ж" * 71, 163),
        ("ж", 3),
        ("a" * 69 + "’", 160),
        ("ê", 3),
        ("ç", 3),
        ("`", 3),
        ("😀" * 35, 160),
        ("\t", 3),
    ],
)
def test_septets_are_counted_as_networks_count_them(text: str, length: int) -> None:
    assert count(text, "gsm7") == length


def test_the_gsm_alphabet_is_the_published_table() -> None:
    for code in range(0x10000):
        codes = gsm_septets(chr(code))
        assert septets(chr(code)) == (None if codes is None else len(codes))


@given(st.lists(st.one_of(ORDINARY, st.sampled_from([" ", "\n", "\t", "a\r\nb"])), max_size=12).map("".join))
@settings(deadline=None)
def test_every_count_equals_a_count_by_other_means(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    visible = {unit for unit in UNITS if unit not in {"cell", "cell-cjk"} or composed.isprintable()}
    assert {unit: count(text, unit) for unit in visible} == {
        unit: ORACLES[unit](composed) for unit in visible
    }


@given(RAW_TEXTS)
@settings(deadline=None)
def test_any_text_at_all_can_be_counted(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)
    for unit in UNITS:
        assert count(text, unit) == count(composed, unit) >= 0
    for unit in ("char", "grapheme", "byte", "utf16", "word", "gsm7"):
        assert count(text, unit) == ORACLES[unit](composed)


@given(st.text(st.characters(max_codepoint=0x2FF), max_size=40))
@settings(deadline=None)
def test_graphemes_agree_with_the_grapheme_package(text: str) -> None:
    assert count(text, "grapheme") == grapheme.length(unicodedata.normalize("NFC", text))


@given(st.lists(SOLID, max_size=12))
@settings(deadline=None)
def test_the_weights_of_solid_clusters_add_up_to_the_count(clusters: list[str]) -> None:
    for unit in ADDITIVE:
        assert sum(weigh(cluster, unit) for cluster in clusters) == count("".join(clusters), unit)


@pytest.mark.parametrize("text", LOOSE_ZOO)
def test_odd_strings_have_a_length_too(text: str) -> None:
    assert all(count(text, unit) >= 0 for unit in UNITS)


def test_a_known_unit_passes() -> None:
    assert [check_unit(unit) for unit in UNITS] == list(UNITS)


@pytest.mark.parametrize(
    ("given_name", "meant"), [("chars", "char"), ("bytes", "byte"), ("gsm", "gsm7"), ("utf-16", "utf16")]
)
def test_an_unknown_unit_is_refused_with_what_was_probably_meant(given_name: str, meant: str) -> None:
    with pytest.raises(RequestError) as refusal:
        count("a", given_name)
    assert str(refusal.value) == (
        "the unit must be one of char, grapheme, cell, cell-cjk, byte, utf16, word, x, gsm7; "
        f"given {given_name!r} (did you mean {meant!r}?)"
    )


def test_a_unit_like_no_other_is_refused_with_the_list() -> None:
    with pytest.raises(RequestError, match=r"given 'parsec'$"):
        check_unit("parsec")
