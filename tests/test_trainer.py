import random
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from copyfit.checkpoint import load_weights, open_checkpoint
from copyfit.config import read_toml
from copyfit.errors import ConfigError, CopyfitError, DataError
from copyfit.training import randomness
from copyfit.training.folders import step_folders
from copyfit.training.journal import read_journal
from copyfit.training.ledger import Reading
from copyfit.training.progress import ProgressBar
from copyfit.training.recipe import Recipe, TrainingSection
from copyfit.training.reporting import Stretch, news, training_record
from copyfit.training.run import train
from copyfit.training.signals import polite_stop
from copyfit.training.state import Standing
from copyfit.training.trainer import Limits
from copyfit.writing.writer import Writer
from support_training import (
    small_recipe,
)


def test_a_run_is_done_by_whichever_limit_is_reached_first() -> None:
    standing = Standing(step=30, epochs=1.5)
    assert Limits(steps=40).share_done(standing, 0) == 0.75
    assert Limits(steps=40, epochs=2, minutes=2).share_done(standing, 60) == 0.75
    assert Limits(steps=400, epochs=2, minutes=2).share_done(standing, 60) == 0.75
    assert Limits(steps=400, epochs=20, minutes=2).share_done(standing, 90) == 0.75
    assert Limits(steps=20, epochs=20).share_done(standing, 0) == 1


def test_random_states_are_taken_and_put_back() -> None:
    randomness.start(5)
    before = randomness.capture()

    def draw() -> tuple[float, ...]:
        python = random.gauss(), random.random()
        numpy = float(np.random.normal()), np.random.random()
        return *python, *numpy, torch.rand(()).item()

    draw()
    middle = randomness.capture()
    first = draw()
    randomness.restore(middle)
    assert draw() == first
    with randomness.untouched():
        draw()
    after = randomness.capture()
    randomness.start(5)
    assert all(torch.equal(state, before[name]) for name, state in randomness.capture().items())
    randomness.restore(after)
    assert all(torch.equal(state, after[name]) for name, state in randomness.capture().items())


def test_different_seeds_start_different_states() -> None:
    drawn = set()
    for seeds in ((1,), (2,), (1, 0, 0), (1, 1, 0), (1, 0, 1)):
        randomness.start(*seeds)
        drawn.add((torch.rand(()).item(), np.random.random()))
    assert len(drawn) == 5


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def recipe_of(home: Path, *, validation: dict[str, Any] | None = None, **training: Any) -> Recipe:
    values = small_recipe(home, **{"steps": 8, "learning_rate": 0.003, **training}).model_dump()
    values["validation"] |= validation or {}
    return Recipe.model_validate(values)


@pytest.fixture(scope="module")
def finished(home: Path) -> Path:
    recipe = recipe_of(
        home,
        steps=15,
        save_every=4,
        keep_checkpoints=3,
        average_last=2,
        journal_every=5,
        tracking=("tensorboard",),
        validation={"every": 7, "decode": 5},
    )
    train(recipe, home / "finished", device="cpu")
    return home / "finished"


def test_a_run_leaves_its_recipe_journal_and_models(home: Path, finished: Path) -> None:
    recipe = read_toml(finished / "recipe.toml", Recipe)
    assert recipe.training.steps == 15
    assert recipe.data.train == (str(home / "train.tsv"),)
    kept = [folder.name for folder in step_folders(finished / "checkpoints")]
    assert kept == ["step-15", "step-12", "step-8"]
    for name in ("best", "last", "average"):
        assert open_checkpoint(finished / name).facts["Steps"] in {7, 14, 15}
    assert list((finished / "tracking").rglob("events.*"))


def test_the_journal_says_how_training_went(finished: Path) -> None:
    (start,) = read_journal(finished / "journal.jsonl", "start")
    assert start["processes"] == 1
    assert start["parameters"] > 1000
    records = read_journal(finished / "journal.jsonl", "train")
    assert [record["step"] for record in records] == [5, 10, 15]
    assert [record["epoch"] for record in records] == [1.0, 2.0, 3.0]
    assert records[0]["learning_rate"] == 0.003
    assert records[2]["learning_rate"] == pytest.approx(0.003 * (5 / 15) ** 0.5)
    assert records[0]["loss"] > records[2]["loss"] > 0
    for record in records:
        assert record["skipped_steps"] == 0
        for key in (
            "gradient_norm",
            "seconds",
            "memory_bytes",
            "source_tokens_per_second",
            "target_tokens_per_second",
            "useful_flops_per_second",
        ):
            assert record[key] > 0


