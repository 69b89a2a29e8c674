import torch

from copyfit.training.averaging import MovingAverage
from support_training import tiny_model


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
