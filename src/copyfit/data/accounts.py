"""What was read, what was kept, and what was dropped for which reason."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

REASONS: Mapping[str, str] = {
    # Filters and encoding of pairs.
    "bad_line": "cannot be understood",
    "source_characters": "the source is shorter or longer than data.filters.source_characters",
    "target_characters": "the target is shorter or longer than data.filters.target_characters",
    "overlap": "fewer of the target's words occur in the source than data.filters.overlap asks for",
    "duplicate": "was there before, by data.filters.duplicates",
    "held_out": "its source is among the validation pairs",
    "outside_vocabulary": "the target has a character that the vocabulary does not have",
    "target_tokens": "the target has more tokens than data.longest_target",
    "unwritable": "the target cannot be written in data.unit",
    "left_out": "the target has a length of data.leave_out_lengths",
    # Corpora.
    "empty": "has no text where there must be some",
    "longer_than_groups": "the headline is longer than that of any group",
    "not_sampled": "its group had more than enough, and it was not drawn",
    "repeated_article": "another pair has the same article",
    "repeated_headline": "another pair has the same headline",
    "equals_sign": "the article has a =",
    "short_headline_26": "the headline for 26 characters has fewer than 24",
    "short_headline_13": "the headline for 13 characters has fewer than 11",
    "short_headline_10": "the headline for 10 characters has fewer than 8",
    "no_shared_word_26": "the headline for 26 characters shares no long word with the article",
    "no_shared_word_13": "the headline for 13 characters shares no long word with the article",
    "no_shared_word_10": "the headline for 10 characters shares no long word with the article",
    "of_another_task": "its name is not that of a model summary of task 1",
    "without_document": "its document is not there, or has no text",
}
"""What each reason means."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class Account:
    """Tell how many things of one part were read, and how many dropped for each reason."""

    part: str
    read: int
    dropped: Mapping[str, int]

    @property
    def kept(self) -> int:
        """How many were not dropped."""
        return self.read - self.lost

    @property
    def lost(self) -> int:
        """How many were dropped."""
        return sum(self.dropped.values())


class Screen:
    """Let pass what nothing is held against, and count the rest."""

    def __init__(self, part: str) -> None:
        self._part = part
        self._read = 0
        self._dropped = Counter[str]()

    def passing(self, items: Iterable[Item], objection: Callable[[Item], str | None]) -> Iterator[Item]:
        """Yield the items that there is no objection to."""
        for item in items:
            self._read += 1
            reason = objection(item)
            if reason is None:
                yield item
            else:
                self.drop(reason)

    def drop(self, reason: str, number: int = 1) -> None:
        """Count some of what was read as dropped."""
        if number:
            self._dropped[reason] += number

    def account(self) -> Account:
        """Return what came of all that was screened until now."""
        return Account(self._part, self._read, dict(sorted(self._dropped.items())))


def total(accounts: Iterable[Account]) -> Account:
    """Add up the accounts of several parts."""
    read, dropped = 0, Counter[str]()
    for account in accounts:
        read += account.read
        dropped.update(account.dropped)
    return Account("total", read, dict(sorted(dropped.items())))


def table(accounts: Iterable[Account]) -> list[str]:
    """Lay out accounts for people: a line for each part, and one for each reason, which is explained once."""
    rows = [("", "read", "kept", "dropped", "")]
    explained = set[str]()
    for account in accounts:
        rows.append((account.part, f"{account.read:,}", f"{account.kept:,}", f"{account.lost:,}", ""))
        for reason, number in account.dropped.items():
            note = "" if reason in explained else REASONS[reason]
            rows.append((f"  {reason}", "", "", f"{number:,}", note))
            explained.add(reason)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        f"{name:{widths[0]}}  {read:>{widths[1]}}  {kept:>{widths[2]}}  {lost:>{widths[3]}}  {note}".rstrip()
        for name, read, kept, lost, note in rows
    ]


def to_json(accounts: Iterable[Account]) -> dict[str, dict[str, Any]]:
    """Return the accounts as plain values, by their parts."""
    return {
        account.part: {"read": account.read, "kept": account.kept, "dropped": dict(account.dropped)}
        for account in accounts
    }
