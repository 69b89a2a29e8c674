import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from copyfit.cli.app import run
from copyfit.combining import open_members
from copyfit.errors import RequestError
from copyfit.evaluation.speed import LEAST_ROUNDS, measure
from copyfit.examples import articles
from copyfit.generation.jobs import Counting, Hypothesis, Job, SearchOptions
from copyfit.runtime.load import load_engine
from copyfit.writing.writer import Effort, Writer
from support_writing import save_tiny


class Watched:
    """Remember how many jobs each search has, and their limits."""

    def __init__(self, folder: Path) -> None:
        self.inner = load_engine(open_members([folder]))
        self.limits: list[list[int]] = []

    def search(
        self, jobs: Sequence[Job], counting: Counting, options: SearchOptions
    ) -> list[list[Hypothesis]]:
        self.limits.append(sorted(job.limit for job in jobs))
        return self.inner.search(jobs, counting, options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "tiny")


def test_headlines_are_timed_alone_and_in_batches_of_mixed_lengths(folder: Path) -> None:
    engine = Watched(folder)
    speed = measure(
        lambda: Writer(folder, engine=engine),
        articles(4),
        lengths=(10, 20),
        effort=Effort(num_beams=2, batch_size=4),
        seconds=1e-9,
    )
    alone, together = engine.limits[:LEAST_ROUNDS], engine.limits[LEAST_ROUNDS:]
    assert alone == [[10], [20], [10]]
    assert together == [[10, 10, 20, 20]] * LEAST_ROUNDS
    assert 0 < speed.milliseconds <= speed.slowest_milliseconds
    assert speed.headlines_per_second > 0
    assert speed.opening_seconds > 0


def test_the_command_prints_a_table_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [
        "benchmark",
        "--model",
        str(folder),
        "--seconds",
        "0.01",
        "--batch-size",
        "2",
        "--num-beams",
        "1",
    ]
    assert run([*flags, "--length", "12"]) == 0
    assert "headlines a second" in capsys.readouterr().out
    assert run([*flags, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["batch_size"] == 2
    assert found["headlines_per_second"] > 0


def test_no_time_at_all_is_refused(folder: Path) -> None:
    with pytest.raises(RequestError, match="seconds must be above 0, given 0"):
        measure(lambda: Writer(folder), ["A text"], effort=Effort(), seconds=0)
