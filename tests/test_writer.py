from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from copyfit.checkpoint import open_checkpoint, save_checkpoint
from copyfit.errors import RequestError
from copyfit.generation.jobs import Counting, Hypothesis, Job, SearchOptions
from copyfit.writing.headline import MiscountError, Result
from copyfit.writing.requests import Natural, Wish
from copyfit.writing.writer import Effort, Order, Writer
from support_models import holds_whole
from support_text import ORACLES, segment
from support_writing import ARTICLE, TEXTS, random_weights, save_tiny, tiny_checkpoint


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "subword")


@pytest.fixture(scope="module")
def writer(folder: Path) -> Writer:
    return Writer(folder, device="cpu")


@pytest.fixture(scope="module")
def characters(tmp_path_factory: pytest.TempPathFactory) -> Writer:
    return Writer(save_tiny(tmp_path_factory.mktemp("models") / "character", "character"), device="cpu")


class ScriptedEngine:
    """Give the same answers whatever is asked."""

    def __init__(self, *answers: Hypothesis) -> None:
        self.answers = list(answers)

    def search(
        self, jobs: Sequence[Job], counting: Counting, options: SearchOptions
    ) -> list[list[Hypothesis]]:
        assert counting.automaton.start == 0
        assert options.num_beams == 5
        return [self.answers for _ in jobs]


def test_a_text_gives_a_text_and_a_list_a_list(writer: Writer) -> None:
    one = writer(ARTICLE, length=20)
    assert isinstance(one, str)
    assert len(one) == 20
    assert writer([ARTICLE], length=20) == [one]
    assert writer((ARTICLE,), length=20) == [one]
    assert writer([], length=20) == []


def test_many_texts_give_what_each_gives_alone_in_their_order(writer: Writer) -> None:
    alone = [writer(text, length=11, num_beams=2) for text in TEXTS]
    assert writer(list(TEXTS), length=11, num_beams=2) == alone
    assert writer(list(TEXTS), length=11, num_beams=2, batch_size=3) == alone
    assert writer(list(reversed(TEXTS)), length=11, num_beams=2) == alone[::-1]
    assert len(set(alone)) > 1


def test_an_order_that_is_withdrawn_fails_alone(writer: Writer) -> None:
    effort = Effort(num_beams=2)
    kept, withdrawn = Order(TEXTS[0], Wish(12)), Order(TEXTS[1], Wish(12), wanted=lambda: False)
    first, second, third = writer.fulfil([kept, withdrawn, kept], effort)
    assert second.error == "the order was withdrawn before it was served"
    assert second.headlines == ()
    (alone,) = writer.fulfil([kept], effort)
    assert without_scores(first) == without_scores(third) == without_scores(alone)


def test_orders_of_all_units_and_modes_are_served_as_if_alone(writer: Writer) -> None:
    wishes = [
        Wish(12),
        Wish(12, unit="byte"),
        Wish(30, unit="gsm7"),
        Wish(2, unit="word", mode="max"),
        Wish(14, 9, unit="cell"),
        Wish(5, mode="free"),
    ]
    orders = [Order(text, wish) for text in TEXTS[::4] for wish in wishes]
    together = writer.fulfil(orders, Effort(num_beams=2, count=2))
    for order, result in zip(orders, together, strict=True):
        (alone,) = writer.fulfil([order], Effort(num_beams=2, count=2))
        assert without_scores(alone) == without_scores(result)
        for one, other in zip(alone.headlines, result.headlines, strict=True):
            assert one.score == pytest.approx(other.score, rel=1e-4)


