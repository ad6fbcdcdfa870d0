"""A U-Net whose convolutions multiply bytes, of which a processor takes twice as many at a time as
numbers in bfloat16.

Weights are rounded to 255 steps a channel, activations to 256 steps of a range that was measured
before; sums are exact (Jacob et al., CVPR 2018). The first convolution and the last, whose weights
an output depends on most, stay in float32.
"""

from dataclasses import dataclass
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from anonymize.networks.unet import UNet

MOST = 255  # of a byte
MIDDLE = 128  # the byte that means 0 where half of the bytes are for what is below
ROOM = 2.0  # times the largest activation of the examples, which other images may have


class OutOfRangeError(Exception):
    """An activation of an image is larger than any that a byte is for."""


@dataclass(frozen=True)
class _Code:
    """A byte b means (b − zero) · step."""

    step: float
    zero: int

    def written(self, values: Tensor) -> Tensor:
        """uint8, of what is at least 0."""
        if float(values.amax()) > self.step * (MOST - self.zero):
            raise OutOfRangeError
        return (values / self.step).add_(self.zero + 0.5).to(torch.uint8)  # cut off, thus rounded


class Int8UNet(nn.Module):
    """What a float32 U-Net in evaluation mode predicts, on a CPU; (1, 1, H, W) → (1, C, H, W).

    Args:
        examples: float32 (B, 1, H, W), images as large as those to come, from whose activations
            follows what a byte means.

    Raises:
        OutOfRangeError: of an image whose activations are larger than theirs by ``ROOM``.
    """

    def __init__(self, network: UNet, examples: Tensor) -> None:
        super().__init__()
        self.levels = network.levels
        with torch.no_grad():
            self._build(network, examples)

    def _build(self, network: UNet, examples: Tensor) -> None:
        """The layers one after the other, each from what the examples have become so far."""
        self.first, second = _convolutions(network.get_submodule("encoder1"))
        self.first.to(memory_format=torch.channels_last)
        x = self.first(examples).relu()
        code = self.entry = _code(x, 0)
        skips = []
        for level in range(1, self.levels + 1):
            if level > 1:
                first, second = _convolutions(network.get_submodule(f"encoder{level}"))
                x, code = self._add(f"encoder{level}_1", first, x, [code])
            x, code = self._add(f"encoder{level}_2", second, x, [code], zero=MIDDLE)
            skips.append((x, code))
            x = F.max_pool2d(x, 2)
        first, second = _convolutions(network.get_submodule("bottleneck"))
        x, code = self._add("bottleneck_1", first, x, [code])
        x, code = self._add("bottleneck_2", second, x, [code])
        for level in range(self.levels, 0, -1):
            up = _as_convolution(network.get_submodule(f"upconv{level}"))
            x, above = self._add(f"upconv{level}", up, x, [code], zero=MIDDLE, relu=False)
            skip, beside = skips[level - 1]
            x = torch.cat((_shuffled(x), skip), dim=1)
            first, second = _convolutions(network.get_submodule(f"decoder{level}"))
            x, code = self._add(f"decoder{level}_1", first, x, [above, beside])
            x, code = self._add(
                f"decoder{level}_2", second, x, [code], zero=0 if level > 1 else None
            )
        self.last, self.activation = network.conv, network.activation

    def _add(
        self,
        name: str,
        layer: nn.Conv2d,
        x: Tensor,
        codes: list[_Code],
        *,
        zero: int | None = 0,
        relu: bool = True,
    ) -> tuple[Tensor, _Code]:
        """Adds a layer of bytes, of whose channels each of ``codes`` is for an equal share; what
        the examples become in it, and the code of its outputs. Without a byte for ``zero`` these
        are float32."""
        made = layer(x).relu() if relu else layer(x)
        code = _code(made, zero or 0)
        steps = torch.tensor([c.step for c in codes]).repeat_interleave(x.shape[1] // len(codes))
        self.add_module(
            name,
            _ByteConv(
                layer.weight * steps[:, None, None],
                layer.bias,
                codes[0].zero,
                None if zero is None else code,
                relu=relu,
                size=x.shape[-1],
            ),
        )
        return made, code

    def forward(self, images: Tensor) -> Tensor:
        x = self.first(images).relu_().contiguous(memory_format=torch.channels_last)
        x, skips = self.entry.written(x), []
        for level in range(1, self.levels + 1):
            if level > 1:
                x = self.get_submodule(f"encoder{level}_1")(x)
            x = self.get_submodule(f"encoder{level}_2")(x)
            skips.append(x)
            x = _pooled(x)
        x = self.get_submodule("bottleneck_2")(self.get_submodule("bottleneck_1")(x))
        for level in range(self.levels, 0, -1):
            x = _beside(self.get_submodule(f"upconv{level}")(x), skips[level - 1])
            x = self.get_submodule(f"decoder{level}_1")(x)
            x = self.get_submodule(f"decoder{level}_2")(x)
        return self.activation(self.last(x))


class _ByteConv(nn.Module):
    """A convolution of bytes (1, C, H, W), of which ``zero`` means 0, to such or, without ``code``,
    to float32; a weight (D, C, k, k) is for as much as a byte above ``zero`` means."""

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        zero: int,
        code: _Code | None,
        *,
        relu: bool,
        size: int,
    ) -> None:
        super().__init__()
        steps = (weight.abs().amax((1, 2, 3)) / 127).clamp(min=torch.finfo(torch.float32).tiny)
        whole = (weight / steps[:, None, None, None]).round().to(torch.int8)
        place = [1, 1], [weight.shape[-1] // 2] * 2, [1, 1], 1  # stride, padding, dilation, groups
        shape = [1, weight.shape[1], size, size]  # another packing is fifty times slower
        packed = torch.ops.onednn.qconv_prepack(whole, steps, 1.0, zero, *place, shape)
        zeros = torch.zeros(len(weight), dtype=torch.int64)
        self.code, self.signed = code, not relu
        self._seen = 1.0, zero, packed, steps, zeros, bias, *place
        self._after: tuple[str, list, str] = ("relu" if relu else "none", [], "")

    def forward(self, seen: Tensor) -> Tensor:
        code = self.code
        as_what = (1.0, 0, torch.float32) if code is None else (code.step, code.zero, torch.uint8)
        made = torch.ops.onednn.qconv2d_pointwise(seen, *self._seen, *as_what, *self._after)
        if code is not None and (made.amax() == MOST or (self.signed and made.amin() == 0)):
            raise OutOfRangeError
        return made


def _code(values: Tensor, zero: int) -> _Code:
    largest = max(float(values.abs().amax()), torch.finfo(torch.float32).eps)
    return _Code(largest * ROOM / (MOST - zero), zero)


def _convolutions(block: nn.Module) -> tuple[nn.Conv2d, nn.Conv2d]:
    """Those of a block, with its batch norms in them."""
    first, norm, _, second, other, _ = cast(Any, block.children())
    return fuse_conv_bn_eval(first, norm), fuse_conv_bn_eval(second, other)


def _as_convolution(up: nn.Module) -> nn.Conv2d:
    """A transposed convolution of stride 2 and 2 × 2 pixels as one of 1 × 1, whose channels are
    four pixels of D channels each: :func:`_shuffled` puts them in their places."""
    weight, bias = (values.detach() for values in up.parameters())
    inputs, outputs = weight.shape[:2]
    made = nn.Conv2d(inputs, 4 * outputs, 1)
    made.weight = nn.Parameter(weight.permute(2, 3, 1, 0).reshape(4 * outputs, inputs, 1, 1))
    made.bias = nn.Parameter(bias.repeat(4))
    return made


def _shuffled(x: Tensor) -> Tensor:
    """(B, 4 · D, H, W) → (B, D, 2 · H, 2 · W)."""
    n, channels, height, width = x.shape
    parts = x.view(n, 2, 2, channels // 4, height, width).permute(0, 3, 4, 1, 5, 2)
    return parts.reshape(n, channels // 4, 2 * height, 2 * width)


def _beside(x: Tensor, skip: Tensor) -> Tensor:
    """``torch.cat((_shuffled(x), skip), dim=1)``, written once and channels last."""
    n, channels, height, width = skip.shape
    made = skip.new_empty(n, height, width, 2 * channels)
    made[..., channels:] = skip.permute(0, 2, 3, 1)
    height, width = height // 2, width // 2
    parts = x.permute(0, 2, 3, 1).reshape(n, height, width, 2, 2, channels).transpose(2, 3)
    made.view(n, height, 2, width, 2, 2 * channels)[..., :channels] = parts
    return made.permute(0, 3, 1, 2)


def _pooled(x: Tensor) -> Tensor:
    """``F.max_pool2d(x, 2)``, which is not for large images of bytes."""
    x = x.permute(0, 2, 3, 1)
    rows = torch.maximum(x[:, ::2], x[:, 1::2])
    return torch.maximum(rows[:, :, ::2], rows[:, :, 1::2]).permute(0, 3, 1, 2)
