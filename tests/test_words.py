"""Words, the list of known ones, and whether a text ends in a whole one."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.text.normal import normalise
from copyfit.text.words import WordList, ends_whole, last_word, words
from support_text import RAW_TEXTS

KNOWN = WordList(["harbour", "plans", "i", "mayor", "straße"])
NOTHING = WordList()
SOURCE = "The mayor's co-founder plans a five-alarm drill at Smith’s U.S. harbour in “İzmir”, he said."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("New ferries sail", ["new", "ferries", "sail"]),
        ("(Plans), “ferries”; sail!", ["plans", "ferries", "sail"]),
        ("mayor's mayor’s MAYOR'S boys' don't", ["mayor", "mayor", "mayor", "boys", "don't"]),
        ("five-alarm co\u2010founder pro-", ["alarm", "founder"]),
        ("port/town…ferry—bridge", ["port", "town", "ferry", "bridge"]),
        ("I see a U.S. plan A", ["I", "see", "a", "U", "S", "plan", "A"]),
        ("GROSSE STRASSE, große Straße", ["grosse", "strasse", "grosse", "strasse"]),
        ("2031: 3rd", ["2031", "3rd"]),
        ("— … !", []),
        ("हिन्दी में।", ["हिन्दी", "में"]),
    ],
)
def test_words_are_folded_and_bare(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("New Ferries", "ferries"), ("New ferries — …", "ferries"), ("…", ""), ("", "")]
)
def test_the_last_word_is_folded_too(text: str, expected: str) -> None:
    assert last_word(text) == expected


@given(text=RAW_TEXTS.map(normalise))
def test_the_last_word_is_the_last_of_the_words(text: str) -> None:
    assert last_word(text) == (words(text) or [""])[-1]


@given(texts=st.lists(RAW_TEXTS.map(normalise)))
def test_the_words_of_a_text_are_those_of_its_parts(texts: list[str]) -> None:
    assert words(" ".join(texts)) == [word for text in texts for word in words(text)]


@pytest.mark.parametrize(
    "text",
    [
        "New harbour",
        "New HARBOUR",
        "the Mayor's",
        "the town-mayor",
        "a drill",
        "in Smith",
        "an alarm",
        "U.S",
        "in İzmir",
    ],
)
def test_a_text_that_ends_in_a_word_of_the_source_or_the_list_ends_whole(text: str) -> None:
    assert ends_whole(text, SOURCE, KNOWN)


@pytest.mark.parametrize(
    "text", ["New harb", "the may", "said in Smith I", "the co-foun", "a dril", "in İzm"]
)
def test_a_text_that_ends_in_half_a_word_does_not(text: str) -> None:
    assert not ends_whole(text, SOURCE, KNOWN)


def test_a_single_small_letter_is_not_the_word_of_a_single_capital() -> None:
    assert ends_whole("am I", "What I saw", NOTHING)
    assert not ends_whole("Anna Smith i", "What I saw", NOTHING)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Who knows?",
        "half a wor…",
        "a 4-3",
        "in 203",
        "50%",
        "東京で船",
        "カレー大盛",
        "ｶﾚｰ",
        "กินข้าว",
        "ភាសាខ្មែរ",
        "人々",
        "ᬅᬓ᭄ᬱᬭ",
        "ꦲꦏ꧀ꦱꦫ",
    ],
)
def test_punctuation_digits_and_scripts_without_spaces_end_whole(text: str) -> None:
    assert ends_whole(text, "", NOTHING)


@pytest.mark.parametrize("text", ["서울에서 배", "новый поро", "סירה חדש", "हिन्दी मे"])
def test_other_scripts_have_words(text: str) -> None:
    assert not ends_whole(text, "", NOTHING)
    assert ends_whole(text, text, NOTHING)


@given(source=RAW_TEXTS.map(normalise), length=st.integers(1, 8))
def test_the_beginning_of_a_source_up_to_a_space_ends_whole(source: str, length: int) -> None:
    assert ends_whole(" ".join(source.split()[:length]), source, NOTHING)


def test_the_list_keeps_what_occurs_five_times() -> None:
    counts = Counter(words("sail " * 5 + "Ferry " * 4 + "I " * 6))
    assert list(WordList.from_counts(counts)) == ["I", "sail"]
    assert list(WordList.from_counts(counts, minimum=4)) == ["I", "ferry", "sail"]


def test_the_list_tells_what_it_knows() -> None:
    assert "harbour" in KNOWN
    assert "harb" not in KNOWN
    assert len(KNOWN) == 5
    assert list(KNOWN) == sorted(KNOWN)


@given(texts=st.lists(RAW_TEXTS.map(normalise)))
def test_writing_and_reading_gives_the_same_list(texts: list[str]) -> None:
    known = WordList(word for text in texts for word in words(text))
    text = known.to_text()
    assert list(WordList.from_text(text)) == list(known)
    assert text.count("\n") == len(known)
