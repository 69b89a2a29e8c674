"""The one form in which text enters the system."""

import re
import unicodedata

_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str) -> str:
    """Replace lone surrogates by U+FFFD, compose (NFC), fold every run of white space to one space, strip."""
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return " ".join(unicodedata.normalize("NFC", text).split())
