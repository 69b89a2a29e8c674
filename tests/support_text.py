"""Texts from many scripts, and lengths counted by rules written here, not by the package."""

import re
import unicodedata
from collections.abc import Callable

import regex
from hypothesis import strategies as st

from copyfit.text.graphemes import is_solid

SOLID_ZOO = (
    *"aZ7.-'é漢字ひカｶー가각힣ㄱﾡกเขДЖßΩ—“…€^|~[👍🚀☺©™½ǅﬁ①",
    "ｶﾞ",
    "x\u0323\u0304",
    "ก็",
    "ที่",
    "ลึ้",
    "क्ष",
    "र्त्स्न्य",
    "नि",
    "क\u093c",
    "க்",
    "ক্ষ",
    "မြ",
    "ါ",
    "ی\u200c",
    "ש\u05c1",
    "ᄀ\u119eᆨ",
    "👩\u200d🚀",
    "👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏿",
    "🏳\ufe0f\u200d🌈",
    "🇯🇵",
    "🇺🇸",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "1\ufe0f\u20e3",
    "#\u20e3",
    "❤\ufe0f",
    "☕\ufe0e",
    "👍🏾",
)
"""Clusters that must be solid: one of each kind that news texts are made of."""

LOOSE_ZOO = (
    "",
    "  ",
    "ab",
    "\u0301",
    "ﾞ",
    "e\u0301",
    "\u00a0",
    "\u3000",
    "\n",
    "\x00",
    "\u00ad",
    "\u200b",
    "\u200d",
    "\u200e",
    "\ufe0f",
    "\ufeff",
    "\u0600",
    "\ue000",
    "\u0378",
    "\ud800",
    "\u3164",
    " \u0301",
    "ᄀ",
    "ᅡ",
    "ᆨ",
    "🇯",
    "🏽",
    "👩\u200d",
    "क्",
    "\u0d4e",
    "\u2126",
    "\u1100\u1161",
)
"""Strings that must not be: invisible, not one cluster, not NFC, or apt to join a neighbour."""

_TAILS = (
    "\u0301\u0304\u0323\u0327\u064e\u093c\u093f\u094d\u09bc\u0bcd\u0e34\u0e49\u103b\u200c\u200d\u20e3\ufe0e\ufe0f"
    "क ষ ᅡᆨᄀﾞ🏽👩🚀❤©🇯🇵\U000e0062\U000e007f"
)
_JOINERS = "".join(SOLID_ZOO) + "".join(LOOSE_ZOO) + _TAILS + " \t\r\n"
CODE_POINTS = st.one_of(st.sampled_from(sorted(set(_JOINERS))), st.characters(exclude_categories=()))
RAW_TEXTS = st.text(CODE_POINTS, max_size=24)
"""Texts of any code points at all, lone surrogates too, thick with those that join others."""

_GRAPHIC = st.characters(categories=("L", "N", "P", "S"))


def _compose(base: st.SearchStrategy[str], tails: str) -> st.SearchStrategy[str]:
    sequences = st.tuples(base, st.text(st.sampled_from(tails), max_size=4))
    return sequences.map(lambda parts: unicodedata.normalize("NFC", "".join(parts))).filter(is_solid)


ORDINARY = st.one_of(
    st.sampled_from(SOLID_ZOO), _compose(_GRAPHIC, "\u0301\u0304\u0323\u0327\u093c\u0e34\u0e49")
)
"""Solid clusters as people write them: the zoo, and any character of Unicode with marks above or below."""
SOLID = st.one_of(ORDINARY, _compose(st.one_of(st.sampled_from(SOLID_ZOO), _GRAPHIC), _TAILS))
"""Solid clusters of all kinds, with sequences that nobody has written yet."""

_LINKED = regex.compile(r"\p{InCB=Linker}[\p{InCB=Extend}\p{InCB=Linker}]*$")
_CONSONANT = regex.compile(r"\p{InCB=Consonant}")


def segment(text: str) -> list[str]:
    """Split by the `regex` module, which knows all of UAX 29 but its rule for Indic conjuncts (GB9c)."""
    clusters: list[str] = []
    for cluster in regex.findall(r"\X", text):
        if clusters and _LINKED.search(clusters[-1]) and _CONSONANT.match(cluster):
            clusters[-1] += cluster
        else:
            clusters.append(cluster)
    return clusters


