"""The definition of a length: what each unit counts."""

import difflib
import math
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from copyfit.errors import RequestError
from copyfit.text.graphemes import cells, graphemes

UNITS = ("char", "grapheme", "cell", "cell-cjk", "byte", "utf16", "word", "x", "gsm7")
"""`cell-cjk` is `cell` with characters of ambiguous width two cells wide. URLs are plain text in `x`."""

_GSM7_ESCAPED = frozenset("^{}\\[~]|€\f")
"""The characters of GSM 03.38 that cost an escape and a septet; all others of it cost one septet."""
_GSM7 = _GSM7_ESCAPED | frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)

_X_LIGHT = ((0x0000, 0x10FF), (0x2000, 0x200D), (0x2010, 0x201F), (0x2032, 0x2037))
_PICTOGRAPH = (
    "[©®‼⁉™ℹ↔-↙↩↪⌚⌛⌨⏏⏩-⏳⏸-⏺Ⓜ▪▫▶◀◻-◾☀-☄☎☑☔☕☘☝☠☢☣☦☪☮☯☸-☺♀♂♈-♓♟♠♣♥♦♨♻♾♿"
    "⚒-⚗⚙⚛⚜⚠⚡⚧⚪⚫⚰⚱⚽⚾⛄⛅⛈⛎⛏⛑⛓⛔⛩⛪⛰-⛵⛷-⛺⛽✂✅✈-✍✏✒✔✖✝✡✨✳✴❄❇❌❎❓-❕❗❣❤➕-➗➡➰➿⤴⤵⬅-⬇⬛⬜⭐⭕〰〽㊗㊙"
    "\U0001f000-\U0001faff][\ufe0f\U0001f3fb-\U0001f3ff]?"
)
_EMOJI = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}"
    "|[0-9#*]\ufe0f?\u20e3"
    f"|{_PICTOGRAPH}[\U000e0020-\U000e007f]*(?:\u200d{_PICTOGRAPH})*"
)


def check_unit(name: str) -> str:
    """Return the name of a unit, or say which units there are."""
    if name in UNITS:
        return name
    close = difflib.get_close_matches(name, UNITS, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise RequestError(f"the unit must be one of {', '.join(UNITS)}; given {name!r}{hint}")


def count(text: str, unit: str = "char") -> int:
    """Count a finished text as it stands, after NFC, by the rule of the unit for whole texts."""
    return _WHOLE_TEXT[check_unit(unit)](unicodedata.normalize("NFC", text))


def septets(text: str) -> int | None:
    """Return what a text takes in GSM-7, or None when a character of it is outside that alphabet."""
    if not _GSM7.issuperset(text):
        return None
    return len(text) + sum(character in _GSM7_ESCAPED for character in text)


@lru_cache(maxsize=1 << 16)
def weigh(cluster: str, unit: str) -> int:
    """Return what one grapheme cluster costs in a unit in which clusters add up (not `word`, not `gsm7`)."""
    return _CLUSTER[unit](cluster)


def _count_gsm7(text: str) -> int:
    in_alphabet = septets(text)
    return math.ceil(16 * _count_utf16(text) / 7) if in_alphabet is None else in_alphabet


def _count_utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _count_cells(text: str, ambiguous_width: int = 1) -> int:
    return sum(cells(cluster, ambiguous_width) for cluster in graphemes(text))


def _weigh_bytes(cluster: str) -> int:
    return sum(1 + sum(character >= edge for edge in "\x80\u0800\U00010000") for character in cluster)


def _weigh_utf16(cluster: str) -> int:
    return sum(1 + (character >= "\U00010000") for character in cluster)


def _weigh_x(cluster: str) -> int:
    if len(cluster) > 1 and _EMOJI.fullmatch(cluster):
        return 2
    return sum(1 if _is_light(ord(character)) else 2 for character in cluster)


def _is_light(code_point: int) -> bool:
    return any(first <= code_point <= last for first, last in _X_LIGHT)


_WHOLE_TEXT: dict[str, Callable[[str], int]] = {
    "char": len,
    "grapheme": lambda text: len(graphemes(text)),
    "cell": _count_cells,
    "cell-cjk": lambda text: _count_cells(text, 2),
    "byte": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "utf16": _count_utf16,
    "word": lambda text: len(text.split()),
    "x": lambda text: sum(map(_weigh_x, graphemes(text))),
    "gsm7": _count_gsm7,
}
_CLUSTER: dict[str, Callable[[str], int]] = {
    "char": len,
    "grapheme": lambda _: 1,
    "cell": cells,
    "cell-cjk": lambda cluster: cells(cluster, 2),
    "byte": _weigh_bytes,
    "utf16": _weigh_utf16,
    "x": _weigh_x,
}
