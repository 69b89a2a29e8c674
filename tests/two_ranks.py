"""Run by torchrun in two processes: what they tell each other, and a step that one of them finds unsound."""

import os
from itertools import islice

import torch
from accelerate import Accelerator

from copyfit.data.batches import Sharding
from copyfit.training.feeding import Position, shares
from copyfit.training.processes import Processes, Shard
from copyfit.training.stepper import Stepper
from support_training import Poisoned, cure, poison, random_plan, random_store, settings, tiny_model


def check_messages(processes: Processes) -> None:
    rank = processes.shard.rank
    assert processes.shard == Shard(rank, 2)
    assert processes.first == (rank == 0)
    assert processes.greatest(10 * rank) == 10
    assert processes.of_first(3 + rank) == 3
    assert processes.total(torch.tensor(rank + 1.0)).item() == 3
    gathered = processes.gather({"number": torch.tensor([rank]), "bytes": torch.tensor([rank]).byte()})
    assert [state["number"].item() for state in gathered] == [0, 1]
    assert [state["bytes"].item() for state in gathered] == [0, 1]
    model = tiny_model(seed=rank)
    processes.spread(model)
    assert torch.equal(model.source_table.weight, tiny_model(seed=0).source_table.weight)


def check_skipping(processes: Processes) -> None:
    stepper = Stepper(Poisoned(tiny_model(dropout=0.1)), settings(), processes)
    torch.manual_seed(processes.shard.rank)
    plan = random_plan(random_store(200), sharding=Sharding(*processes.shard, accumulation=2))
    for number, share in enumerate(islice(shares(plan, Position(), pinned=False), 4)):
        before = [weight.clone() for weight in stepper.model.parameters()]
        spoiled = number == 2 and not processes.first
        stepper.take(poison(cure(share)) if spoiled else cure(share), 0.01)
        moved = [
            not torch.equal(old, new) for old, new in zip(before, stepper.model.parameters(), strict=True)
        ]
        assert not any(moved) if number == 2 else all(moved), f"step {number}"
        for name, weight in stepper.model.state_dict().items():
            one, other = (state["weight"] for state in processes.gather({"weight": weight}))
            assert torch.equal(one, other), name
    reading = stepper.ledger.read()
    assert (reading.skipped, reading.longest_skip) == (1, 1)
    assert reading.loss is not None


if __name__ == "__main__":
    torch.set_num_threads(1)
    both = Processes(Accelerator(cpu=True, mixed_precision="no"))
    check_messages(both)
    check_skipping(both)
    both.wait()
    both.accelerator.end_training()
    # What is tested is done; Gloo's threads now and then abort an interpreter that is taken apart.
    os._exit(0)
