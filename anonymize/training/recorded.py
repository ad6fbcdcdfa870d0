"""Steps of training that a GPU repeats by itself, without Python between its kernels.

Three networks and their gradients are thousands of kernels a step, each too short to hide what it
takes to ask for it. A CUDA graph asks for all of them at once.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from anonymize.training.compute import Compute, Part

Losses = dict[str, Tensor]
Gradients = Callable[..., Losses]  # of the part of a batch, and the tensors that it is made of
BEFORE = 3  # steps that are taken as usual: libraries choose what they do in the first ones


class Recorded:
    """One step: gradients, and what ``optimizers`` make of them.

    Where :attr:`Compute.records`, what three batches of one shape did is recorded and repeated for
    all that follow in that shape. ``gradients`` must do the same to all tensors of one shape,
    whatever their values, and fetch nothing from the GPU. What is recorded keeps its memory, so
    nothing is where a step takes half of what there is.
    """

    def __init__(
        self,
        gradients: Gradients,
        optimizers: Mapping[str, torch.optim.Optimizer],
        compute: Compute,
    ) -> None:
        self.gradients, self.optimizers, self.compute = gradients, optimizers, compute
        self.stream = torch.cuda.Stream(compute.device)
        self.taken = 0  # steps in a row of one shape
        self.shape: list[torch.Size] = []
        self.graph: torch.cuda.CUDAGraph | None = None
        self.inputs: tuple[Tensor, ...] = ()
        self.losses: Losses = {}

    def __call__(self, part: Part, *inputs: Tensor) -> Losses:
        """The losses of the step, which has been taken."""
        shape = [values.shape for values in inputs]
        if self.graph is None:
            self.taken = self.taken + 1 if shape == self.shape else 1
            self.shape = shape
            if self.taken > BEFORE and self._room:
                self._record(part, inputs)
        if self.graph is None or shape != self.shape:
            return self._taken(part, *inputs)
        for held, values in zip(self.inputs, inputs, strict=True):
            held.copy_(values, non_blocking=True)
        self.graph.replay()
        return {name: loss.clone() for name, loss in self.losses.items()}

    @property
    def _room(self) -> bool:
        """Whether a step fits beside a recorded one: the last batch of an epoch is shorter."""
        device = self.compute.device
        ours = torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)
        return 2 * torch.cuda.max_memory_allocated(device) < ours

    def _taken(self, part: Part, *inputs: Tensor) -> Losses:
        """A step as usual; on a stream of its own, as what is recorded must be before it is."""
        now = torch.cuda.current_stream(self.compute.device)
        self.stream.wait_stream(now)
        with torch.cuda.stream(self.stream):
            losses = self._step(part, *inputs)
        now.wait_stream(self.stream)
        return losses

    def _step(self, part: Part, *inputs: Tensor) -> Losses:
        losses = self.gradients(part, *inputs)
        self.compute.step(*self.optimizers.values())
        return {name: loss.detach() for name, loss in losses.items()}

    def _record(self, part: Part, inputs: tuple[Tensor, ...]) -> None:
        """Nothing moves by it."""
        graph, self.inputs = torch.cuda.CUDAGraph(), tuple(values.clone() for values in inputs)
        self._capturable(True)
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self.losses = self._step(part, *self.inputs)
        self._capturable(False)
        self.graph = graph

    def _capturable(self, now: bool) -> None:
        """Adam refuses to be recorded unless it is told so, and warns if it then is not."""
        for optimizer in self.optimizers.values():
            for group in optimizer.param_groups:
                if "capturable" in group:
                    group["capturable"] = now
