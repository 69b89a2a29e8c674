"""Re-ranking by the words of the source, against headlines whose words can be counted by eye."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from copyfit.checkpoint import open_checkpoint
from copyfit.errors import ConfigError, RequestError
from copyfit.generation.jobs import Counting, Hypothesis, Job, SearchOptions
from copyfit.text import japanese
from copyfit.writing.overlap import BEST_OF, Overlap, Rerank
from copyfit.writing.requests import Wish
from copyfit.writing.writer import Effort, Order, Writer
from support_writing import ARTICLE, TEXTS, save_tiny

SOURCE = "The storm shuts schools. A storm!"
RAIN = "大雨で電車が止まり、学校は休みになった。"


@pytest.mark.parametrize(
    ("headline", "source", "occurrences", "once"),
    [
        ("dogs barked twice", "The dog barks. Twice!", 3, 3),
        ("owl owl OWL", "owl seal", 3, 1),
        ("owl owls", "owl seal", 2, 1),
        ("2026 2026 in 2026", "2026 in May", 1, 1),
        ("5-4 3.14 $5", "5-4 3.14 $5", 0, 0),
        ("Élan naïf", "de l'élan naïf", 2, 2),
        ("", "owl", 0, 0),
        ("owl", "…", 0, 0),
        ("電車が止まった、電車が", RAIN, 3, 2),
        ("大雨が降った", RAIN, 1, 1),
        ("は、で。に", RAIN, 0, 0),
    ],
    ids=[
        *(
            "stems",
            "every-occurrence",
            "stems-once",
            "only-words-with-a-letter",
            "numbers",
            "other-alphabets",
        ),
        *("no-headline", "no-words", "japanese-forms", "other-words", "japanese-words-without-content"),
    ],
)
def test_words_of_the_source_are_counted(headline: str, source: str, occurrences: int, once: int) -> None:
    assert Overlap(source, "occurrences")(headline) == occurrences
    assert Overlap(source, "once")(headline) == once


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("model") / "tiny", "character")


class Scripted:
    """Give the same texts whatever is asked, best first, as many as are to be kept."""

    def __init__(self, folder: Path, texts: Sequence[str]) -> None:
        target = open_checkpoint(folder).target
        self.options = SearchOptions()
        self.answers = [
            # In their order by the score per unit.
            Hypothesis(tuple(target.encode(text)), -float(rank * len(text)), len(text))
            for rank, text in enumerate(texts)
        ]

    def search(
        self,
        jobs: Sequence[Job],
        counting: Counting,  # noqa: ARG002
        options: SearchOptions,
    ) -> list[list[Hypothesis]]:
        self.options = options
        return [self.answers[: options.keep] for _ in jobs]


def ranked(folder: Path, texts: Sequence[str], effort: Effort, mode: str = "free") -> list[str]:
    writer = Writer(folder, engine=Scripted(folder, texts))
    (result,) = writer.fulfil([Order(ARTICLE, Wish(length=len(texts[0]), mode=mode))], effort)
    return [headline.text for headline in result.headlines]


FILLER = [f"ty {first}{second}" for first in "abcde" for second in "fghim"]


def test_of_equals_the_one_that_the_search_found_first_wins(folder: Path) -> None:
    texts = ["old owl", "new park", "a school", "old town", "park park"]
    kinds: tuple[Rerank, ...] = ("occurrences", "once")
    by_kind = [ranked(folder, texts, Effort(count=5, rerank=kind)) for kind in kinds]
    assert by_kind[0] == ["a school", "old town", "park park", "old owl", "new park"]
    assert by_kind[1] == ["a school", "old town", "old owl", "new park", "park park"]
    assert ranked(folder, texts, Effort(count=5)) == texts


def test_only_the_twenty_best_are_chosen_from(folder: Path) -> None:
    assert BEST_OF == 20
    texts = [*FILLER[:19], "a storm", "old schools in town"]
    assert ranked(folder, texts, Effort(rerank="once"))[0] == "a storm"
    assert ranked(folder, [*FILLER[:20], "a storm"], Effort(rerank="once")) == FILLER[:1]


def test_the_search_is_at_least_as_wide_as_there_are_headlines_to_choose_from(folder: Path) -> None:
    for effort, beams in ((Effort(rerank="once"), 20), (Effort(30, rerank="once"), 30), (Effort(7), 7)):
        assert effort.search_options().num_beams == beams
        assert effort.search_options().keep >= effort.pool
    assert len(ranked(folder, FILLER, Effort(count=24, rerank="once"))) == 24


def test_a_whole_last_word_comes_before_words_of_the_source_but_in_mode_free(folder: Path) -> None:
    texts = ["tyg opens", "old schoo", "old storm", "the schoo"]
    assert ranked(folder, texts, Effort(count=4, rerank="once"), "exact") == [
        *("old storm", "tyg opens", "old schoo", "the schoo")
    ]
    assert ranked(folder, ["storm schoo", "old openstyg"], Effort(rerank="once")) == ["storm schoo"]


def test_a_real_search_is_reranked_from_its_own_best_twenty(folder: Path) -> None:
    writer = Writer(folder, device="cpu")
    best = writer.candidates(ARTICLE, length=18, count=20, mode="free")
    overlap = Overlap(ARTICLE, "occurrences")
    expected = sorted(best, key=lambda headline: -overlap(headline.text))
    found = writer.candidates(ARTICLE, length=18, count=20, mode="free", rerank="occurrences")
    assert found == expected
    assert writer(ARTICLE, length=18, mode="free", rerank="occurrences") == expected[0].text


def test_an_unknown_kind_is_refused(folder: Path) -> None:
    with pytest.raises(RequestError, match="rerank must be one of occurrences, once, given 'twice'"):
        Writer(folder, device="cpu").fulfil([], Effort(rerank="twice"))  # type: ignore[arg-type]


def test_a_missing_library_for_japanese_is_told_before_the_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fugashi", None)
    engine = Scripted(folder, ["park"])
    writer = Writer(folder, engine=engine)
    orders = [Order(text, Wish(length=4)) for text in (ARTICLE, TEXTS[5])]
    japanese._tagger.cache_clear()
    with pytest.raises(ConfigError, match="need fugashi"):
        writer.fulfil(orders, Effort(num_beams=33, rerank="once"))
    assert engine.options.num_beams != 33
    japanese._tagger.cache_clear()
    writer.fulfil(orders[:1], Effort(rerank="once"))
