import math

import pytest
import torch
from torch import Tensor, nn

from copyfit.training.optimizer import (
    clip,
    guarded_step,
    load_optimizer_state,
    make_optimizer,
    optimizer_state,
)
from copyfit.training.recipe import OptimizerName
from support_training import tiny_model

BETAS, EPSILON, DECAY, RATE = (0.8, 0.95), 1e-6, 0.1, 0.05
SOUND, UNSOUND = torch.tensor(data=True), torch.tensor(data=False)


class Weights(nn.Module):
    """A matrix, which decays, and a vector, which does not."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.tensor([[1.0, -2.0]], dtype=torch.float64))
        self.vector = nn.Parameter(torch.tensor([0.5], dtype=torch.float64))


def gradients(step: int) -> tuple[Tensor, Tensor]:
    return (
        torch.tensor([[math.sin(step), math.cos(3 * step)]], dtype=torch.float64),
        torch.tensor([math.sin(5 * step)], dtype=torch.float64),
    )


def take(model: Weights, optimizer: torch.optim.Optimizer, step: int, sound: Tensor) -> None:
    model.matrix.grad, model.vector.grad = gradients(step)
    guarded_step(optimizer, rate=RATE / step, sound=sound)


def adam_by_hand(kind: OptimizerName, weight: float, slopes: list[float], decay: float) -> float:
    """The equations of Kingma and Ba, 2015, and of Loshchilov and Hutter, 2019."""
    mean = square = 0.0
    for step, slope in enumerate(slopes, 1):
        rate = RATE / step
        if kind == "adamw":
            weight -= rate * decay * weight
        else:
            slope += decay * weight
        mean = BETAS[0] * mean + (1 - BETAS[0]) * slope
        square = BETAS[1] * square + (1 - BETAS[1]) * slope**2
        corrected = mean / (1 - BETAS[0] ** step), square / (1 - BETAS[1] ** step)
        weight -= rate * corrected[0] / (math.sqrt(corrected[1]) + EPSILON)
    return weight


def optimizer_of(model: nn.Module, kind: OptimizerName = "adamw") -> torch.optim.Adam:
    return make_optimizer(model, kind, betas=BETAS, epsilon=EPSILON, weight_decay=DECAY)


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_the_optimizer_follows_its_equations_and_only_matrices_decay(kind: OptimizerName) -> None:
    model = Weights()
    optimizer = optimizer_of(model, kind)
    steps = range(1, 6)
    for step in steps:
        take(model, optimizer, step, SOUND)
    slopes = [gradients(step) for step in steps]
    first = adam_by_hand(kind, 1.0, [matrix[0, 0].item() for matrix, _ in slopes], DECAY)
    second = adam_by_hand(kind, -2.0, [matrix[0, 1].item() for matrix, _ in slopes], DECAY)
    third = adam_by_hand(kind, 0.5, [vector[0].item() for _, vector in slopes], 0.0)
    assert model.matrix.flatten().tolist() == pytest.approx([first, second], abs=1e-12)
    assert model.vector.tolist() == pytest.approx([third], abs=1e-12)


def test_a_step_that_is_not_sound_leaves_weights_and_moments_as_they_are() -> None:
    skipping, plain = Weights(), Weights()
    optimizers = optimizer_of(skipping), optimizer_of(plain)
    for step in (1, 2, 4):
        take(plain, optimizers[1], step, SOUND)
    for step in (1, 2):
        take(skipping, optimizers[0], step, SOUND)
    skipping.matrix.grad = torch.full_like(skipping.matrix, math.nan)
    skipping.vector.grad = torch.full_like(skipping.vector, math.inf)
    guarded_step(optimizers[0], rate=RATE, sound=UNSOUND)
    take(skipping, optimizers[0], 4, SOUND)
    assert torch.equal(skipping.matrix, plain.matrix)
    assert torch.equal(skipping.vector, plain.vector)
    states = [
        optimizer_state(model, optimizer)
        for model, optimizer in zip((skipping, plain), optimizers, strict=True)
    ]
    assert all(torch.equal(states[0][name], moment) for name, moment in states[1].items())


def test_clipping_shortens_the_gradient_and_tells_the_length_it_had() -> None:
    model = Weights()
    model.matrix.grad = torch.tensor([[3.0, 0.0]], dtype=torch.float64)
    model.vector.grad = torch.tensor([4.0], dtype=torch.float64)
    assert clip(model.parameters(), None).item() == pytest.approx(5)
    assert clip(model.parameters(), 10.0).item() == pytest.approx(5)
    assert model.vector.grad.item() == 4
    assert clip(model.parameters(), 0.5).item() == pytest.approx(5)
    assert model.matrix.grad.tolist() == [[pytest.approx(0.3, rel=1e-5), 0.0]]
    assert model.vector.grad.item() == pytest.approx(0.4, rel=1e-5)


def test_saved_moments_make_the_next_step_the_same() -> None:
    model, other = tiny_model(), tiny_model()
    optimizers = optimizer_of(model), optimizer_of(other)
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)
    guarded_step(optimizers[0], rate=RATE, sound=SOUND)
    other.load_state_dict(model.state_dict())
    load_optimizer_state(other, optimizers[1], optimizer_state(model, optimizers[0]))
    for number, optimizer in enumerate(optimizers):
        for weight in (model, other)[number].parameters():
            weight.grad = torch.full_like(weight, -0.3)
        guarded_step(optimizer, rate=RATE, sound=SOUND)
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), other.parameters(), strict=True))


def test_an_optimizer_that_took_no_step_has_no_moments() -> None:
    model = tiny_model()
    optimizer = optimizer_of(model)
    assert optimizer_state(model, optimizer) == {}
    load_optimizer_state(model, optimizer, {})
    assert optimizer_state(model, optimizer) == {}