def count_cells(text: str, ambiguous: int) -> int:
    """Count cells by East Asian Width, emoji presentation and spacing marks."""
    return sum(width_of(cluster, ambiguous) for cluster in segment(text))


_WIDE_SINCE_16 = regex.compile(
    "[\u2630-\u2637\u268a-\u268f\u4dc0-\u4dff\U0001d300-\U0001d356\U0001d360-\U0001d376]"
)


def width_of(cluster: str, ambiguous: int) -> int:
    """Return the cells of one cluster."""
    wide = {"W": 2, "F": 2, "A": ambiguous}.get(unicodedata.east_asian_width(cluster[0]), 1)
    if _WIDE_SINCE_16.match(cluster):
        wide = 2
    if len(cluster) == 1:
        return wide
    if regex.fullmatch(r"\p{RI}{2}", cluster) or regex.match(r"\p{Emoji}\ufe0f", cluster):
        return 2
    if regex.match(r"\p{Emoji_Presentation}\ufe0e", cluster):
        return 1
    takes_room = [regex.match(r"[\p{L}\p{Mc}--\p{GCB=V}--\p{GCB=T}]", c, regex.V1) for c in cluster[1:]]
    return 2 if any(takes_room) else wide


_X_EMOJI = regex.compile(
    r"\p{RI}{2}|[0-9#*]\ufe0f?\u20e3"
    r"|(?!\p{ASCII})\p{Emoji}(?:\ufe0f|\p{EMod})?[\U000e0020-\U000e007f]*(?:\u200d\p{Emoji}(?:\ufe0f|\p{EMod})?)*"
)


def count_x(text: str) -> int:
    """Count as the published configuration of X says, version 3: default 200, scale 100, emoji 200."""
    ranges = [(0, 4351), (8192, 8205), (8208, 8223), (8242, 8247)]
    total = 0
    for cluster in segment(text):
        if len(cluster) > 1 and _X_EMOJI.fullmatch(cluster):
            total += 200
            continue
        for character in cluster:
            light = any(start <= ord(character) <= end for start, end in ranges)
            total += 100 if light else 200
    return total // 100


_GSM_COLUMNS = (
    "@£$¥èéùìòÇ\nØø\rÅå",
    "Δ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ",
    " !\"#¤%&'()*+,-./",
    "0123456789:;<=>?",
    "¡ABCDEFGHIJKLMNO",
    "PQRSTUVWXYZÄÖÑÜ§",
    "¿abcdefghijklmno",
    "pqrstuvwxyzäöñüà",
)
_GSM_ESCAPED = {0x0A: "\f", 0x14: "^", 0x28: "{", 0x29: "}", 0x2F: "\\", 0x3C: "[", 0x3D: "~", 0x3E: "]"} | {
    0x40: "|",
    0x65: "€",
}


_GSM_CODES = {character: [code] for code, character in enumerate("".join(_GSM_COLUMNS)) if code != 0x1B}
_GSM_CODES |= {character: [0x1B, code] for code, character in _GSM_ESCAPED.items()}


def gsm_septets(text: str) -> list[int] | None:
    """Encode by the code table of GSM 03.38, or return None where it has no code."""
    if any(character not in _GSM_CODES for character in text):
        return None
    return [code for character in text for code in _GSM_CODES[character]]


def count_gsm7(text: str) -> int:
    """Count septets; a text beyond the alphabet takes two bytes a UTF-16 unit, packed into septets."""
    codes = gsm_septets(text)
    if codes is not None:
        return len(codes)
    bits = 8 * len(text.encode("utf-16-be", "surrogatepass"))
    return bits // 7 + (bits % 7 > 0)


ORACLES: dict[str, Callable[[str], int]] = {
    "char": lambda text: len(text.encode("utf-32-le", "surrogatepass")) // 4,
    "grapheme": lambda text: len(segment(text)),
    "cell": lambda text: count_cells(text, 1),
    "cell-cjk": lambda text: count_cells(text, 2),
    "byte": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "utf16": lambda text: sum(2 if ord(character) > 0xFFFF else 1 for character in text),
    "word": lambda text: len(re.findall(r"\S+", text)),
    "x": count_x,
    "gsm7": count_gsm7,
}
"""How long a text in NFC is in each unit, counted independently of the package."""
