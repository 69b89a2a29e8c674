"""Steps that change the weights, or do not."""

from collections.abc import Iterable, Mapping

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from copyfit.training.recipe import OptimizerName

MOMENTS = ("exp_avg", "exp_avg_sq", "step")


def make_optimizer(
    model: nn.Module, kind: OptimizerName, *, betas: tuple[float, float], epsilon: float, weight_decay: float
) -> Adam:
    """Make Adam in its fused form; only matrices decay, in AdamW apart from the gradient."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    return Adam(
        [group for group in groups if group["params"]],
        lr=0.0,
        betas=betas,
        eps=epsilon,
        decoupled_weight_decay=kind == "adamw",
        fused=True,
    )


def clip(parameters: Iterable[nn.Parameter], largest: float | None) -> Float[Tensor, ""]:
    """Scale the gradients down to a norm of at most `largest`; return the norm they had."""
    parameters = list(parameters)
    norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    if largest is not None:
        torch.nn.utils.clip_grads_with_norm_(parameters, largest, norm)
    return norm


def guarded_step(optimizer: Optimizer, *, rate: float, sound: Bool[Tensor, ""]) -> None:
    """Change the weights where `sound`, else leave weights and moments untouched; the host need not wait."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    # The fused kernels read this flag on the device: it is how gradient scaling skips an overflow.
    optimizer.found_inf = (~sound).float()  # type: ignore[attr-defined]
    optimizer.grad_scale = None  # type: ignore[attr-defined]
    optimizer.step()


def optimizer_state(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """Return the moments by the names of their weights."""
    return {
        f"{moment}.{name}": optimizer.state[parameter][moment]
        for name, parameter in model.named_parameters()
        if parameter in optimizer.state
        for moment in MOMENTS
    }


def load_optimizer_state(model: nn.Module, optimizer: Optimizer, state: Mapping[str, Tensor]) -> None:
    """Take up moments that were saved."""
    for name, parameter in model.named_parameters():
        if f"step.{name}" in state:
            optimizer.state[parameter] = {
                moment: state[f"{moment}.{name}"].to(parameter.device, copy=True) for moment in MOMENTS
            }
