"""Stem English words as ROUGE-1.5.5 does: WordNet's irregular forms first, then its own variant of Porter.

The variant, against Porter (1980): endings are tried one after the other in step 4, so that a word may lose
both -ment and -ent; y counts as whichever of vowel and consonant lets a rule apply; digits are consonants.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files

CONSONANTS = "[^aeiou][^aeiouy]*"
VOWELS = "[aeiouy][aeiou]*"
SYLLABLE = f"(?:{CONSONANTS})?{VOWELS}{CONSONANTS}"

HAS_VOWEL = re.compile(f"(?:{CONSONANTS})?[aeiouy]")
ONE_SYLLABLE = re.compile(f"{SYLLABLE}(?:{VOWELS})?")
SYLLABLES = re.compile(SYLLABLE)
TWO_SYLLABLES = re.compile(f"{SYLLABLE}{VOWELS}{CONSONANTS}")
SHORT = re.compile(f"{CONSONANTS}[aeiouy][^aeiouwxy]")
DOUBLED = re.compile(r".*([^aeiouylsz])\1")

DERIVED = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
DERIVED_AGAIN = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
ENDINGS = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement"),
    *("ou", "ism", "ate", "iti", "ous", "ive", "ize"),
)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Reduce a lower-case word of ASCII letters and digits to its stem; up to three letters stay."""
    if len(word) <= 3:
        return word
    irregular = irregular_forms().get(word)
    if irregular is not None:
        return irregular
    # A first y is no vowel; as a capital it falls outside every class of vowels.
    word = f"Y{word[1:]}" if word[0] == "y" else word
    word = _without_past(_without_plural(word))
    if word.endswith("y") and HAS_VOWEL.match(word[:-1]):
        word = f"{word[:-1]}i"
    word = _replaced(_replaced(word, DERIVED), DERIVED_AGAIN)
    return _without_last_letter(_without_endings(word)).lower()


@cache
def irregular_forms() -> dict[str, str]:
    """Load WordNet's irregular forms: word to base form."""
    text = files("copyfit.text").joinpath("wordnet_exceptions.txt").read_text(encoding="ascii")
    pairs = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return dict(pairs)


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if SYLLABLES.match(word[:-3]) else word
    rest = word.removesuffix("ed") if word.endswith("ed") else word.removesuffix("ing")
    return _mended(rest) if rest != word and HAS_VOWEL.match(rest) else word


def _mended(word: str) -> str:
    if word.endswith(("at", "bl", "iz")):
        return f"{word}e"
    if DOUBLED.fullmatch(word):
        return word[:-1]
    return f"{word}e" if SHORT.fullmatch(word) else word


def _replaced(word: str, endings: dict[str, str]) -> str:
    ending = _longest_ending(word, endings)
    rest = word.removesuffix(ending)
    return f"{rest}{endings[ending]}" if ending and SYLLABLES.match(rest) else word


def _longest_ending(word: str, endings: Iterable[str]) -> str:
    return max((ending for ending in endings if word.endswith(ending)), key=len, default="")


def _without_endings(word: str) -> str:
    word = _shortened(word, _longest_ending(word, ENDINGS))
    word = _shortened(word, "ment")
    if word.endswith("ent"):
        return _shortened(word, "ent")
    return _shortened(word, "ion") if word.endswith(("sion", "tion")) else word


def _shortened(word: str, ending: str) -> str:
    rest = word.removesuffix(ending)
    return rest if TWO_SYLLABLES.match(rest) else word


def _without_last_letter(word: str) -> str:
    if word.endswith("e") and _may_lose_e(word[:-1]):
        word = word[:-1]
    return word[:-1] if word.endswith("ll") and TWO_SYLLABLES.match(word) else word


def _may_lose_e(rest: str) -> bool:
    if TWO_SYLLABLES.match(rest):
        return True
    return ONE_SYLLABLE.fullmatch(rest) is not None and SHORT.fullmatch(rest) is None
