"""The Transformer: layouts, what gradients reach, tables, and the work it counts."""

from typing import cast

import pytest
import torch

from copyfit.config import check
from copyfit.errors import ConfigError
from copyfit.models.config import TransformerSection
from copyfit.models.ensemble import Ensemble
from copyfit.models.transformer import Transformer
from support_architectures import PAIRS, TARGET_SIZE, TRANSFORMER, pack, stepped
from support_architectures import tiny as tiny_system


def tiny(**changes: object) -> Transformer:
    return cast(Transformer, tiny_system(TRANSFORMER | changes))


@pytest.mark.parametrize("layout", ["paper", "released"])
@torch.inference_mode()
def test_a_row_is_the_same_alone_and_in_any_batch(layout: str) -> None:
    model = tiny(positions="lrpe+pe", layout=layout)
    together = model(pack(PAIRS)).split([len(target) + 1 for _, target in PAIRS])
    for pair, logits in zip(PAIRS, together, strict=True):
        torch.testing.assert_close(model(pack([pair])), logits, rtol=0, atol=1e-10)


def test_no_target_token_sees_a_later_one() -> None:
    model = tiny()
    batch = pack(PAIRS[3:])
    embedded = model.target_table(batch.target).detach().requires_grad_()
    model.target_table.register_forward_hook(lambda *_: embedded)
    model(batch)[2].sum().backward()
    assert embedded.grad is not None
    assert embedded.grad[:3].abs().sum(-1).gt(0).all()
    assert embedded.grad[3:].abs().sum() == 0


def test_tied_tables_are_one_table() -> None:
    tied, separate = tiny(tied=True), tiny(tied=False)
    assert tied.output.weight is tied.target_table.weight
    assert separate.output.weight is not separate.target_table.weight


def test_useful_flops_count_six_per_weight_and_token() -> None:
    model = tiny(encoder_layers=1, decoder_layers=2)
    attention, feed_forward = 4 * 16 * 16, 2 * 16 * 24
    encoder = attention + feed_forward + 2 * 2 * 16 * 16
    decoder = 2 * (attention + 2 * 16 * 16 + feed_forward) + TARGET_SIZE * 16
    assert model.useful_flops(10, 7) == 6 * (10 * encoder + 7 * decoder)


@torch.inference_mode()
def test_an_ensemble_averages_probabilities() -> None:
    models = [tiny(positions="ldpe"), tiny(positions="lrpe+pe", encoder_layers=1)]
    pair = PAIRS[1]
    mean = torch.stack([stepped(model, pair).softmax(-1) for model in models]).mean(0)
    torch.testing.assert_close(stepped(Ensemble(models), pair).exp(), mean)


def test_a_width_that_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ConfigError, match="width must be a multiple of heads, given 18 and 4"):
        check({"width": 18, "heads": 4}, TransformerSection, where="recipe")
