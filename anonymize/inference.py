"""A network that only predicts, as fast as its processor does it."""

import contextlib
import copy
from typing import Literal

import torch
from torch import Tensor, nn

from anonymize import allocation
from anonymize.networks.int8 import Int8UNet, OutOfRangeError
from anonymize.networks.unet import UNet

Numbers = Literal["float32", "bfloat16", "int8"]
UNITS = {  # of a CPU, any of which it needs to compute in such numbers, not to emulate them
    "bfloat16": ("avx512_bf16", "amx_bf16"),
    "int8": ("avx512_vnni", "avx_vnni", "amx_int8"),
}


class Inference:
    """A network without gradients: channels last, and on a CPU one image at a time, which stays in
    its caches; so what an image becomes does not depend on those beside it.

    Args:
        network: in evaluation mode; it is copied.
        numbers: ``bfloat16`` for all but the first convolution, whose rounded weights alone move an
            output more than all others', and the last part; ``int8`` is for a `UNet` on a CPU, of
            images that :func:`drawn` ones show, others are float32.
        size: pixels of a side, for int8.
    """

    def __init__(self, network: nn.Module, numbers: Numbers = "float32", *, size: int = 0) -> None:
        allocation.keep()
        self.numbers = numbers
        self._network = copy.deepcopy(network)
        self._network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._bytes: Int8UNet | None = None
        if numbers == "int8":
            assert isinstance(network, UNet)
            self._bytes = Int8UNet(network, _examples(size))
        if numbers == "bfloat16":
            first = next(m for m in self._network.modules() if isinstance(m, nn.Conv2d))
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
        made = [self._of(part) for part in seen.split(1 if seen.is_cpu else len(seen))]
        return torch.cat(made).contiguous()

    def _of(self, images: Tensor) -> Tensor:
        if self._bytes is not None:
            with contextlib.suppress(OutOfRangeError):
                return self._bytes(images)
        return self._network(images)


def faster(network: nn.Module, device: torch.device) -> list[Numbers]:
    """In what the device computes the network faster than in float32, the fastest first."""
    found: list[Numbers] = []
    if isinstance(network, UNet) and computes_int8(device):
        found.append("int8")
    if computes_bfloat16(device):
        found.append("bfloat16")
    return found


def computes_int8(device: torch.device) -> bool:
    """Whether it is a CPU with units for products of bytes, and the installed torch uses them."""
    there = hasattr(torch.ops.onednn, "qconv2d_pointwise")
    return device.type == "cpu" and there and _has_units("int8")


def computes_bfloat16(device: torch.device) -> bool:
    """Whether it has units for bfloat16; False where that is not known."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and _has_units("bfloat16")


def _has_units(numbers: str) -> bool:
    known: dict = getattr(torch.cpu, "get_capabilities", dict)()  # since torch 2.10
    return any(known.get(unit) for unit in UNITS[numbers])


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


def _examples(size: int) -> Tensor:
    """(4, 1, size, size): the drawn image and its negative, white and black."""
    image = drawn(size)
    return torch.cat((image, 1 - image, torch.ones_like(image), torch.zeros_like(image)))
