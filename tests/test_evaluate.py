"""An evaluation of a writer whose headlines can be worked out by hand."""

from collections.abc import Sequence
from typing import Any

import pytest

from copyfit import __version__
from copyfit.data.corpus import Pair
from copyfit.errors import DataError, RequestError
from copyfit.evaluation.evaluate import Settings, evaluate
from copyfit.evaluation.lengths import LengthError
from copyfit.evaluation.rouge import Rouge
from copyfit.text.units import count
from copyfit.writing.headline import Headline, Result
from copyfit.writing.requests import Natural, Wish
from copyfit.writing.writer import Effort, Order

PAIRS = [
    Pair("storm shuts schools in Oxby", ("storm shuts schools", "schools shut")),
    Pair("owls and seals in Tarn", ("seals in Tarn",)),
    Pair("taxes rise", ("taxes rise",)),
]


class Cutter:
    """Write the beginning of a text."""

    name = "cutter"

    def __init__(self, models: int = 1) -> None:
        self.models = models
        self.orders: list[Order] = []
        self.efforts: list[Effort] = []

    def fulfil(self, orders: Sequence[Order], effort: Effort) -> list[Result]:
        self.orders += orders
        self.efforts.append(effort)
        return [self._result(order) for order in orders]

    def _result(self, order: Order) -> Result:
        try:
            request = order.wish.resolve(Natural(10, "char"))
        except RequestError as problem:
            return Result(None, error=str(problem))
        return Result(request, (headline(order.text[: request.budget].strip(), request.unit),))


def headline(text: str, unit: str = "char") -> Headline:
    return Headline(
        text=text,
        length=count(text, unit),
        unit=unit,
        fits=True,
        whole_words=True,
        score=-1.0,
        truncated=False,
        aim=10,
    )


def test_every_headline_gets_the_length_of_its_pair_s_first_reference() -> None:
    writer = Cutter()
    evaluation = evaluate(writer, PAIRS, length="reference", unit="char", mode="free")
    assert [order.wish for order in writer.orders] == [
        Wish(length=length, unit="char", mode="free") for length in (19, 13, 10)
    ]
    assert evaluation.headlines == ("storm shuts schools", "owls and seal", "taxes rise")
    assert evaluation.length_error == LengthError(0, 0, 1, 1)


def test_a_length_in_a_unit_is_the_budget_of_all_headlines() -> None:
    writer = Cutter()
    evaluation = evaluate(writer, PAIRS, length=12, unit="byte", mode="max")
    assert {order.wish for order in writer.orders} == {Wish(length=12, unit="byte", mode="max")}
    assert evaluation.headlines == ("storm shuts", "owls and sea", "taxes rise")
    assert evaluation.length_error == LengthError((1 + 0 + 4) / 3, (1 + 0 + 2) / 3, 1 / 3, 1)


def test_headlines_are_scored_against_all_references_of_their_pairs() -> None:
    evaluation = evaluate(Cutter(), PAIRS, length=12, settings=Settings(rouge=Rouge(limit_bytes=8)))
    expected = Rouge(limit_bytes=8).score(evaluation.headlines, [pair.targets for pair in PAIRS])
    assert evaluation.rouge == expected
    assert evaluation.rouge != evaluate(Cutter(), PAIRS, length=12).rouge


def test_the_writer_searches_as_it_is_told() -> None:
    writer, effort = Cutter(), Effort(num_beams=7, batch_size=3, rerank="once", no_repeat_ngram_size=2)
    evaluate(writer, PAIRS, settings=Settings(effort))
    assert writer.efforts == [effort]


def test_japanese_headlines_are_cut_and_scored_by_their_words() -> None:
    pairs = [Pair("大雨で電車が止まり学校が休みに", ("大雨で学校が休み", "電車が止まる"))]
    rouge = Rouge(stem=False, words="mecab", limit_characters=5)
    evaluation = evaluate(Cutter(), pairs, length=9, settings=Settings(rouge=rouge))
    assert evaluation.headlines == ("大雨で電車が止まり",)
    # Of 大雨 で 電車 the first reference has two words of its five, the second one of its three.
    assert evaluation.rouge.items[0]["R1"] == (0.375, 0.5, 0.42857)


def test_the_result_as_plain_values_has_the_promised_shape() -> None:
    plain = evaluate(Cutter(), PAIRS, length=12).to_json()
    assert set(plain) >= {
        *("n", "length", "unit", "mode", "rouge", "length_error", "signature", "headlines_per_second")
    }
    assert (plain["n"], plain["length"], plain["unit"], plain["mode"]) == (3, 12, "char", "free")
    assert set(plain["rouge"]) == {"R1", "R2", "RL"}
    assert {"recall", "precision", "f1", "recall_low", "recall_high"} <= set(plain["rouge"]["R1"])
    names = ("variance", "mean_absolute", "exact", "within")
    assert set(plain["length_error"]) == {f"{name}{end}" for name in names for end in ("", "_low", "_high")}
    for name in names:
        low, high = (plain["length_error"][f"{name}_{end}"] for end in ("low", "high"))
        assert low <= plain["length_error"][name] <= high
    assert plain["headlines_per_second"] > 0


def test_signatures_name_what_changes_the_headlines_or_their_scores() -> None:
    def signature(settings: Settings, models: int = 1, **asked: Any) -> str:
        return evaluate(Cutter(models), PAIRS, settings=settings, **({"length": 12} | asked)).signature

    different = [
        signature(Settings()),
        signature(Settings(), length=11),
        signature(Settings(), length="reference"),
        signature(Settings(), unit="byte"),
        signature(Settings(), mode="exact"),
        signature(Settings(), models=2),
        signature(Settings(Effort(num_beams=1))),
        signature(Settings(Effort(rerank="occurrences"))),
        signature(Settings(Effort(rerank="once"))),
        signature(Settings(Effort(no_repeat_ngram_size=2))),
        signature(Settings(rouge=Rouge(limit_bytes=75))),
        signature(Settings(rouge=Rouge(limit_words=75))),
        signature(Settings(rouge=Rouge(limit_characters=75))),
        signature(Settings(rouge=Rouge(stem=False))),
        signature(Settings(rouge=Rouge(stem=False, words="mecab"))),
        signature(Settings(rouge=Rouge(formula="best"))),
        signature(Settings(rouge=Rouge(confidence=90))),
    ]
    assert len(set(different)) == len(different)
    assert signature(Settings()) == signature(Settings(Effort(batch_size=1)))
    assert different[0] == (
        "mode:free|length:12|unit:char|models:1|beams:5|rerank:no|no-repeat:no|ROUGE-1.5.5|references:1-2"
        "|words:ascii|stem:porter+wordnet-2.0|limit:no|formula:average|confidence:95|resamples:1000"
        f"|copyfit:{__version__}"
    )
    assert "|beams:20|rerank:occurrences of 20|" in different[7]


def test_a_pair_that_cannot_be_served_ends_the_evaluation_and_is_named() -> None:
    with pytest.raises(RequestError, match=r"^pair 0: "):
        evaluate(Cutter(), PAIRS, length=0)


def test_an_evaluation_on_no_pairs_is_refused() -> None:
    with pytest.raises(DataError, match="at least one pair"):
        evaluate(Cutter(), [])