class RecordingEngine:
    """Remember what is searched for, and find nothing."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def search(
        self, jobs: Sequence[Job], counting: Counting, options: SearchOptions
    ) -> list[list[Hypothesis]]:
        assert counting.automaton.start == 0
        assert options.num_beams == 5
        self.jobs += jobs
        return [[] for _ in jobs]


def test_a_text_that_is_wished_in_several_lengths_is_read_once(folder: Path) -> None:
    engine = RecordingEngine()
    wishes = [Wish(12), Wish(20, mode="max"), Wish(9, unit="byte")]
    Writer(folder, engine=engine).fulfil(
        [Order(text, wish) for text in TEXTS for wish in wishes], Effort(batch_size=100)
    )
    sources = [job.source for job in engine.jobs]
    assert len(sources) > len(TEXTS) * len(wishes)
    assert len({id(source) for source in sources}) == len(set(sources)) == len(TEXTS)


def without_scores(result: Result) -> Result:
    return replace(result, headlines=tuple(replace(headline, score=0) for headline in result.headlines))


def test_candidates_are_distinct_and_the_first_is_the_one_that_is_written(writer: Writer) -> None:
    candidates = writer.candidates(ARTICLE, length=16, count=7)
    assert len(candidates) == len({candidate.text for candidate in candidates}) == 7
    for candidate in candidates:
        assert (candidate.length, candidate.unit, candidate.aim) == (16, "char", 16)
        assert len(candidate.text) == 16
        assert candidate.fits
        assert candidate.score < 0
        assert not candidate.truncated
    order = [(not candidate.whole_words, -candidate.score) for candidate in candidates]
    assert order == sorted(order)


def test_a_whole_last_word_wins_over_a_better_score(folder: Path) -> None:
    target = open_checkpoint(folder).target
    answers = [Hypothesis(tuple(target.encode(text)), -rank, 4) for rank, text in enumerate(["towe", "town"])]
    candidates = Writer(folder, engine=ScriptedEngine(*answers)).candidates(ARTICLE, length=4)
    assert [(each.text, each.whole_words) for each in candidates] == [("town", True), ("towe", False)]


@pytest.mark.parametrize("unit", ["char", "grapheme", "cell", "cell-cjk", "byte", "utf16", "x", "gsm7"])
def test_a_headline_is_exact_in_units_that_the_model_was_not_trained_in(writer: Writer, unit: str) -> None:
    for length in (1, 7, 26):
        (headline,) = writer.candidates(ARTICLE, length=length, unit=unit, count=1)
        assert headline.length == ORACLES[unit](headline.text) == length
        assert headline.fits


def test_in_mode_max_several_budgets_are_told_and_the_winner_is_named(writer: Writer) -> None:
    aims = {
        writer.candidates(text, length=length, mode="max", count=1)[0].aim
        for text in TEXTS[:4]
        for length in (10, 20)
    }
    assert aims <= {7, 8, 9, 10, 14, 16, 18, 20}
    assert len(aims) > 1


def test_without_a_length_the_natural_one_is_told(writer: Writer) -> None:
    assert writer.natural == Natural(24, "char")
    (headline,) = writer.candidates(ARTICLE, count=1)
    assert headline.aim == 24
    assert headline.fits == (headline.length == 24)
    assert 1 <= headline.length <= 96


def test_a_preset_brings_unit_and_limit(writer: Writer) -> None:
    (headline,) = writer.candidates(ARTICLE, preset="google-ads-headline", count=1)
    assert headline.unit == "cell"
    assert headline.length <= 30
    assert headline.fits


def test_required_words_and_start_stand_in_every_headline(writer: Writer, characters: Writer) -> None:
    for each in (writer, characters):
        for headline in each.candidates(ARTICLE, length=30, require=["park", "storm"], start="The", count=3):
            assert headline.text.startswith("The")
            assert holds_whole(headline.text, "park")
            assert holds_whole(headline.text, "storm")
            assert len(headline.text) == 30


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"length": 5, "require": ["harbour"]}, "'harbour' must fit into exact 5 char"),
        ({"length": 5, "start": "harbour"}, "'harbour' must fit into exact 5 char"),
        ({"length": 12, "require": ["harbour", "school"]}, "must fit into exact 12 char"),
        ({"length": 12, "require": ["Ωmega"]}, "this model cannot write 'Ωmega'"),
        ({"length": 12, "start": "Ωmega"}, "this model cannot write 'Ωmega'"),
        ({"length": 12, "num_beams": 0}, "num_beams must be a whole number from 1 to 100, given 0"),
        ({"length": 12, "num_beams": True}, "num_beams must be"),
        ({"length": 12, "num_beams": 10**9}, "num_beams must be"),
        ({"length": 12, "batch_size": 0}, "batch_size must be"),
        ({"length": 12, "no_repeat_ngram_size": -1}, "no_repeat_ngram_size must be a whole number from 0"),
        ({"length": 0}, "length must be from 1 to 10000, given 0"),
        ({"length": 5, "unit": "inch"}, "the unit must be one of"),
    ],
)
def test_what_cannot_be_served_is_refused(writer: Writer, wish: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        writer(ARTICLE, **wish)


def repetitions(text: str) -> int:
    pairs = list(pairwise(segment(text)))
    return len(pairs) - len(set(pairs))


def test_repetition_can_be_forbidden(characters: Writer) -> None:
    free = characters(ARTICLE, length=40, num_beams=1)
    varied = characters(ARTICLE, length=40, num_beams=1, no_repeat_ngram_size=2)
    assert len(free) == len(varied) == 40
    assert repetitions(free) > 0
    assert repetitions(varied) == 0


@pytest.mark.parametrize("text", ["", " \t\n", "\u3000"])
def test_an_empty_text_is_refused(writer: Writer, text: str) -> None:
    with pytest.raises(RequestError, match="the text must not be empty"):
        writer(text, length=9)


def test_what_is_no_text_is_refused(writer: Writer) -> None:
    items: list[Any] = [ARTICLE, 7]
    with pytest.raises(RequestError, match=r"\Atexts\[1\]: a text must be a string, given int\Z"):
        writer(items, length=9)


@pytest.mark.parametrize("text", [{"text": ARTICLE}, {ARTICLE}, ARTICLE.encode(), 7, None, iter([ARTICLE])])
def test_what_is_neither_a_text_nor_a_list_is_refused(writer: Writer, text: Any) -> None:
    kind = type(text).__name__
    with pytest.raises(RequestError, match=f"a text must be a string or a list of strings, given {kind}"):
        writer(text, length=9)


def test_the_text_of_a_list_that_cannot_be_served_is_named_and_a_bad_length_is_no_text_s_fault(
    writer: Writer,
) -> None:
    with pytest.raises(RequestError, match=r"\Atexts\[2\]: the text must not be empty"):
        writer([ARTICLE, ARTICLE, " ", ""], length=9, num_beams=1)
    for texts in ([ARTICLE], []):
        with pytest.raises(RequestError, match=r"\Alength must be from 1"):
            writer(texts, length=0)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int32])
def test_whole_numbers_of_numpy_are_lengths(writer: Writer, kind: Any) -> None:
    assert writer(ARTICLE, length=kind(9), num_beams=1) == writer(ARTICLE, length=9, num_beams=1)
    (headline,) = writer.pipe([(ARTICLE, kind(8))], num_beams=1)
    assert headline.length == 8
    assert type(headline.aim) is int


def test_an_unknown_option_is_a_mistake_in_the_program(writer: Writer) -> None:
    options: dict[str, Any] = {"lenght": 9}
    with pytest.raises(TypeError, match="unknown option 'lenght'; options are unit, mode"):
        writer(ARTICLE, length=9, **options)


def test_an_order_that_fails_fails_alone(writer: Writer) -> None:
    orders = [Order(ARTICLE, Wish(9)), Order("", Wish(9)), Order(ARTICLE, Wish(-1)), Order(ARTICLE, Wish(8))]
    results = writer.fulfil(orders, Effort())
    assert [result.error is None for result in results] == [True, False, False, True]
    assert [len(result.headlines) for result in results] == [1, 0, 0, 1]
    assert results[1].request == results[0].request
    assert results[2].request is None


def test_a_source_longer_than_the_model_reads_is_cut_and_said_to_be(writer: Writer) -> None:
    short, long = writer.fulfil([Order("A storm", Wish(9)), Order("A storm " * 200, Wish(9))], Effort())
    assert (short.truncated, long.truncated) == (False, True)
    assert (short.headlines[0].truncated, long.headlines[0].truncated) == (False, True)
    more = writer.candidates("A storm " * 300, length=9, count=1)
    assert more[0].text == long.headlines[0].text


def test_any_text_at_all_is_served(writer: Writer) -> None:
    zoo = ["\ud800", "\x00", "</s>", "@@@@", "🏴", "\u202eabc", "a" * 10_000, "\u0301" * 500, "\ufeff", "7"]
    for text, headline in zip(zoo, writer(zoo, length=9, num_beams=1), strict=True):
        assert len(headline) == 9, text


def test_a_pipe_yields_as_it_reads_and_pairs_bring_their_own_length(writer: Writer) -> None:
    read = []

    def texts() -> Iterator[str | tuple[str, int]]:
        for number in range(7):
            read.append(number)
            yield ARTICLE if number % 2 else (ARTICLE, 10 + number)

    headlines = writer.pipe(texts(), length=9, num_beams=1, batch_size=2)
    assert next(headlines).length == 10
    assert len(read) == 2
    assert [headline.length for headline in headlines] == [9, 12, 9, 14, 9, 16]


def test_a_pipe_ends_at_what_cannot_be_served(writer: Writer) -> None:
    headlines = writer.pipe([ARTICLE, "", ARTICLE], length=9, num_beams=1)
    assert next(headlines).length == 9
    with pytest.raises(RequestError, match=r"\Atexts\[1\]: the text must not be empty"):
        next(headlines)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "batch_size must be a whole number from 1"),
        ({"batch_size": -1}, "batch_size must be a whole number from 1"),
        ({"num_beams": 0}, "num_beams must be a whole number from 1"),
        ({"length": 0}, "length must be from 1"),
        ({"minimum": 0}, "min must be from 1"),
        ({"unit": "pixel"}, "the unit must be one of"),
        ({"mode": "range"}, "mode range needs a min"),
        ({"preset": "sms", "length": 9}, "preset sms brings its own length"),
        ({"require": "Holm"}, "required words must be a list"),
    ],
)
def test_a_pipe_tells_mistakes_before_it_reads(writer: Writer, options: dict[str, Any], message: str) -> None:
    texts = iter([ARTICLE])
    with pytest.raises(RequestError, match=message):
        writer.pipe(texts, **options)
    assert list(texts) == [ARTICLE]


@pytest.mark.parametrize("options", [{"mode": "max"}, {"unit": "byte"}, {"minimum": 7}, {}])
def test_a_pipe_of_pairs_needs_no_length_of_its_own(writer: Writer, options: dict[str, Any]) -> None:
    (headline,) = writer.pipe([(ARTICLE, 8)], num_beams=1, **options)
    assert headline.fits


def test_a_pipe_counts_its_texts_through_all_batches(writer: Writer) -> None:
    headlines = writer.pipe([ARTICLE, ARTICLE, (ARTICLE, 0)], length=9, num_beams=1, batch_size=2)
    assert len([next(headlines), next(headlines)]) == 2
    with pytest.raises(RequestError, match=r"\Atexts\[2\]: length must be from 1"):
        next(headlines)


def test_progress_is_shown_when_asked_for(writer: Writer, capsys: pytest.CaptureFixture[str]) -> None:
    writer(list(TEXTS[:3]), length=9, num_beams=1, batch_size=2, show_progress_bar=True)
    assert capsys.readouterr().err == "\r0/3 headlines\r2/3 headlines\r3/3 headlines\n"
    writer(list(TEXTS[:3]), length=9, num_beams=1, batch_size=2)
    writer(list(TEXTS[:3]), length=9, num_beams=1, show_progress_bar=True)
    assert capsys.readouterr() == ("", "")


def test_threads_can_share_a_writer(writer: Writer) -> None:
    alone = [writer(text, length=9, num_beams=1) for text in TEXTS]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda text: writer(text, length=9, num_beams=1), TEXTS)) == alone


def test_a_wide_alphabet_cannot_fill_an_odd_number_of_cells(tmp_path: Path) -> None:
    checkpoint = tiny_checkpoint("character", texts=("東京大雨", "電車新橋"))
    save_checkpoint(tmp_path / "model", checkpoint, random_weights(checkpoint))
    writer = Writer(tmp_path / "model", device="cpu")
    for length, mode, minimum, text_length, fits in (
        (7, "exact", None, 6, False),
        (6, "exact", None, 6, True),
        (7, "max", None, None, True),
        (1, "exact", None, 0, False),
        (1, "max", None, 0, False),
        (7, "range", 7, 6, False),
        (1, "free", None, None, None),
    ):
        (headline,) = writer.candidates(
            "東京", length=length, minimum=minimum, unit="cell", mode=mode, count=1, num_beams=2
        )
        assert headline.length == 2 * len(headline.text)
        assert text_length in {None, headline.length}
        assert fits in {None, headline.fits}
    (empty,) = writer.candidates("東京", length=1, unit="cell", count=3)
    assert (empty.text, empty.length, empty.fits, empty.whole_words) == ("", 0, False, False)
    with pytest.raises(RequestError, match="'東' must fit into exact 7 cell"):
        writer("東京", length=7, unit="cell", start="東")


def test_an_engine_that_miscounts_is_found_out(folder: Path) -> None:
    tokens = tuple(open_checkpoint(folder).target.encode("park"))
    assert Writer(folder, engine=ScriptedEngine(Hypothesis(tokens, -1, 4)))(ARTICLE, length=4) == "park"
    with pytest.raises(MiscountError, match="'park' was to be 5 char, it is 4"):
        Writer(folder, engine=ScriptedEngine(Hypothesis(tokens, -1, 5)))(ARTICLE, length=5)


def test_an_engine_that_leaves_a_space_at_the_end_is_found_out(folder: Path) -> None:
    target = open_checkpoint(folder).target
    tokens = (*target.encode("park"), target.pieces.index(" ") + 3)
    with pytest.raises(MiscountError):
        Writer(folder, engine=ScriptedEngine(Hypothesis(tokens, -1, 5)))(ARTICLE, length=5)