def test_the_journal_says_what_validation_found(finished: Path) -> None:
    records = read_journal(finished / "journal.jsonl", "validation")
    assert [(record["step"], record["model"]) for record in records] == [
        (7, "last"),
        (14, "last"),
        (15, "last"),
        (15, "average"),
    ]
    for record in records:
        assert 0 < record["loss"] < 10
        assert record["length_error"].keys() == {"variance", "mean_absolute", "exact", "within"}
        assert record["rouge"].keys() == {"R1", "R2", "RL"}


def test_the_best_model_is_the_one_of_the_lowest_validation_loss(finished: Path) -> None:
    records = read_journal(finished / "journal.jsonl", "validation")
    best = min(records, key=lambda record: record["loss"])
    weights = load_weights(finished / "best")
    other = load_weights(finished / best["model"])
    assert best["step"] == 15
    assert all(np.array_equal(weights[name], weight) for name, weight in other.items())


def test_the_average_is_the_mean_of_the_last_saves(finished: Path) -> None:
    kept = [load_weights(finished / "checkpoints" / name) for name in ("step-15", "step-12")]
    for name, weight in load_weights(finished / "average").items():
        np.testing.assert_allclose(weight, (kept[0][name] + kept[1][name]) / 2, rtol=1e-6, atol=1e-8)
    for name, weight in load_weights(finished / "last").items():
        np.testing.assert_array_equal(weight, kept[0][name])


def test_a_save_writes_headlines_as_it_is(finished: Path) -> None:
    writer = Writer(finished / "checkpoints" / "step-12", device="cpu")
    assert len(writer("On day 3 anna of the old town sells many maps.", length=12)) == 12


def test_a_moving_average_is_what_is_validated_and_published(home: Path, tmp_path: Path) -> None:
    recipe = recipe_of(home, ema_decay=0.5, save_every=1, keep_checkpoints=10, validation={"every": 4})
    train(recipe, tmp_path / "run", device="cpu")
    steps = [load_weights(tmp_path / "run" / "checkpoints" / f"step-{step}") for step in range(1, 9)]
    start = tmp_path / "start"
    train(recipe_of(home, steps=1, learning_rate=1e-30), start, device="cpu")
    expected = load_weights(start / "last")
    for weights in steps:
        expected = {name: 0.5 * expected[name] + 0.5 * weight for name, weight in weights.items()}
    for folder in ("last", "average", "best"):
        for name, weight in load_weights(tmp_path / "run" / folder).items():
            np.testing.assert_allclose(weight, expected[name], rtol=1e-4, atol=1e-6)


def test_a_run_may_end_by_epochs_or_by_minutes(home: Path, tmp_path: Path) -> None:
    train(recipe_of(home, steps=None, epochs=2), tmp_path / "epochs", device="cpu")
    last = read_journal(tmp_path / "epochs" / "journal.jsonl", "train")[-1]
    assert (last["step"], last["epoch"]) == (10, 2.0)
    train(recipe_of(home, steps=None, minutes=1e-6), tmp_path / "minutes", device="cpu")
    assert step_folders(tmp_path / "minutes" / "checkpoints")[0].name == "step-0"


def test_a_run_without_validation_pairs_takes_its_last_model_for_the_best(home: Path, tmp_path: Path) -> None:
    values = recipe_of(home).model_dump()
    values["data"]["validation"] = ()
    train(Recipe.model_validate(values), tmp_path / "run", device="cpu")
    assert read_journal(tmp_path / "run" / "journal.jsonl", "validation") == []
    assert (tmp_path / "run" / "best").is_dir()


def test_too_many_unsound_steps_in_a_row_end_the_run(home: Path, tmp_path: Path) -> None:
    recipe = recipe_of(
        home, steps=100, learning_rate=1e38, warmup_steps=0, max_skipped_steps=3, journal_every=4
    )
    with pytest.raises(CopyfitError, match=r"must be finite, \d+ steps in a row had others: train with"):
        train(recipe, tmp_path / "run", device="cpu")
    record = read_journal(tmp_path / "run" / "journal.jsonl", "train")[-1]
    assert record["skipped_steps"] >= 3


