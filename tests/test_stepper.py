import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from copyfit.data.batches import Sharding
from copyfit.models.contract import Batch
from copyfit.training.feeding import Position, Share, shares
from copyfit.training.ledger import Ledger
from copyfit.training.processes import start_processes
from copyfit.training.stepper import Stepper
from support_training import (
    Poisoned,
    cure,
    one_process,
    poison,
    random_plan,
    random_store,
    settings,
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


@pytest.mark.long
def test_compiled_steps_learn_what_plain_ones_learn() -> None:
    subprocess.run([sys.executable, str(Path(__file__).with_name("compiled_step.py"))], check=True)


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
