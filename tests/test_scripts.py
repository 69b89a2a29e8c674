"""Which characters write words without spaces, by their names in the Unicode database."""

import sys
import unicodedata

import pytest

from copyfit.text.scripts import is_unspaced

NAMES = (
    *("THAI ", "LAO ", "TIBETAN ", "MYANMAR ", "KHMER ", "TAI ", "NEW TAI ", "BALINESE ", "JAVANESE "),
    *("CJK UNIFIED", "CJK COMPATIBILITY", "IDEOGRAPHIC ITERATION", "HANGZHOU ", "BOPOMOFO ", "YI SYLLABLE"),
    *("HIRAGANA ", "KATAKANA ", "HALFWIDTH KATAKANA", "HENTAIGANA ", "VERTICAL KANA ", "MASU "),
    *("IDEOGRAPHIC CLOSING", "IDEOGRAPHIC NUMBER ZERO"),
    *(f"IDEOGRAPHIC {tone} TONE MARK" for tone in ("LEVEL", "RISING", "DEPARTING", "ENTERING")),
    *("COMBINING KATAKANA-HIRAGANA ", "KATAKANA-HIRAGANA "),
)


def test_letters_marks_and_digits_are_unspaced_when_their_scripts_are() -> None:
    characters = [chr(code) for code in range(sys.maxunicode + 1)]
    written = [character for character in characters if unicodedata.category(character)[0] in "LMN"]
    wrong = [
        f"{ord(character):X}"
        for character in written
        if is_unspaced(character) != unicodedata.name(character, "").startswith(NAMES)
    ]
    assert wrong == []


@pytest.mark.parametrize("character", "、。「・〜\u3000฿၊།។a1한 ")
def test_punctuation_and_other_scripts_are_not(character: str) -> None:
    assert not is_unspaced(character)
