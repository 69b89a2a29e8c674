"""What a writer gives back."""

from dataclasses import dataclass

from copyfit.writing.requests import Request


class MiscountError(AssertionError):
    """Report that the search and the counter of finished text disagree: a bug, never a user's error."""


@dataclass(frozen=True)
class Headline:
    """Hold a text and the truth about its length, counted on the finished string."""

    text: str
    length: int
    unit: str
    fits: bool
    """Whether the length keeps to the mode that was asked for; in mode `free`, whether it is the budget."""
    whole_words: bool
    """Whether the text ends in a whole word."""
    score: float
    """The sum of the log-probabilities of its tokens."""
    truncated: bool
    """Whether the source was longer than the model reads."""
    aim: int
    """The budget that the model was told, in `unit`."""


@dataclass(frozen=True)
class Result:
    """Hold what came of one order: headlines, best first, or the error that says why there are none."""

    request: Request | None
    headlines: tuple[Headline, ...] = ()
    truncated: bool = False
    error: str | None = None
