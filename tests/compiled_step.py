"""Run in a process of its own, without the checks of shapes: compiled steps equal plain ones."""

from itertools import islice

import torch
from torch import Tensor, nn

from copyfit.models.contract import Batch
from copyfit.training.feeding import Position, shares
from copyfit.training.stepper import Stepper
from support_training import SOURCE_SIZE, TARGET_SIZE, one_process, random_plan, random_store, settings


class Tables(nn.Module):
    """Guess each token from the one before and from the first of the source: quick to compile."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.source = nn.Embedding(SOURCE_SIZE, 8)
        self.target = nn.Embedding(TARGET_SIZE, 8)
        self.output = nn.Linear(8, TARGET_SIZE)

    def forward(self, batch: Batch) -> Tensor:
        firsts = batch.source[batch.source_offsets[:-1].long().clamp(max=len(batch.source) - 1)]
        logits: Tensor = self.output(self.target(batch.target) + self.source(firsts)[batch.target_row.long()])
        return logits


def losses(*, compiled: bool) -> list[float]:
    stepper = Stepper(Tables(), settings(compile=compiled, label_smoothing=0.1), one_process())
    plan = random_plan(random_store(120))
    found = []
    for share in islice(shares(plan, Position(), pinned=False), 5):
        stepper.take(share, 0.05)
        found.append(stepper.ledger.read().loss or 0.0)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == int(compiled)
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    plain, compiled = losses(compiled=False), losses(compiled=True)
    assert plain[-1] < plain[0]
    assert all(abs(one - other) < 1e-4 for one, other in zip(plain, compiled, strict=True)), (plain, compiled)
