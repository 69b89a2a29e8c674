from itertools import permutations

import numpy as np
import pytest
import torch

from copyfit.errors import CheckpointError
from copyfit.training.averaging import MovingAverage, mean_weights
from support_training import tiny_model


def test_the_mean_of_models_is_exact_in_any_order_and_keeps_the_type() -> None:
    draw = np.random.default_rng(0)
    models = [
        {"a": draw.normal(size=(3, 4)).astype(np.float32) * 10.0**power, "b": draw.normal(size=2)}
        for power in (-6, 0, 6)
    ]
    means = [mean_weights(order) for order in permutations(models)]
    exact = np.mean([model["a"].astype(np.float64) for model in models], axis=0)
    np.testing.assert_allclose(means[0]["a"], exact, rtol=1e-7)
    assert means[0]["a"].dtype == np.float32
    assert means[0]["b"].dtype == np.float64
    for mean in means:
        np.testing.assert_array_equal(mean["a"], means[0]["a"])
        np.testing.assert_array_equal(mean["b"], means[0]["b"])


def test_the_mean_of_one_model_is_that_model() -> None:
    model = {"a": np.arange(5, dtype=np.float32)}
    np.testing.assert_array_equal(mean_weights([model])["a"], model["a"])


@pytest.mark.parametrize("other", [{"a": np.zeros((2, 3))}, {"b": np.zeros(3)}, {}])
def test_models_that_differ_in_shape_have_no_mean(other: dict[str, np.ndarray]) -> None:
    with pytest.raises(CheckpointError, match="same weights"):
        mean_weights([{"a": np.zeros(3)}, other])


def test_the_moving_average_follows_its_recurrence() -> None:
    model = tiny_model()
    average = MovingAverage(model, 0.9)
    expected = {name: weight.detach().double() for name, weight in model.named_parameters()}
    for _ in range(3):
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight))
        average.update()
        for name, weight in model.named_parameters():
            expected[name] = 0.9 * expected[name] + 0.1 * weight.detach().double()
    for name, kept in average.state().items():
        torch.testing.assert_close(kept.double(), expected[name], rtol=1e-5, atol=1e-6)


def test_the_moving_average_is_lent_to_the_model_and_taken_back() -> None:
    model = tiny_model()
    average = MovingAverage(model, 0.5)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(3)
    with average.in_place():
        assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    assert all(torch.equal(weight, before[name] * 3) for name, weight in model.state_dict().items())


def test_a_moving_average_takes_up_what_was_saved() -> None:
    saved = MovingAverage(tiny_model(seed=1), 0.5).state()
    average = MovingAverage(tiny_model(seed=2), 0.5)
    average.load(saved)
    assert all(torch.equal(kept, saved[name]) for name, kept in average.state().items())
