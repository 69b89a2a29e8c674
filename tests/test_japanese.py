import sys

import pytest

from copyfit.errors import DataError
from copyfit.text import japanese
from copyfit.text.japanese import mecab_words


def test_japanese_words_are_told_apart() -> None:
    assert mecab_words("首相が辞任を表明した　13日") == [
        "首相",
        "が",
        "辞任",
        "を",
        "表明",
        "し",
        "た",
        "13",
        "日",
    ]
    assert mecab_words("") == []


@pytest.mark.parametrize("library", ["fugashi", "ipadic"])
def test_what_japanese_words_need_is_named(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    japanese._tagger.cache_clear()
    with pytest.raises(DataError, match=rf"Japanese words need {library}: pip install 'copyfit\[ja\]'"):
        mecab_words("首相")
