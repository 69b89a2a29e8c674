"""Words of Japanese texts, which no space sets apart."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copyfit.errors import ConfigError
from copyfit.text import japanese
from copyfit.text.japanese import content_words, is_japanese, mecab_words
from copyfit.text.normal import normalise

SENTENCE = "大雨で電車が止まって、学校は休みになった。"


def test_words_are_those_of_the_dictionary_with_punctuation() -> None:
    assert mecab_words(SENTENCE) == [
        *("大雨", "で", "電車", "が", "止まっ", "て", "、"),
        *("学校", "は", "休み", "に", "なっ", "た", "。"),
    ]
    assert mecab_words("新　橋 IBM\t3.5%") == ["新", "橋", "IBM", "3", ".", "5", "%"]


def test_words_of_content_are_in_their_dictionary_form() -> None:
    assert content_words(SENTENCE) == ["大雨", "電車", "止まる", "学校", "休み", "なる"]
    assert content_words("走っていることを知らなかった12人のIBM社員") == ["走る", "知る", "IBM", "社員"]


@given(st.text())
def test_words_are_all_of_the_text_but_its_white_space(text: str) -> None:
    words = mecab_words(text)
    assert "".join(words) == normalise(text.replace("\0", " ")).replace(" ", "")
    assert all(words)


@pytest.mark.parametrize("text", ["", " ", "　\n", "\0"])
def test_a_text_of_nothing_has_no_words(text: str) -> None:
    assert mecab_words(text) == content_words(text) == []


def test_a_null_character_ends_no_text() -> None:
    assert mecab_words("大雨\0電車") == ["大雨", "電車"]


def test_texts_with_kana_are_japanese() -> None:
    assert all(map(is_japanese, [SENTENCE, "カフェ", "ﾈｺ"]))
    assert not any(map(is_japanese, ["", "東京大雨", "北京下雨了", "서울", "Tokyo ー・"]))


def test_threads_can_share_the_tagger() -> None:
    texts = [SENTENCE[start:] for start in range(len(SENTENCE))] * 20
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(mecab_words, texts)) == [mecab_words(text) for text in texts]


@pytest.fixture
def no_tagger() -> Iterator[None]:
    japanese._tagger.cache_clear()
    yield
    japanese._tagger.cache_clear()


@pytest.mark.usefixtures("no_tagger")
@pytest.mark.parametrize("library", ["fugashi", "ipadic"])
def test_a_missing_library_is_named_with_what_to_install(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ConfigError, match=rf"^[^\n]*{library}[^\n]*pip install 'copyfit\[ja\]'$"):
        mecab_words(SENTENCE)


@pytest.mark.usefixtures("no_tagger")
def test_the_tagger_is_made_once() -> None:
    first = japanese._tagger()
    mecab_words(SENTENCE)
    assert japanese._tagger() is first
