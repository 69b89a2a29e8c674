"""The processes of a run, and what they tell each other."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import torch
from accelerate import Accelerator
from accelerate.tracking import get_available_trackers
from accelerate.utils import DistributedDataParallelKwargs, InitProcessGroupKwargs, ProjectConfiguration
from torch import Tensor, distributed, nn

from copyfit.errors import ConfigError

PATIENCE = timedelta(hours=6)
"""How long processes wait for one that prepares the data or decodes."""


class Shard(NamedTuple):
    """Say which process of how many this is."""

    rank: int = 0
    size: int = 1


class Processes:
    """Wrap accelerate's view of this process and the others; small messages go through the host."""

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self.device = accelerator.device
        self.shard = Shard(accelerator.process_index, accelerator.num_processes)
        self._host = distributed.new_group(backend="gloo") if self.shard.size > 1 else None

    @property
    def first(self) -> bool:
        """Tell whether this is the process that writes."""
        return self.shard.rank == 0

    def wrap(self, module: nn.Module) -> nn.Module:
        """Move a module to the device and have its gradients averaged over the processes."""
        wrapped: nn.Module = self.accelerator.prepare(module)
        return wrapped

    def alone(self, module: nn.Module) -> AbstractContextManager[None]:
        """Keep the gradients of a wrapped module to this process for a while."""
        quiet: AbstractContextManager[None] = self.accelerator.no_sync(module)
        return quiet

    def total(self, value: Tensor) -> Tensor:
        """Add up a tensor on the device over the processes; the host does not wait."""
        if self._host is not None:
            distributed.all_reduce(value)
        return value

    def greatest(self, number: int) -> int:
        """Agree on the greatest of the processes' numbers, without waiting for a device."""
        if self._host is None:
            return number
        value = torch.tensor(number)
        distributed.all_reduce(value, distributed.ReduceOp.MAX, group=self._host)
        return int(value)

    def of_first(self, number: int) -> int:
        """Take the first process's number (zero or more)."""
        return self.greatest(number if self.first else -1)

    def gather(self, tensors: Mapping[str, Tensor]) -> list[dict[str, Tensor]]:
        """Collect tensors of the same shapes from all processes."""
        if self._host is None:
            return [dict(tensors)]
        gathered: list[dict[str, Tensor]] = [{} for _ in range(self.shard.size)]
        for name, tensor in tensors.items():
            copies = [torch.empty_like(tensor) for _ in gathered]
            distributed.all_gather(copies, tensor, group=self._host)
            for collected, copy in zip(gathered, copies, strict=True):
                collected[name] = copy
        return gathered

    def spread(self, model: nn.Module) -> None:
        """Give all processes the first one's weights."""
        if self._host is not None:
            for parameter in model.parameters():
                distributed.broadcast(parameter.detach(), 0)

    def settle(self) -> None:
        """Wait until this process's device has done all it was told."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def wait(self) -> None:
        """Wait for all processes."""
        self.accelerator.wait_for_everyone()


def start_processes(device: str | None, tracking: Sequence[str], output: Path) -> Processes:
    """Meet the other processes, if torchrun started some, and take a device: a GPU where there is one."""
    check_device(device)
    _check_tracking(tracking)
    accelerator = Accelerator(
        cpu=device == "cpu" or not torch.cuda.is_available(),
        mixed_precision="no",
        log_with=list(tracking) or None,
        project_config=ProjectConfiguration(str(output), logging_dir=str(output / "tracking")),
        kwargs_handlers=[
            InitProcessGroupKwargs(timeout=PATIENCE),
            DistributedDataParallelKwargs(gradient_as_bucket_view=True, broadcast_buffers=False),
        ],
    )
    return Processes(accelerator)


def check_device(device: str | None) -> None:
    """Refuse a device that is not there."""
    if device in {None, "cpu"}:
        return
    kind, _, number = str(device).partition(":")
    if kind != "cuda" or not (number or "0").isdecimal():
        raise ConfigError(f"the device to train on must be cpu, cuda or cuda:N, given {device!r}")
    if int(number or "0") >= torch.cuda.device_count():
        raise ConfigError(
            f"training on {device} needs a GPU that PyTorch can use, there is none such: use cpu"
        )
    if number:
        torch.cuda.set_device(int(number))


def _check_tracking(names: Sequence[str]) -> None:
    available = {tracker.value for tracker in get_available_trackers()}
    for name in names:
        if name not in available:
            known = f"installed are {', '.join(sorted(available))}" if available else "none is installed"
            raise ConfigError(
                f"training.tracking must name trackers that are installed, given {name!r}: {known}"
            )
