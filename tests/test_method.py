"""The method's promise: told the budget, a model writes lengths it never saw; not told, it does not."""

from pathlib import Path

import pytest

from copyfit.config import read_toml
from copyfit.data.corpus import Pair, read_pairs
from copyfit.data.store import open_store
from copyfit.evaluation.evaluate import evaluate
from copyfit.evaluation.lengths import LengthError
from copyfit.examples import write_examples
from copyfit.training.recipe import Recipe
from copyfit.training.run import train
from copyfit.writing.writer import Writer

RECIPE = Path(__file__).parents[1] / "recipes" / "tiny.toml"
UNSEEN = (30, 38, 46)
TRIED = 70

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    write_examples(folder)
    return folder


def trained(examples: Path, output: Path, *settings: str, steps: int) -> Writer:
    recipe = read_toml(
        RECIPE,
        Recipe,
        [
            f'data.train=["{examples}/train.tsv"]',
            "data.validation=[]",
            f"data.leave_out_lengths={list(UNSEEN)}",
            "data.workers=1",
            "training.minutes=30",
            f"training.steps={steps}",
            *settings,
        ],
    )
    train(recipe, output, device="cpu")
    return Writer(output / "best", device="cpu")


def errors(writer: Writer, examples: Path) -> list[LengthError]:
    """Let the model decide where to end, for stories and lengths that it never saw."""
    pairs: list[Pair] = list(read_pairs([f"{examples}/test.tsv"]))[:TRIED]
    return [evaluate(writer, pairs, length=length, mode="free").length_error for length in UNSEEN]


def exact_share(found: list[LengthError]) -> float:
    return sum(error.exact for error in found) / len(found)


def test_lengths_left_out_of_training_are_met_exactly(examples: Path, tmp_path: Path) -> None:
    writer = trained(examples, tmp_path / "run", steps=700)
    seen = set(open_store(tmp_path / "run" / "data" / "train").pairs.budgets.tolist())
    assert not seen & set(UNSEEN)
    assert seen >= {length + 1 for length in UNSEEN}
    assert exact_share(errors(writer, examples)) >= 0.95


def test_subword_targets_meet_unseen_lengths_without_masks_too(examples: Path, tmp_path: Path) -> None:
    settings = (
        'target.kind="subword"',
        "target.size=300",
        "data.segmentations=2",
        "batches.target_tokens=400",
    )
    writer = trained(examples, tmp_path / "run", *settings, steps=700)
    assert exact_share(errors(writer, examples)) >= 0.8


def test_ordinary_positions_do_not_meet_the_lengths(examples: Path, tmp_path: Path) -> None:
    writer = trained(examples, tmp_path / "run", 'model.positions="pe"', steps=250)
    found = errors(writer, examples)
    assert exact_share(found) < 0.2
    assert min(error.variance for error in found) > 10
