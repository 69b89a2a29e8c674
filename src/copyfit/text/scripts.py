"""Which scripts put no space between words."""

import re

UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0eff"  # Thai, Lao
    "\u0f00\u0f18-\u0f33\u0f35\u0f37\u0f39\u0f3e-\u0f84\u0f86-\u0fbd\u0fc6"  # Tibetan
    "\u1000-\u1049\u1050-\u109d\ua9e0-\ua9fe\uaa60-\uaa76\uaa7a-\uaa7f\U000116d0-\U000116e3"  # Myanmar
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u17e0-\u17f9"  # Khmer
    "\u1950-\u19da\u1a20-\u1a99\u1aa7\uaa80-\uaadd\U0001e6c0-\U0001e6f5"  # Tai scripts
    "\u1b00-\u1b4c\u1b50-\u1b59\u1b6b-\u1b73\ua980-\ua9c0\ua9cf-\ua9d9"  # Balinese, Javanese
    "\u3005-\u3007\u3021-\u302d\u3031-\u3035\u3038-\u303a\u303c"  # Marks and numerals among Han
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001b167"  # Kana
    "\u3105-\u312f\u31a0-\u31bf\ua000-\ua48c"  # Bopomofo, Yi
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
"""Their letters, marks and digits, not their punctuation: the inside of a class in a regular expression."""
_UNSPACED = re.compile(f"[{UNSPACED}]")


def is_unspaced(character: str) -> bool:
    """Tell whether a character writes words that have no space between them."""
    return _UNSPACED.match(character) is not None
