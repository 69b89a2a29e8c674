"""The cells of a test choose their pairs by length, and what is written for them is scored whole and cut."""

from collections.abc import Sequence

import pytest

from copyfit.data.corpus import Pair
from copyfit.errors import DataError
from copyfit.evaluation.rouge import Rouge
from copyfit.experiments.matrix import CellSection, TestSection
from copyfit.experiments.measure import measure, pairs_of, scorers_of
from copyfit.writing.headline import Headline, Result
from copyfit.writing.requests import Natural
from copyfit.writing.writer import Effort, Order

PAIRS = [
    Pair("one two three four five six", ("one two", "one two three four")),
    Pair("six five four three two one", ("six five four three", "six")),
    Pair("a b c d e f g h", ("a b c",)),
]


class Copyist:
    """Write the beginning of the source, one character too long."""

    name = "copyist"
    models = 1

    def __init__(self) -> None:
        self.efforts: list[Effort] = []

    def fulfil(self, orders: Sequence[Order], effort: Effort) -> list[Result]:
        self.efforts.append(effort)
        return [self._result(order) for order in orders]

    def _result(self, order: Order) -> Result:
        request = order.wish.resolve(Natural(10, "char"))
        text = order.text[: request.budget + 1]
        headline = Headline(text, len(text), "char", False, True, 0.0, False, request.budget)
        return Result(request, (headline,))


def a_test(**values: object) -> TestSection:
    return TestSection.model_validate({"name": "t", "data": "t", "cells": [{"name": "c"}], **values})


def a_cell(**values: object) -> CellSection:
    return CellSection.model_validate({"name": "c", **values})


def test_bands_choose_pairs_by_their_first_reference_and_references_by_themselves() -> None:
    assert pairs_of(a_test(), a_cell(), PAIRS) == PAIRS
    assert pairs_of(a_test(), a_cell(pairs=(1, 7)), PAIRS) == [PAIRS[0], PAIRS[2]]
    assert pairs_of(a_test(first=1), a_cell(pairs=(1, 7)), PAIRS) == [PAIRS[0]]
    assert pairs_of(a_test(), a_cell(references=(8, 20)), PAIRS) == [
        Pair(PAIRS[0].source, ("one two three four",)),
        Pair(PAIRS[1].source, ("six five four three",)),
    ]
    with pytest.raises(DataError, match="its bands leave none"):
        pairs_of(a_test(), a_cell(pairs=(100, 200)), PAIRS)


def test_what_is_written_is_scored_whole_and_cut_by_the_very_scorers_of_the_command_line() -> None:
    writer = Copyist()
    test, cell = a_test(cut="bytes", cut_at=5, num_beams=3, batch_size=7), a_cell(length=10)
    record = measure(writer, PAIRS, test, cell, rerank="once")
    assert writer.efforts == [Effort(num_beams=3, batch_size=7, rerank="once")]
    texts = [pair.source[:11] for pair in PAIRS]
    for name, scorer in (("whole", Rouge()), ("cut", Rouge(limit_bytes=5))):
        score = scorer.score(texts, [pair.targets for pair in PAIRS])
        assert record.rouge[name] == {metric: each._asdict() for metric, each in score.averages.items()}
        assert record.signatures[name].endswith(score.signature)
        assert record.signatures[name].startswith(
            "mode:free|length:10|unit:char|models:1|beams:20|rerank:once"
        )
    assert record.n == 3
    assert record.differences == {1: 3}
    assert record.length_error["variance"] == 1.0


def test_differences_count_from_the_first_reference_where_its_length_is_asked_for() -> None:
    record = measure(Copyist(), PAIRS, a_test(), a_cell())
    assert record.differences == {1: 3}
    assert set(record.rouge) == {"whole"}


def test_texts_are_cut_at_the_length_of_each_cell() -> None:
    by_bytes = scorers_of(a_test(cut="bytes", cells=[{"name": "c", "length": 9}]), a_cell(length=9))
    assert by_bytes == {"whole": Rouge(), "cut": Rouge(limit_bytes=9)}
    test = a_test(cut="characters", words="mecab", cells=[{"name": "c", "length": 9}])
    assert scorers_of(test, a_cell(length=9))["cut"] == Rouge(stem=False, words="mecab", limit_characters=9)
