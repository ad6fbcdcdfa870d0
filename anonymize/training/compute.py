"""Who computes a training step: one process or many, in full or mixed precision.

A batch is a batch whatever computes it: processes and micro-batches share its rows out, and their
gradients add up to the gradient of the whole; only what compares rows is limited to a micro-batch.
Collectives run in one order in every process.
"""

import copy
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from anonymize import allocation
from anonymize.data.batches import Images, held, on_device
from anonymize.errors import UsageError
from anonymize.options import TrainOptions

Network = TypeVar("Network", bound=nn.Module)
# While one process measures, the others wait; torch's own 10 minutes would end the run.
PATIENCE = timedelta(days=7)


@dataclass(frozen=True)
class Part:
    """The rows that all processes work on at once, and their share in the batch."""

    shares: list[np.ndarray]  # rows of each process
    rank: int  # whose share is ``rows``
    batch: np.ndarray  # rows of the whole batch, of all its parts

    @property
    def rows(self) -> np.ndarray:
        """The rows of this process."""
        return self.shares[self.rank]

    @property
    def weight(self) -> float:
        """Factor of a mean loss over ``rows``; gradients are averaged over the processes."""
        return len(self.rows) * len(self.shares) / len(self.batch)

    @property
    def common_weight(self) -> float:
        """Factor of a loss that every process computed over all shares."""
        return sum(map(len, self.shares)) / len(self.batch)


