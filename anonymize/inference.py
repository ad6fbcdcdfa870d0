"""A network that only predicts, as fast as its processor does it."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from anonymize import allocation, packing

LIKE_BFLOAT16 = ("avx512_bf16", "amx_bf16")  # what a CPU needs to compute in it, not to emulate it


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch computes in one: several cost a warp thrice the work, and wait for each other where
    the workers have their cores, a network five times as long. Nor do last bits then depend on how
    many cores there are."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class Inference:
    """A network without gradients: channels last, and on a CPU one image at a time, which stays in
    its caches; so what an image becomes does not depend on those beside it.

    Args:
        network: in evaluation mode; it is copied.
        half: bfloat16 for all but the first convolution, whose rounded weights alone move an output
            more than all others', and the last part.
    """

    def __init__(self, network: nn.Module, *, half: bool = False) -> None:
        allocation.keep()
        self.half = half
        self._network = _folded(network)
        self._network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if next(network.parameters()).is_cpu and packing.works():
            packing.pack(self._network)
        if half:
            kinds = (packing.Packed, nn.Conv2d)
            first = next(m for m in self._network.modules() if isinstance(m, kinds))
            *_, last = self._network.children()
            exact = {*first.parameters(), *last.parameters(), *last.buffers()}
            for values in (*self._network.parameters(), *self._network.buffers()):
                if values.is_floating_point() and values not in exact:
                    values.data = values.data.bfloat16()
            first.register_forward_hook(lambda _, seen, made: made.bfloat16())
            last.register_forward_pre_hook(lambda _, seen: tuple(s.float() for s in seen))

    @torch.no_grad()
    def __call__(self, images: Tensor) -> Tensor:
        """float32 (B, C, H, W) of float32 images (B, 1, H, W)."""
        seen = images.to(memory_format=torch.channels_last)
        made = [self._network(part) for part in seen.split(1 if seen.is_cpu else len(seen))]
        return torch.cat(made).contiguous()


def computes_bfloat16(device: torch.device) -> bool:
    """Whether it has units for bfloat16; False where that is not known."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    known: dict = getattr(torch.cpu, "get_capabilities", dict)()  # since torch 2.10
    return device.type == "cpu" and any(known.get(unit) for unit in LIKE_BFLOAT16)


def drawn(size: int) -> Tensor:
    """float32 (1, 1, size, size) in [0, 1], always the same: smooth noise, and edges as sharp as
    those of radiographs, at which a wrong displacement shows most."""
    random = torch.Generator().manual_seed(0)
    image = torch.zeros(1, 1, size, size)
    for cells in (4, 16):
        noise = torch.rand(1, 1, cells, cells, generator=random)
        image += nn.functional.interpolate(noise, (size, size), mode="bilinear") / 2
    image[..., size // 4 : size // 2, size // 4 : size // 2] = 0.75
    image[..., size // 2 : size // 2 + size // 8, : size // 4] = 0.25
    return image


def _folded(network: nn.Module) -> nn.Module:
    """A copy whose batch norms are in the convolutions before them, where they are rounded once."""
    made = copy.deepcopy(network)
    for block in [module for module in made.modules() if isinstance(module, nn.Sequential)]:
        for (name, layer), (after, norm) in pairwise(list(block.named_children())):
            if isinstance(layer, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                setattr(block, name, fuse_conv_bn_eval(layer, norm))
                setattr(block, after, nn.Identity())
    return made
