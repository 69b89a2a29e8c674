"""Which pairs are worth learning from; nothing here knows a language."""

import re
from hashlib import blake2b

from pydantic import Field

from copyfit.config import Section
from copyfit.data.duplicates import Duplicates
from copyfit.text.scripts import UNSPACED

# Hangul parts words by spaces, but with their endings.
_JOINED = f"{UNSPACED}\uac00-\ud7a3"
_RUN = re.compile(f"([{_JOINED}]{{2,}})|([^\\W_]+)")
_SHORT = 3
"""Words of so few letters say little about the content, unless there are no others."""


class FilterSection(Section):
    """Say which pairs are kept."""

    source_characters: tuple[int, int] = (1, 100_000)
    """The least and the greatest length of a source."""
    target_characters: tuple[int, int] = (1, 1_000)
    """The least and the greatest length of a target."""
    overlap: float = Field(default=0.0, ge=0, le=1)
    """The least share of a target's content words that must occur in the source; 0 asks for none."""
    duplicates: Duplicates = "pair"
    """What must not occur twice. Nor is a validation source trained on, unless all are kept."""


def objection(source: str, target: str, section: FilterSection) -> str | None:
    """Return the name of the filter that a pair does not pass, None when it passes all."""
    shortest, longest = section.source_characters
    if not shortest <= len(source) <= longest:
        return "source_characters"
    shortest, longest = section.target_characters
    if not shortest <= len(target) <= longest:
        return "target_characters"
    if section.overlap and overlap(source, target) < section.overlap:
        return "overlap"
    return None


def overlap(source: str, target: str) -> float:
    """Return the share of a target's content words that occur anywhere in the source, inside words too.

    Where words are not parted by spaces, every two neighbouring characters are taken for one.
    """
    words = _content_words(target.casefold())
    folded = source.casefold()
    return sum(word in folded for word in words) / len(words) if words else 0.0


def _content_words(text: str) -> list[str]:
    runs = _RUN.findall(text)
    words = [word for _, word in runs if word]
    content = [word for word in words if len(word) > _SHORT]
    content += [run[start : start + 2] for run, _ in runs for start in range(len(run) - 1)]
    return content or words


def fingerprint(text: str, seed: int = 0) -> int:
    """Hash a text to 64 bits, the same in every process."""
    key = seed.to_bytes(8, "little")
    return int.from_bytes(blake2b(text.encode(), digest_size=8, key=key).digest(), "little")
