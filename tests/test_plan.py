"""How a request becomes the jobs of a search."""

from pathlib import Path
from typing import Any

import pytest

from copyfit.checkpoint import open_checkpoint
from copyfit.generation.jobs import Job
from copyfit.writing.plan import Planner
from copyfit.writing.requests import Natural, Wish
from copyfit.writing.writer import Writer
from support_text import ORACLES
from support_writing import ARTICLE, save_tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "subword")


@pytest.fixture(scope="module")
def writer(folder: Path) -> Writer:
    return Writer(folder, device="cpu")


@pytest.fixture
def planner(folder: Path) -> Planner:
    return Planner(open_checkpoint(folder))


class TestGsm7:
    def alphabet(self, planner: Planner, text: str, **wish: Any) -> Any:
        plan = planner.plan(planner.read(text), Wish(unit="gsm7", **wish).resolve(Natural(9, "char")))
        return plan.alphabet

    def test_a_latin_source_stays_in_the_alphabet(self, planner: Planner) -> None:
        assert self.alphabet(planner, ARTICLE, length=20) == ("gsm7", False)

    def test_a_foreign_source_travels_as_ucs2(self, planner: Planner) -> None:
        assert self.alphabet(planner, "Москва", length=16) == ("gsm7", True)

    def test_the_other_alphabet_serves_where_the_first_cannot(self, planner: Planner) -> None:
        assert self.alphabet(planner, ARTICLE, length=16, require=["Москва"]) == ("gsm7", True)
        # One UCS-2 unit takes three septets, two take five: four are for GSM-7 only.
        assert self.alphabet(planner, "Москва", length=4) == ("gsm7", False)

    def test_a_message_beyond_the_alphabet_is_counted_as_ucs2(self, writer: Writer) -> None:
        (headline,) = writer.candidates("Москва открывает музей", length=48, unit="gsm7", count=1)
        assert headline.length == ORACLES["gsm7"](headline.text) == 48
        assert len(headline.text.encode("utf-16-le")) == 42


class TestAims:
    def job(self, folder: Path, text: str, **wish: Any) -> Job:
        planner = Planner(open_checkpoint(folder))
        plan = planner.plan(planner.read(text), Wish(**wish).resolve(Natural(9, "char")))
        return plan.jobs[-1]

    def test_the_trained_unit_is_told_as_it_is(self, folder: Path) -> None:
        job = self.job(folder, ARTICLE, length=33)
        assert (job.aim, job.scale) == (33, 1)

    def test_another_unit_is_told_by_the_share_of_characters_in_the_source(self, folder: Path) -> None:
        job = self.job(folder, "Москва", length=24, unit="byte")
        assert (job.aim, job.scale) == (12, 0.5)
        job = self.job(folder, "東京で大雨", length=31, unit="cell")
        assert (job.aim, job.scale) == (15.5, 0.5)
        job = self.job(folder, "one two five", length=4, unit="word")
        assert (job.aim, job.scale) == (16, 4)

    def test_a_foreign_character_in_the_source_does_not_change_what_a_septet_is(self, folder: Path) -> None:
        assert self.job(folder, "plain words — here", length=20, unit="gsm7").scale == 1

    def test_a_source_without_width_is_told_something(self, folder: Path) -> None:
        assert self.job(folder, "\u0301", length=20, unit="cell").scale > 0
