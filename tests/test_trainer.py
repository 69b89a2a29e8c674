import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from copyfit.checkpoint import load_weights, open_checkpoint
from copyfit.config import read_toml
from copyfit.data.batches import Sharding
from copyfit.errors import ConfigError, CopyfitError, DataError
from copyfit.models.contract import Batch
from copyfit.training import randomness
from copyfit.training.feeding import Position, Share, shares
from copyfit.training.folders import step_folders
from copyfit.training.journal import read_journal
from copyfit.training.ledger import Ledger, Reading
from copyfit.training.processes import start_processes
from copyfit.training.progress import ProgressBar
from copyfit.training.recipe import Recipe, TrainingSection
from copyfit.training.reporting import Stretch, news, training_record
from copyfit.training.run import train
from copyfit.training.signals import polite_stop
from copyfit.training.state import Standing
from copyfit.training.stepper import Stepper
from copyfit.training.trainer import Limits
from copyfit.writing.writer import Writer
from support_training import (
    Poisoned,
    cure,
    one_process,
    poison,
    random_plan,
    random_store,
    settings,
    small_recipe,
    tiny_model,
)


def first_shares(count: int, *, accumulation: int = 1, target_tokens: int = 64) -> list[Share]:
    plan = random_plan(
        random_store(120), sharding=Sharding(accumulation=accumulation), target_tokens=target_tokens
    )
    return [cure(share) for share in islice(shares(plan, Position(), pinned=False), count)]


def gradient_by_hand(model: nn.Module, batches: tuple[Batch, ...]) -> dict[str, Tensor]:
    """Differentiate the mean loss of all real tokens, all at once."""
    logits = torch.cat([model(batch) for batch in batches])
    labels = torch.cat([batch.labels for batch in batches])
    names, weights = zip(*model.named_parameters(), strict=True)
    loss = cross_entropy(logits[labels >= 0], labels[labels >= 0])
    return dict(zip(names, torch.autograd.grad(loss, weights), strict=True))


@pytest.mark.parametrize("accumulation", [1, 3])
def test_a_step_follows_the_gradient_of_the_mean_over_all_its_real_tokens(accumulation: int) -> None:
    model = tiny_model().double()
    (share,) = first_shares(1, accumulation=accumulation)
    expected = gradient_by_hand(model, share.batches)
    stepper = Stepper(model, settings(), one_process())
    stepper.take(share, 0.0)
    # After the first step Adam's mean is the gradient times 1 - beta.
    for name, gradient in expected.items():
        mean = stepper.state()[f"optimizer/exp_avg.{name}"]
        torch.testing.assert_close(mean, 0.1 * gradient, rtol=1e-9, atol=1e-12)


def test_the_gradient_is_clipped_and_its_length_before_that_is_taken_down() -> None:
    model = tiny_model()
    (share,) = first_shares(1)
    gradients = gradient_by_hand(model, share.batches).values()
    length = torch.cat([gradient.flatten() for gradient in gradients]).norm().item()
    stepper = Stepper(model, settings(clip_norm=length / 5), one_process())
    stepper.take(share, 0.0)
    means = [mean for name, mean in stepper.state().items() if "exp_avg." in name]
    assert 10 * torch.cat([mean.flatten() for mean in means]).norm().item() == pytest.approx(length / 5)
    assert stepper.ledger.read().gradient_norm == pytest.approx(length)


def test_a_step_whose_loss_is_no_number_is_as_if_it_had_not_been() -> None:
    stepper, plain = (
        Stepper(Poisoned(tiny_model()), settings(ema_decay=0.9), one_process()) for _ in range(2)
    )
    taken = first_shares(4, accumulation=2)
    for number, share in enumerate(taken):
        stepper.take(poison(share) if number == 2 else share, 0.01)
        if number != 2:
            plain.take(share, 0.01)
    for name, weight in plain.model.state_dict().items():
        assert torch.equal(stepper.model.state_dict()[name], weight)
    for name, moment in plain.state().items():
        if name.startswith("optimizer/"):
            assert torch.equal(stepper.state()[name], moment)
    reading, other = stepper.ledger.read(), plain.ledger.read()
    assert reading == other._replace(skipped=1, longest_skip=1)


class Cliff(nn.Module):
    """Have a sound loss whose gradient is no number."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = tiny_model()

    def forward(self, batch: Batch) -> Tensor:
        logits: Tensor = self.inner(batch)
        return logits + (logits * 0).sqrt()


def test_a_step_whose_gradient_is_no_number_is_skipped_too() -> None:
    model = Cliff()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    stepper = Stepper(model, settings(), one_process())
    for share in first_shares(2):
        stepper.take(share, 0.01)
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    assert stepper.ledger.read() == (None, None, 2, 2)


def test_the_ledger_gives_means_and_counts_skips_in_a_row() -> None:
    ledger = Ledger(torch.device("cpu"))
    nan, inf = torch.tensor(torch.nan), torch.tensor(torch.inf)
    entries = [(6.0, 1.0, 2), (9.0, 3.0, 3), (nan, 1.0, 50), (1.0, inf, 50), (5.0, 2.0, 5)]
    sound = [
        bool(ledger.add(torch.as_tensor(loss), torch.as_tensor(norm), tokens))
        for loss, norm, tokens in entries
    ]
    assert sound == [True, True, False, False, True]
    assert ledger.read() == (2.0, 2.0, 2, 2)
    ledger.add(torch.tensor(1.0), torch.tensor(1.0), 1)
    ledger.add(nan, inf, 1)
    taken_up = Ledger(torch.device("cpu"))
    taken_up.load(ledger.state())
    for entry in (ledger, taken_up):
        assert entry.read() == (1.0, 1.0, 3, 1)
        entry.add(nan, inf, 1)
        assert entry.read() == (None, None, 4, 2)


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


@pytest.mark.long
def test_compiled_steps_learn_what_plain_ones_learn() -> None:
    subprocess.run([sys.executable, str(Path(__file__).with_name("compiled_step.py"))], check=True)


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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_steps_on_a_gpu_never_make_the_host_wait() -> None:
    processes = start_processes("cuda", (), Path())
    stepper = Stepper(tiny_model(dropout=0.1), settings(precision="bfloat16", ema_decay=0.9), processes)
    plan = random_plan(random_store(200), sharding=Sharding(accumulation=2))
    steps = list(islice(shares(plan, Position(), pinned=True), 6))
    for share in steps[:3]:
        stepper.take(share, 0.01)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for share in steps[3:]:
            stepper.take(share, 0.01)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert stepper.ledger.read().loss
