import json
import sys
import unicodedata

from hypothesis import given, settings

from copyfit.text.normal import normalise
from support_text import RAW_TEXTS


def test_white_space_of_every_kind_becomes_one_space_and_none_at_the_ends() -> None:
    white = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    assert "\u3000" in white
    assert "\x1f" in white
    for character in white:
        assert (
            normalise(f"{character} fire{character}{character}\r\nin\tLeeds {character}") == "fire in Leeds"
        )


def test_characters_are_composed() -> None:
    assert normalise("cafe\u0301 \u1112\u1161\u11ab \u212b") == "café 한 Å"


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    assert normalise("a\ud800b \udc00\ud83d") == "a\ufffdb \ufffd\ufffd"


def test_two_halves_of_one_character_are_joined() -> None:
    assert normalise(json.loads('"\\ud83d"') + json.loads('"\\ude00"') + "!") == "😀!"


def test_control_characters_and_markers_are_just_text() -> None:
    assert normalise("\x00</s> @@@@\ufeff") == "\x00</s> @@@@\ufeff"


@given(RAW_TEXTS)
@settings(deadline=None)
def test_the_normal_form_is_final_composed_encodable_and_singly_spaced(text: str) -> None:
    normal = normalise(text)
    assert normalise(normal) == normal
    assert unicodedata.is_normalized("NFC", normal)
    assert normal.encode("utf-8").decode("utf-8") == normal
    assert normal == " ".join(normal.split())
