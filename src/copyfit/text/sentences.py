"""Where sentences end, in English news and in Japanese news."""

import re
from collections.abc import Iterator
from itertools import accumulate

_STOP = re.compile(r"""[.!?]+['"’”)\]]*(?=\s+['"‘“`(\[]*[A-Z0-9])""")
_NEVER_LAST = re.compile(
    "Adm|Assn|Ave|Brig|Capt|Cmdr|Col|Cpl|Dr|Fr|Gen|Gov|Hon|Lt|Maj|Messrs|Mr|Mrs|Ms|Mt|No|Pfc|Prof|Pvt"
    "|Reps?|Rev|Sens?|Sgt|St|Supt|vs"
    "|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
    "|Ala|Ariz|Ark|Calif|Colo|Conn|Del|Fla|Ga|Ill|Ind|Kan|Ky|La|Mass|Md|Mich|Minn|Miss|Mo|Mont|Neb|Nev|Okla"
    "|Ore|Pa|Tenn|Tex|Va|Vt|Wash|Wis|Wyo"
    "|[A-HJ-Z]"
)
"""Abbreviations, and initials, after which a sentence goes on."""
_SELDOM_LAST = re.compile(r"Bros|Cos?|Corp|etc|Inc|Jr|Ltd|Sr|(?:[A-Za-z]\.)+[A-Za-z]")
"""Abbreviations, and acronyms, after which a sentence goes on unless a word follows that begins one."""
_BEGINNING = re.compile(
    r"""\s+['"‘“`(\[]*(?:An?|And|As|At|But|For|He|However|I|If|In|Its?|Many|Most|No|On|One|She|Some|That|Their"""
    r"""|The|There|These|They|This|Those|We|When|While)\b"""
)
_BRACKETS = {"」": "「", "）": "（"}
_RELEASED_BRACKETS = re.compile("(「[^」]+」|（.+）)。*")
_RELEASED_SENTENCE = re.compile("(?:「[^」]+」|（.+）|[^。])+。?")


def first_sentence(text: str) -> str:
    """Return the first sentence of an English text.

    It ends at a period, an exclamation or a question mark before a capital or a digit, with the quotation
    marks and brackets that close there, but for the periods of abbreviations.
    """
    for stop in _STOP.finditer(text):
        if stop.group() != "." or not _is_abbreviation(text, stop):
            return text[: stop.end()]
    return text


def _is_abbreviation(text: str, stop: "re.Match[str]") -> bool:
    word = text[: stop.start()].rpartition(" ")[2].lstrip("'\"‘“`([")
    if _NEVER_LAST.fullmatch(word):
        return True
    return bool(_SELDOM_LAST.fullmatch(word)) and not _BEGINNING.match(text, stop.end())


def japanese_sentences(text: str) -> list[str]:
    """Return the sentences of a Japanese text: they end at 。, but not inside of 「」 or （）."""
    depths = accumulate(_depth_changes(text))
    ends = [
        place + 1
        for place, (character, depth) in enumerate(zip(text, depths, strict=True))
        if character == "。" and not depth
    ]
    pieces = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    return list(filter(None, pieces))


def released_sentences(text: str) -> list[str]:
    """Return the sentences of a Japanese text as the script does that JAMUL was published with.

    All from the first （ to the last ） counts as one bracket, and a 。 behind a closing bracket neither ends
    a sentence nor stays.
    """
    return _RELEASED_SENTENCE.findall(_RELEASED_BRACKETS.sub(r"\1", text))


def _depth_changes(text: str) -> list[int]:
    """Return how much deeper in brackets each character is; brackets without a partner do not count."""
    changes = [0] * len(text)
    for opened, closed in _bracketed(text):
        changes[opened] += 1
        changes[closed] -= 1
    return changes


def _bracketed(text: str) -> Iterator[tuple[int, int]]:
    waiting: list[int] = []
    for place, character in enumerate(text):
        if character in _BRACKETS.values():
            waiting.append(place)
        elif character in _BRACKETS:
            partners = [each for each in waiting if text[each] == _BRACKETS[character]]
            if partners:
                yield partners[-1], place
                del waiting[waiting.index(partners[-1]) :]
