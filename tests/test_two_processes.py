import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from copyfit.checkpoint import load_weights
from copyfit.config import write_toml
from copyfit.training.folders import step_folders
from copyfit.training.journal import read_journal
from copyfit.training.recipe import Recipe
from copyfit.training.run import train
from copyfit.training.state import read_state
from support_training import small_recipe

HERE = Path(__file__).parent
LAST = 20

pytestmark = pytest.mark.long


def exact_recipe(home: Path, **training: Any) -> Recipe:
    values = {
        "steps": LAST,
        "batches_per_step": 2,
        "precision": "float64",
        "save_every": 1,
        "keep_checkpoints": 100,
    }
    recipe = small_recipe(home, **values | training).model_dump()
    recipe["model"]["dropout"] = 0.0
    recipe["batches"]["target_tokens"] = 300
    return Recipe.model_validate(recipe)


def torchrun(script: str, *arguments: str) -> subprocess.Popen[str]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    command = [*launcher, str(HERE / script), *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=HERE)


def finished(process: subprocess.Popen[str]) -> str:
    told = process.communicate()[1]
    assert process.returncode == 0, told
    return told


def train_by_two(recipe: Recipe, output: Path, *flags: str) -> subprocess.Popen[str]:
    output.parent.mkdir(exist_ok=True)
    path = output.with_suffix(".toml")
    path.write_text(write_toml(recipe), encoding="utf-8")
    return torchrun("run_training.py", str(path), str(output), *flags)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def by_two(home: Path) -> Path:
    finished(train_by_two(exact_recipe(home), home / "two"))
    return home / "two"


@pytest.fixture(scope="module")
def by_one(home: Path) -> Path:
    train(exact_recipe(home), home / "one", device="cpu")
    return home / "one"


def far_apart(one: Path, other: Path, step: int) -> dict[str, float]:
    """Return the greatest differences of weights after a step, and of all that the optimizer holds."""
    folders = [output / "checkpoints" / f"step-{step}" for output in (one, other)]
    states = [read_state(folder)[1] for folder in folders]
    weights = [load_weights(folder) for folder in folders]
    moments = [name for name in states[0] if name.startswith("optimizer/")]
    assert len(moments) > 50
    return {
        **{name: float(np.abs(weights[0][name] - weights[1][name]).max()) for name in weights[0]},
        **{name: float((states[0][name] - states[1][name]).abs().max()) for name in moments},
    }


def test_two_processes_compute_the_gradients_of_one(by_one: Path, by_two: Path) -> None:
    # After the first step Adam's mean is the gradient times 1 - beta.
    differences = far_apart(by_one, by_two, 1)
    assert max(differences.values()) < 1e-10


def test_two_processes_have_the_weights_of_one_after_twenty_steps(by_one: Path, by_two: Path) -> None:
    assert max(far_apart(by_one, by_two, LAST).values()) < 1e-6
    losses = [
        [record["loss"] for record in read_journal(run / "journal.jsonl", "train")]
        for run in (by_one, by_two)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=1e-9)
    tried = [read_journal(run / "journal.jsonl", "validation") for run in (by_one, by_two)]
    assert [record["loss"] for record in tried[0]] == pytest.approx(
        [record["loss"] for record in tried[1]], abs=1e-9
    )


def test_the_weights_are_the_first_process_s_and_all_are_in_double_precision(by_two: Path) -> None:
    assert all(weight.dtype == np.float64 for weight in load_weights(by_two / "last").values())


def test_one_process_goes_on_with_what_two_began(
    home: Path, by_one: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "handed"
    finished(train_by_two(exact_recipe(home, steps=11), output))
    train(exact_recipe(home), output, resume=True, device="cpu")
    assert "saved by 2 processes, going on with 1: same data, other dropout" in capfd.readouterr().err
    assert max(far_apart(by_one, output, LAST).values()) < 1e-6


def test_two_processes_stop_together_when_they_are_asked_to(home: Path, tmp_path: Path) -> None:
    output = tmp_path / "stopped"
    process = train_by_two(exact_recipe(home, steps=100_000, save_every=100_000), output)
    assert process.stderr is not None
    with process.stderr:
        for line in process.stderr:
            if line.startswith("step 4 "):
                process.send_signal(signal.SIGTERM)
                break
        process.stderr.read()
    assert process.wait() != 0
    (folder,) = step_folders(output / "checkpoints")
    assert read_state(folder)[0].processes == 2


def test_a_step_must_be_shared_out_evenly(home: Path, tmp_path: Path) -> None:
    process = train_by_two(exact_recipe(home, batches_per_step=3), tmp_path / "uneven")
    told = process.communicate()[1]
    assert process.returncode != 0
    assert "training.batches_per_step must be a multiple of the 2 processes, given 3" in told


def test_processes_understand_each_other_and_skip_a_step_together() -> None:
    finished(torchrun("two_ranks.py"))
