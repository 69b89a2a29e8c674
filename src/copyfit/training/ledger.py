"""Sums kept on the device, so that the host reads them rarely and never waits in between."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor


class Reading(NamedTuple):
    """Hold what the host learns when it looks."""

    loss: float | None
    """Mean loss of a target token over the sound steps since the last look."""
    gradient_norm: float | None
    """Mean over the same steps."""
    skipped: int
    """Steps skipped in the whole run."""
    longest_skip: int
    """The most steps skipped in a row since the last look."""


class Ledger:
    """Judge each step by its loss and gradient norm, and add up those of the sound ones."""

    def __init__(self, device: torch.device) -> None:
        self.sums = torch.zeros(4, dtype=torch.float64, device=device)
        """Of the sound steps since the last look: loss, target tokens, gradient norms, how many."""
        self.skips = torch.zeros(3, dtype=torch.float64, device=device)
        """Skipped steps: in the whole run, in a row until now, the most in a row since the last look."""

    def add(self, loss: Float[Tensor, ""], norm: Float[Tensor, ""], tokens: int) -> Bool[Tensor, ""]:
        """Take down a step's summed loss, gradient norm and tokens; return whether it is sound."""
        sound = torch.isfinite(loss) & torch.isfinite(norm)
        entry = torch.stack(
            [loss.double(), self.sums.new_full((), tokens), norm.double(), self.sums.new_ones(())]
        )
        self.sums += torch.where(sound, entry, 0.0)
        skipped, in_a_row, longest = self.skips.unbind()
        in_a_row = torch.where(sound, 0.0, in_a_row + 1)
        self.skips = torch.stack([skipped + ~sound, in_a_row, torch.maximum(longest, in_a_row)])
        return sound

    def read(self) -> Reading:
        """Wait for the device, report, and begin anew."""
        loss, tokens, norms, steps, skipped, in_a_row, longest = torch.cat([self.sums, self.skips]).tolist()
        self.sums.zero_()
        self.skips[2] = in_a_row
        return Reading(
            loss=loss / tokens if tokens else None,
            gradient_norm=norms / steps if steps else None,
            skipped=int(skipped),
            longest_skip=int(longest),
        )

    def state(self) -> dict[str, Tensor]:
        """Return the sums."""
        return {"sums": self.sums, "skips": self.skips}

    def load(self, state: dict[str, Tensor]) -> None:
        """Take up sums that were saved."""
        self.sums, self.skips = (state[name].to(self.sums.device, copy=True) for name in ("sums", "skips"))
