"""Length bins: bins of equal count, and one marker before every source."""

from collections import Counter
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch

from copyfit.checkpoint import read_config
from copyfit.config import check
from copyfit.data.store import open_store
from copyfit.errors import ConfigError
from copyfit.models.bins import LengthBins
from copyfit.models.config import LengthBinsSection
from copyfit.training.feeding import on_host
from copyfit.training.run import train
from copyfit.writing.writer import Writer
from support_architectures import END, PAIRS, SOURCE_SIZE, START, TRANSFORMER, pack, stepped, tiny
from support_steps import Walk
from support_training import random_plan, random_store, small_recipe

EDGES = (1.0, 2.0, 4.0)
SMALL = check(
    {"bins": 4, "width": 16, "heads": 2, "inner": 24, "encoder_layers": 1, "decoder_layers": 1},
    LengthBinsSection,
    where="test",
)


def section(**keys: object) -> LengthBinsSection:
    return check(keys, LengthBinsSection, where="test")


def bin_of(budget: float, edges: tuple[float, ...]) -> int:
    return sum(budget > edge for edge in edges)


@pytest.mark.parametrize("bins", [2, 5, 10])
def test_bins_hold_equally_many_training_pairs(bins: int) -> None:
    budgets = np.random.default_rng(1).permutation(np.arange(1000)) + 8
    edges = section(bins=bins).settled(budgets).edges
    counts = Counter(bin_of(budget, edges) for budget in budgets.tolist())
    assert sorted(counts) == list(range(bins))
    assert set(counts.values()) == {1000 // bins}


def test_equal_budgets_share_a_bin_and_no_bin_is_empty() -> None:
    budgets = np.array([5] * 50 + [6] * 3 + [7] * 47)
    edges = section(bins=10).settled(budgets).edges
    assert edges == (5.0,)
    assert section(bins=3).settled(np.array([4, 4, 4])).edges == ()


def test_edges_of_the_recipe_are_kept() -> None:
    given = section(edges=[20, 40.5])
    assert given.settled(np.array([1, 2, 3])) == given
    assert given.describe() == "3 length bins"


def test_edges_must_rise() -> None:
    with pytest.raises(ConfigError, match=r"edges must rise, given \[20.0, 20.0\]"):
        section(edges=[20, 20])


def test_positions_of_the_decoder_do_not_tell_the_budget() -> None:
    with pytest.raises(ConfigError, match="positions"):
        section(positions="ldpe")


def length_bins() -> LengthBins:
    return cast(LengthBins, tiny({"architecture": "length-bins", "edges": EDGES, **TRANSFORMER}))


@torch.inference_mode()
def test_a_marker_is_a_token_before_the_source() -> None:
    model = length_bins()
    marked = [([SOURCE_SIZE + bin_of(len(target), EDGES), *source], target) for source, target in PAIRS]
    plain = super(LengthBins, model).forward(pack(marked))
    torch.testing.assert_close(model(pack(PAIRS)), plain)


@torch.inference_mode()
def test_budgets_of_one_bin_are_one_and_those_outside_of_training_belong_to_the_last() -> None:
    model = length_bins()

    def answer(budget: float) -> torch.Tensor:
        return Walk(model, [[5, 6, 7]], [budget]).step([[START]], 0)

    assert torch.equal(answer(3), answer(4))
    assert torch.equal(answer(5), answer(5000))
    assert torch.equal(answer(0.5), answer(1))
    assert not torch.allclose(answer(2), answer(3))
    assert not torch.allclose(answer(4), answer(5))


@torch.inference_mode()
def test_batches_of_training_keep_one_shape_and_their_rows() -> None:
    model = length_bins()
    shapes = set()
    model.source_table.register_forward_hook(lambda _, inputs, __: shapes.add(inputs[0].shape))
    for step in random_plan(random_store(60)).epoch(0).steps():
        batch = on_host(step.batches[0])
        # The last row is an empty one.
        assert batch.source_offsets[-2] == batch.source_offsets[-1]
        logits = model(batch._replace(consumed=batch.consumed.double(), budget=batch.budget.double()))
        for row in range(int((batch.labels == END).sum())):
            source, target = (
                part[offsets[row] : offsets[row + 1]]
                for part, offsets in (
                    (batch.source, batch.source_offsets),
                    (batch.target, batch.target_offsets),
                )
            )
            expected = stepped(model, (source.tolist(), target[1:].tolist()))
            start = int(batch.target_offsets[row])
            torch.testing.assert_close(logits[start : start + len(expected)], expected)
    # One shape of all batches, and one of all single rows when they are stepped.
    assert len([shape for shape in shapes if len(shape) == 1]) == 1


@pytest.mark.long
def test_a_model_keeps_the_edges_that_its_training_pairs_gave_it(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path, steps=3)
    recipe = recipe.model_copy(update={"model": SMALL})
    train(recipe, tmp_path / "run", device="cpu")
    settled = SMALL.settled(open_store(tmp_path / "run" / "data" / "train").pairs.budgets)
    assert len(settled.edges) > 1
    for folder in ("best", "checkpoints/step-3"):
        assert read_config(tmp_path / "run" / folder).model == settled
    assert len(Writer(tmp_path / "run" / "best", device="cpu")("On day 5 anna sells hats.", length=9)) == 9
    longer = recipe.model_copy(update={"training": recipe.training.model_copy(update={"steps": 4})})
    train(longer, tmp_path / "run", resume=True, device="cpu")
    assert read_config(tmp_path / "run" / "best").model == settled
