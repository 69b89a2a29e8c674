import sys
import unicodedata
from functools import cache

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from wcwidth import wcswidth

from copyfit.text.graphemes import cells, graphemes, is_solid
from support_text import LOOSE_ZOO, ORDINARY, RAW_TEXTS, SOLID, SOLID_ZOO, segment, width_of

ALL = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]


@cache
def solid_characters() -> list[str]:
    return [character for character in ALL if is_solid(character)]


@given(RAW_TEXTS)
@settings(deadline=None)
def test_text_is_split_as_unicode_says(text: str) -> None:
    assert graphemes(text) == segment(text)


@pytest.mark.parametrize(
    ("text", "clusters"),
    [
        ("", []),
        ("ab", ["a", "b"]),
        ("a\r\nb", ["a", "\r\n", "b"]),
        ("नमस्ते", ["न", "म", "स्ते"]),
        ("🇯🇵🇺🇸🇫", ["🇯🇵", "🇺🇸", "🇫"]),
        ("ที่นี่", ["ที่", "นี่"]),
    ],
)
def test_known_texts_split_as_people_see_them(text: str, clusters: list[str]) -> None:
    assert graphemes(text) == clusters


@pytest.mark.parametrize("cluster", SOLID_ZOO)
def test_a_visible_cluster_that_keeps_to_itself_is_solid(cluster: str) -> None:
    assert is_solid(cluster)


@pytest.mark.parametrize("text", LOOSE_ZOO)
def test_what_is_invisible_or_joins_a_neighbour_is_not_solid(text: str) -> None:
    assert not is_solid(text)


def test_one_space_is_the_only_solid_white_space() -> None:
    assert [character for character in solid_characters() if character.isspace()] == [" "]


def test_no_character_that_unicode_lets_join_is_solid() -> None:
    joins = regex.compile(
        r"[\p{GCB=CR}\p{GCB=LF}\p{GCB=Control}\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}"
        r"\p{GCB=Prepend}\p{GCB=L}\p{GCB=V}\p{GCB=T}\p{RI}\p{InCB=Linker}]"
    )
    assert joins.findall("".join(solid_characters())) == []


def test_every_other_visible_character_in_composed_form_is_solid() -> None:
    stands_alone = regex.compile(r"(?!\p{InCB=Linker})[\p{GCB=Other}\p{GCB=LV}\p{GCB=LVT}]")
    solid = set(solid_characters())
    missing = [
        character
        for character in ALL
        if unicodedata.category(character)[0] in "LMNPS"
        and character not in solid
        and unicodedata.is_normalized("NFC", character)
        and stands_alone.match(character)
    ]
    assert missing == ["\u3164", "\uffa0"]  # the two Hangul fillers, which show nothing


def test_no_solid_character_composes_with_what_stands_before_it() -> None:
    pairs = [unicodedata.decomposition(chr(code)).split() for code in range(0x20000)]
    second = {chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2 and not pair[0].startswith("<")}
    assert "\u0301" in second
    assert second.isdisjoint(solid_characters())


@pytest.mark.parametrize(
    "other", ["a", "é", "가", "각", "क", "क\u093f", "க்", "ก็", "😀", "👍🏽", "👩\u200d🚀", "🇯🇵"]
)
def test_no_solid_character_of_unicode_joins_a_cluster_of_any_class(other: str) -> None:
    woven = other.join(solid_characters())
    expected = [cluster for character in solid_characters() for cluster in (character, other)][:-1]
    assert segment(woven) == expected
    assert graphemes(woven) == expected
    assert unicodedata.is_normalized("NFC", woven)


@given(st.lists(SOLID, max_size=12))
@settings(deadline=None)
def test_solid_clusters_laid_end_to_end_come_apart_again(clusters: list[str]) -> None:
    text = "".join(clusters)
    assert segment(text) == clusters
    assert graphemes(text) == clusters
    assert unicodedata.normalize("NFC", text) == text


@pytest.mark.parametrize("ambiguous", [1, 2])
def test_the_width_of_every_solid_character_is_its_east_asian_width(ambiguous: int) -> None:
    wrong = [
        character
        for character in solid_characters()
        if cells(character, ambiguous) != width_of(character, ambiguous)
    ]
    assert wrong == []


@given(ORDINARY)
@settings(deadline=None)
def test_the_width_of_a_cluster_follows_from_what_it_is_made_of(cluster: str) -> None:
    assert (cells(cluster), cells(cluster, 2)) == (width_of(cluster, 1), width_of(cluster, 2))


@pytest.mark.parametrize(
    ("cluster", "width"),
    [
        ("ｶ", 1),
        ("ｶﾞ", 2),
        ("カ", 2),
        ("é", 1),
        ("👩🏽\u200d🚀", 2),
        ("1\ufe0f\u20e3", 2),
        ("☕\ufe0e", 1),
        ("ါ", 1),
    ],
)
def test_the_width_of_a_cluster_is_what_is_seen(cluster: str, width: int) -> None:
    assert cells(cluster) == width


@pytest.mark.parametrize("invisible", ["\x00", "\n", "\r\n", "\u0301", "\u200b", "\x7f"])
def test_what_shows_nothing_takes_no_cell(invisible: str) -> None:
    assert cells(invisible) == 0


@given(SOLID)
@settings(deadline=None)
def test_every_solid_cluster_takes_a_cell(cluster: str) -> None:
    assert 1 <= cells(cluster) <= cells(cluster, 2)


def test_clusters_keep_their_width_where_a_terminal_would_run_them_together() -> None:
    # wcwidth's rule for whole strings lets a Tamil virama pull in the next cluster; cells add up instead.
    together = "க்" + "漢"
    assert wcswidth(together) == 2
    assert sum(map(cells, graphemes(together))) == 3