def test_prepared_data_of_another_recipe_is_replaced(home: Path, tmp_path: Path) -> None:
    recipe = recipe_of(home, steps=1)
    train(recipe, tmp_path / "run", device="cpu")
    before = (tmp_path / "run" / "data" / "prepared.json").read_text(encoding="utf-8")
    for folder in step_folders(tmp_path / "run" / "checkpoints"):
        folder.rename(tmp_path / folder.name)
    values = recipe.model_dump()
    values["source"]["size"] = 310
    train(Recipe.model_validate(values), tmp_path / "run", device="cpu")
    after = (tmp_path / "run" / "data" / "prepared.json").read_text(encoding="utf-8")
    assert before != after
    assert sorted(path.name for path in (tmp_path / "run").glob(".*")) == [".lock"]


def test_pairs_that_cannot_be_read_are_what_the_error_speaks_of(home: Path, tmp_path: Path) -> None:
    values = recipe_of(home).model_dump()
    values["data"]["train"] = (str(tmp_path / "absent.tsv"),)
    with pytest.raises(DataError, match=r"absent\.tsv must be a readable file"):
        train(Recipe.model_validate(values), tmp_path / "run", device="cpu")


def test_a_data_folder_that_is_something_else_is_left_alone(home: Path, tmp_path: Path) -> None:
    mine = tmp_path / "run" / "data" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.touch()
    with pytest.raises(DataError, match="must be a folder of prepared data"):
        train(recipe_of(home), tmp_path / "run", device="cpu")
    assert mine.exists()


@pytest.mark.parametrize(
    ("device", "message"),
    [("tpu", "must be cpu, cuda or cuda:N, given 'tpu'"), ("cuda:99", "on cuda:99 needs a GPU")],
)
def test_a_device_that_there_is_not_is_refused(home: Path, tmp_path: Path, device: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        train(recipe_of(home), tmp_path / "run", device=device)


def test_a_tracker_that_is_not_installed_is_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match=r"must name trackers that are installed, given 'abacus': installed are .*tensorboard",
    ):
        train(recipe_of(home, tracking=("abacus",)), tmp_path / "run", device="cpu")


def test_an_output_that_cannot_be_written_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="must be writable"):
        train(recipe_of(home), tmp_path / "file" / "run", device="cpu")


def test_signals_are_taken_down_while_a_run_lasts_and_obeyed_after_it() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with polite_stop() as stop:
        assert not stop.requested
        signal.raise_signal(signal.SIGTERM)
        assert stop.requested
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_repeatable_run_asks_for_it_and_gives_it_back(home: Path, tmp_path: Path) -> None:
    for name in ("one", "other"):
        train(recipe_of(home, steps=2, deterministic=True), tmp_path / name, device="cpu")
    assert not torch.are_deterministic_algorithms_enabled()
    for name, weight in load_weights(tmp_path / "one" / "last").items():
        assert np.array_equal(weight, load_weights(tmp_path / "other" / "last")[name])


def test_a_model_that_counts_no_work_is_journalled_without_it() -> None:
    stretch = Stretch(
        Standing(), Standing(step=2, source_tokens=10, target_tokens=20, seconds=4.0, idle_seconds=2.0)
    )
    record = training_record(stretch, Reading(None, None, 2, 2), 0.1, nn.Linear(1, 1))
    assert record["target_tokens_per_second"] == 10
    assert "useful_flops_per_second" not in record
    assert news(record) == "step 2 · loss no number · 0.0k tokens/s · 2 steps skipped"


def test_a_run_in_a_thread_takes_no_signals_but_trains(home: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(train, recipe_of(home, steps=1), tmp_path / "run", device="cpu").result()
    assert (tmp_path / "run" / "last").is_dir()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "one of steps, epochs and minutes"),
        ({"minutes": 1, "schedule": "cosine"}, "cosine schedule needs steps or epochs"),
        ({"steps": 1, "average_last": 9}, "at most keep_checkpoints, given 9 and 5"),
    ],
)
def test_a_recipe_that_cannot_be_followed_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainingSection.model_validate(values)


def test_the_bar_tells_the_news_on_stderr_where_it_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for shown in (True, False):
        with ProgressBar(shown=shown) as bar:
            bar.advance(0.5)
            bar.tell("step 5 · loss 1.2345")
            bar.note("going on")
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err == ("step 5 · loss 1.2345\ngoing on\n" if shown else "")
