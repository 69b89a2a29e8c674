"""An evaluation of a writer whose headlines can be worked out by hand."""

from collections.abc import Sequence

import pytest
from copyfit.evaluation.rerank import BEST_OF, rerank

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
    """Write the beginning of a text; the candidates after it are ever shorter ends of the text."""

    name = "cutter"

    def __init__(self) -> None:
        self.orders: list[Order] = []
        self.efforts: list[Effort] = []

    def fulfil(self, orders: Sequence[Order], effort: Effort) -> list[Result]:
        self.orders += orders
        self.efforts.append(effort)
        return [self._result(order, effort.count) for order in orders]

    def _result(self, order: Order, wanted: int) -> Result:
        try:
            request = order.wish.resolve(Natural(10, "char"))
        except RequestError as problem:
            return Result(None, error=str(problem))
        texts = [
            order.text[: request.budget].strip(),
            *(order.text[start:].strip() for start in range(wanted)),
        ]
        return Result(request, tuple(headline(text, request.unit) for text in texts[:wanted]))


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
    evaluation = evaluate(Cutter(), PAIRS, length=12, settings=Settings(limit_bytes=8))
    expected = Rouge(limit_bytes=8).score(evaluation.headlines, [pair.targets for pair in PAIRS])
    assert evaluation.rouge == expected
    assert evaluation.rouge != evaluate(Cutter(), PAIRS, length=12).rouge


def test_the_search_is_as_wide_as_there_are_headlines_to_choose_from() -> None:
    writer = Cutter()
    evaluate(writer, PAIRS, settings=Settings(num_beams=7, batch_size=3))
    evaluate(writer, PAIRS, settings=Settings(num_beams=7, rerank=True))
    plain, wide = writer.efforts
    assert (plain.num_beams, plain.count, plain.batch_size) == (7, 1, 3)
    assert (wide.num_beams, wide.count) == (BEST_OF, BEST_OF)


def test_re_ranking_takes_the_candidate_with_the_most_words_of_the_source() -> None:
    settings = Settings(rerank=True)
    evaluation = evaluate(Cutter(), PAIRS, length=12, settings=settings)
    assert evaluation.headlines == tuple(pair.source for pair in PAIRS)


@pytest.mark.parametrize(
    ("texts", "source", "best"),
    [
        (["a dog ran", "dogs barked twice"], "The dog barks. Twice!", "dogs barked twice"),
        (["new york", "old york"], "York is old and new", "new york"),
        (["owl owl owl", "owl and seal"], "owl seal", "owl owl owl"),
        (["2026 2026", "in May"], "2026 in May", "in May"),
        (["Élan naïf", "de x"], "de l'élan naïf", "Élan naïf"),
    ],
    ids=["stems", "ties-keep-order", "every-occurrence", "only-words-with-a-letter", "other-alphabets"],
)
def test_re_ranking_counts_stems_of_the_source(texts: list[str], source: str, best: str) -> None:
    assert rerank([headline(text) for text in texts], source).text == best


def test_the_result_as_plain_values_has_the_promised_shape() -> None:
    plain = evaluate(Cutter(), PAIRS, length=12).to_json()
    assert set(plain) >= {
        *("n", "length", "unit", "mode", "rouge", "length_error", "signature", "headlines_per_second")
    }
    assert (plain["n"], plain["length"], plain["unit"], plain["mode"]) == (3, 12, "char", "free")
    assert set(plain["rouge"]) == {"R1", "R2", "RL"}
    assert {"recall", "precision", "f1", "recall_low", "recall_high"} <= set(plain["rouge"]["R1"])
    assert set(plain["length_error"]) == {"variance", "mean_absolute", "exact", "within"}
    assert plain["headlines_per_second"] > 0


def test_signatures_name_what_changes_the_headlines_or_their_scores() -> None:
    def signature(settings: Settings) -> str:
        return evaluate(Cutter(), PAIRS, length=12, settings=settings).signature

    different = [Settings(), Settings(limit_bytes=75), Settings(rerank=True), Settings(num_beams=1)]
    assert len(set(map(signature, different))) == len(different)
    assert signature(Settings()) == signature(Settings(batch_size=1))


def test_a_pair_that_cannot_be_served_ends_the_evaluation_and_is_named() -> None:
    with pytest.raises(RequestError, match=r"^pair 0: "):
        evaluate(Cutter(), PAIRS, length=0)


def test_an_evaluation_on_no_pairs_is_refused() -> None:
    with pytest.raises(DataError, match="at least one pair"):
        evaluate(Cutter(), [])