class Compute:
    """What trains networks: a device, a precision, and this process among all of them.

    Made once a command and handed down, so that nothing below chooses a device of its own. Started
    by `accelerate launch` or torchrun, it is one process of many, on the device that is its own.

    Args:
        precision: "no" is float32; "bf16" and "fp16" are mixed. UsageError where the device has not
            it.
        accumulation: micro-batches that a batch is split into, so that it needs less memory.
    """

    def __init__(
        self, device: torch.device | str = "cpu", *, precision: str = "no", accumulation: int = 1
    ) -> None:
        self.device, self.rank, self.world = torch.device(device), 0, 1
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            from accelerate import PartialState

            processes = PartialState(cpu=self.device.type == "cpu", timeout=PATIENCE)
            self.rank, self.world = processes.process_index, processes.num_processes
            self.device = processes.device
        _check_precision(precision, self.device)
        self.precision, self.accumulation = precision, accumulation
        self.scaler = torch.amp.GradScaler(self.device.type) if precision == "fp16" else None

    @classmethod
    def of(cls, options: TrainOptions, device: torch.device | str = "cpu") -> Self:
        """What the options of a run ask for; sets the number of CPU threads, too, and keeps their
        memory."""
        if options.threads:
            torch.set_num_threads(options.threads)
        allocation.keep()
        return cls(device, precision=options.precision, accumulation=options.accumulation)

    def fits(self, options: TrainOptions) -> bool:
        """Whether it computes as the options of a run say."""
        return (self.precision, self.accumulation) == (options.precision, options.accumulation)

    @property
    def alone(self) -> Self:
        """The same for what one process does while the others wait."""
        found = copy.copy(self)
        found.rank, found.world = 0, 1
        return found

    @property
    def records(self) -> bool:
        """Whether a step is one part on one GPU, so that it can be :class:`Recorded`."""
        alone = self.world == 1 and self.accumulation == 1
        return self.device.type == "cuda" and alone and self.scaler is None

    @property
    def main(self) -> bool:
        """True in the one process that writes files."""
        return self.rank == 0

    def parts(self, rows: np.ndarray) -> Iterator[Part]:
        """The batch in parts; each process has at least two rows of each, or there is no part.

        Batch norm cannot train on one row. Only the last batch of an epoch can be that small.
        """
        pieces = min(self.accumulation, len(rows) // (2 * self.world))
        shares = np.array_split(rows, pieces * self.world) if pieces else []
        for start in range(0, len(shares), self.world):
            yield Part(shares[start : start + self.world], self.rank, rows)

    def ready(self, network: Network) -> Network:
        """The network on the device, with batch statistics over all processes.

        Channels stand last, which convolves faster: on CPUs by a quarter in float32, and it is what
        matrix units take in mixed precision.
        """
        if self.world > 1:
            share_statistics(network)
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return network.to(self.device)

    def put(self, values: Tensor) -> Tensor:
        """``values`` of this computer's memory, on the device; a GPU is not waited for."""
        return on_device(values, self.device)

    def held(self, images: Images) -> Images:
        """``images`` in a GPU's memory, where they leave room for what trains; else themselves."""
        room = torch.cuda.mem_get_info(self.device)[0] // 4 if self.device.type == "cuda" else 0
        return held(images, self.device, room)

    def adam(self, network: nn.Module, rate: float, decay: float = 0.0) -> torch.optim.Adam:
        """Adam for a network that is ready; on a GPU in one kernel."""
        fused = self.device.type == "cuda"
        return torch.optim.Adam(network.parameters(), lr=rate, weight_decay=decay, fused=fused)

    def autocast(self) -> AbstractContextManager:
        """Forward passes of training run in here."""
        if self.precision == "no":
            return nullcontext()
        kind = torch.bfloat16 if self.precision == "bf16" else torch.float16
        return torch.autocast(self.device.type, dtype=kind)

    def backward(self, loss: Tensor, weight: float) -> None:
        """Adds the gradients of ``weight * loss``."""
        self.scaled(loss * weight if weight != 1 else loss).backward()

    def scaled(self, loss: Tensor) -> Tensor:
        """``loss``, times what keeps its gradients above zero in half precision."""
        return loss if self.scaler is None else self.scaler.scale(loss)

    def step(self, *optimizers: torch.optim.Optimizer) -> None:
        """One step with the gradients of all parts and processes, which are then forgotten.

        A batch too small to have parts gives none, and moves nothing.
        """
        moving = [optimizer for optimizer in optimizers if self._average_gradients(optimizer)]
        for optimizer in moving:
            if self.scaler is None:
                optimizer.step()
            else:
                self.scaler.step(optimizer)
            optimizer.zero_grad(set_to_none=True)
        if self.scaler is not None and moving:
            self.scaler.update()

    def _average_gradients(self, optimizer: torch.optim.Optimizer) -> bool:
        """Whether there are any."""
        parameters = (p for group in optimizer.param_groups for p in group["params"])
        gradients = [p.grad for p in parameters if p.grad is not None]
        if self.world > 1 and gradients:
            flat = torch.cat([g.reshape(-1) for g in gradients])
            torch.distributed.all_reduce(flat)
            parts = (flat / self.world).split([g.numel() for g in gradients])
            for gradient, part in zip(gradients, parts, strict=True):
                gradient.copy_(part.view_as(gradient))
        return bool(gradients)

    def gather(self, own: Tensor, part: Part) -> Tensor:
        """Rows (n, features) of all processes in their order; gradients flow back to each."""
        if self.world == 1:
            return own
        images_a_row = len(own) // len(part.rows)
        sizes = [images_a_row * len(share) for share in part.shares]
        before, after = sum(sizes[: self.rank]), sum(sizes[self.rank + 1 :])
        return _Sum.apply(nn.functional.pad(own.float(), (0, 0, before, after)))

    def total(self, values: list[float]) -> list[float]:
        """Sums over the processes."""
        if self.world == 1:
            return values
        summed = torch.tensor(values, dtype=torch.float64, device=self.device)
        torch.distributed.all_reduce(summed)
        return summed.tolist()

    def broadcast(self, value: Any) -> Any:
        """The main process's value, in every process; all wait here for each other."""
        if self.world == 1:
            return value
        told = [value]
        torch.distributed.broadcast_object_list(told, src=0)
        return told[0]

    def first(self, fetch: Callable[[], None]) -> None:
        """Calls it in the main process, and then in the others, which find what that fetched."""
        if self.main:
            fetch()
        self.broadcast(None)
        if not self.main:
            fetch()

    def state(self) -> dict[str, Any]:
        """What a checkpoint must keep besides networks and optimizers."""
        return {} if self.scaler is None else {"scaler": self.scaler.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continues from :meth:`state`."""
        if "scaler" in state and self.scaler is not None:
            self.scaler.load_state_dict(state["scaler"])


def _check_precision(precision: str, device: torch.device) -> None:
    if precision == "fp16" and device.type in ("cpu", "mps"):
        raise UsageError("precision fp16 needs a CUDA GPU; take bf16 or no")
    if precision == "bf16" and device.type == "cuda" and not torch.cuda.is_bf16_supported():
        raise UsageError("precision bf16 is not available on this GPU; take fp16 or no")


class _Sum(torch.autograd.Function):
    """The sum over all processes; so is its gradient; torch's own is deprecated."""

    @staticmethod
    def forward(ctx, own: Tensor) -> Tensor:
        summed = own.clone()
        torch.distributed.all_reduce(summed)
        return summed

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        return _Sum.apply(gradient)


class SharedBatchNorm2d(nn.BatchNorm2d):
    """Batch norm whose training statistics are those of all processes, on any device.

    torch's own (SyncBatchNorm) knows GPUs only.
    """

    def forward(self, images: Tensor) -> Tensor:
        if not self.training:
            return super().forward(images)
        values = images.float()
        count = torch.tensor([values.numel() / values.shape[1]], device=images.device)
        sums = _Sum.apply(torch.cat((values.sum((0, 2, 3)), count)))
        count = sums[-1]
        mean = sums[:-1] / count
        centred = values - mean[:, None, None]
        variance = _Sum.apply((centred**2).sum((0, 2, 3))) / count
        with torch.no_grad():
            assert self.num_batches_tracked is not None
            self.num_batches_tracked += 1
            unbiased = variance * count / (count - 1)
            self.running_mean += self.momentum * (mean - self.running_mean)
            self.running_var += self.momentum * (unbiased - self.running_var)
        scale = self.weight * (variance + self.eps).rsqrt()
        return (centred * scale[:, None, None] + self.bias[:, None, None]).to(images.dtype)


def share_statistics(network: nn.Module) -> None:
    """Turns every batch norm of ``network`` into a :class:`SharedBatchNorm2d`; same state."""
    for module in network.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = SharedBatchNorm2d
