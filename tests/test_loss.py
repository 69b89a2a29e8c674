import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from copyfit.data.batches import IGNORED
from copyfit.training.feeding import on_host
from copyfit.training.loss import Objective, summed_loss
from support_training import random_plan, random_store, tiny_model


def loss_by_hand(logits: NDArray[np.float64], labels: list[int], smoothing: float) -> float:
    total = 0.0
    for row, label in zip(logits, labels, strict=True):
        if label == IGNORED:
            continue
        logs = [value - math.log(sum(math.exp(other) for other in row)) for value in row]
        wanted = [smoothing / len(row) + (1 - smoothing) * (token == label) for token in range(len(row))]
        total -= sum(share * log for share, log in zip(wanted, logs, strict=True))
    return total


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_the_loss_is_the_sum_of_smoothed_cross_entropies_over_the_real_tokens(smoothing: float) -> None:
    logits = np.random.default_rng(0).normal(size=(6, 5))
    labels = [0, 4, IGNORED, 2, IGNORED, 1]
    loss = summed_loss(torch.from_numpy(logits), torch.tensor(labels), smoothing)
    assert loss.item() == pytest.approx(loss_by_hand(logits, labels, smoothing), abs=1e-12)


def test_ignored_tokens_have_no_gradient_and_a_batch_of_them_has_no_loss() -> None:
    logits = torch.randn(4, 5, requires_grad=True)
    loss = summed_loss(logits, torch.tensor([1, IGNORED, 2, IGNORED]), 0.1)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert gradient[[1, 3]].eq(0).all()
    assert gradient[[0, 2]].ne(0).all()
    assert summed_loss(logits, torch.full((4,), IGNORED)).item() == 0


def test_products_in_bfloat16_still_have_a_loss_in_float32() -> None:
    logits = torch.randn(64, 9)
    labels = torch.randint(9, (64,))
    rounded = logits.bfloat16()
    loss = summed_loss(rounded, labels)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(summed_loss(rounded.double(), labels).item(), rel=1e-6)


def test_the_objective_computes_the_loss_of_its_model() -> None:
    batch = on_host(random_plan(random_store(20)).epoch(0)[0].batches[0])
    model = tiny_model()
    assert torch.equal(Objective(model, smoothing=0.1)(batch), summed_loss(model(batch), batch.labels, 0.1))


def test_a_mixed_objective_is_close_to_the_exact_one() -> None:
    batch = on_host(random_plan(random_store(20)).epoch(0)[0].batches[0])
    model = tiny_model()
    exact, mixed = Objective(model)(batch), Objective(model, mixed=True)(batch)
    assert mixed.dtype == torch.float32
    assert not torch.equal(mixed, exact)
    assert mixed.item() == pytest.approx(exact.item(), rel=0.02)
