"""The method's promise: told the budget, a model writes lengths it never saw; not told, it does not."""

from pathlib import Path

import pytest

from copyfit.data.store import open_store
from copyfit.evaluation.lengths import LengthError
from copyfit.examples import write_examples
from support_method import FEW, UNSEEN, errors, trained

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    write_examples(folder)
    return folder


def exact_share(found: list[LengthError]) -> float:
    return sum(error.exact for error in found) / len(found)


def test_lengths_left_out_of_training_are_met_exactly(examples: Path, tmp_path: Path) -> None:
    writer = trained(examples, tmp_path / "run", "characters")
    seen = set(open_store(tmp_path / "run" / "data" / "train").pairs.budgets.tolist())
    assert not seen & set(UNSEEN)
    assert seen >= {length + 1 for length in UNSEEN}
    assert exact_share(errors(writer, examples)) >= 0.95


def test_subword_targets_meet_unseen_lengths_without_masks_too(examples: Path, tmp_path: Path) -> None:
    writer = trained(examples, tmp_path / "run", "subwords", steps=700)
    assert exact_share(errors(writer, examples)) >= 0.8


def test_ordinary_positions_do_not_meet_the_lengths(examples: Path, tmp_path: Path) -> None:
    found = errors(trained(examples, tmp_path / "run", "ordinary positions", steps=FEW), examples)
    assert exact_share(found) < 0.2
    assert min(error.variance for error in found) > 10
