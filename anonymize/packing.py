"""Convolutions of a network that only predicts, on a CPU: weights laid out once, and what comes
after in the same pass over memory. The operators are those that torch compiles networks to."""

from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

CHANNELS = 32  # of what is tried: so many that weights are laid out in another way
EQUAL = 1e-5  # by which sums in another order differ at most


class Packed(nn.Module):
    """A convolution, and ``after`` it "relu" or "none": what the layers are one after the other,
    but for the order of sums. Its weights are laid out for the size of the images seen last.
    """

    _packed: tuple[torch.Size, Tensor] | None = None

    def __init__(self, conv: nn.Conv2d | nn.ConvTranspose2d, after: str) -> None:
        super().__init__()
        self.conv, self.after = conv, after

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_packed"}

    def forward(self, images: Tensor) -> Tensor:
        """Of (B, C, H, W), without gradients."""
        conv, packed, ours = self.conv, self._packed, torch.ops.mkldnn
        how = [conv.padding, conv.stride, conv.dilation, conv.groups]
        lay_out, compute = ours._reorder_convolution_weight, ours._convolution_pointwise
        if isinstance(conv, nn.ConvTranspose2d):
            how.insert(1, conv.output_padding)
            lay_out = ours._reorder_convolution_transpose_weight
            compute = ours._convolution_transpose_pointwise
        if packed is None or packed[0] != images.shape:
            packed = self._packed = images.shape, lay_out(conv.weight, *how, [*images.shape])
        return compute(images, packed[1], conv.bias, *how, self.after, [], None)


@cache
def works() -> bool:
    """Whether this torch has the operators, which it nowhere promises, and they are right."""
    c, image = CHANNELS, torch.linspace(-1, 1, CHANNELS * 256).view(1, CHANNELS, 16, 16)
    with torch.random.fork_rng(devices=[]):  # whoever draws next draws what he would have
        torch.manual_seed(0)
        layers = nn.Conv2d(c, c, 3, padding=1), nn.ConvTranspose2d(c, c, 2, stride=2)
    with torch.no_grad(), suppress(AttributeError, RuntimeError):
        changes = [Packed(layer, "relu")(image) - layer(image).relu() for layer in layers]
        return max(float(change.abs().max()) for change in changes) < EQUAL
    return False


def pack(network: nn.Module) -> None:
    """Packs the convolutions that enlarge, and those that a ReLU follows with it."""
    for block in [*network.modules()]:
        layers = [(n, m) for n, m in block.named_children() if not isinstance(m, nn.Identity)]
        for name, layer in layers:
            if isinstance(layer, nn.ConvTranspose2d):
                setattr(block, name, Packed(layer, "none"))
        for (name, layer), (after, relu) in pairwise(layers):
            ordered = isinstance(block, nn.Sequential)
            if ordered and isinstance(layer, nn.Conv2d) and isinstance(relu, nn.ReLU):
                setattr(block, name, Packed(layer, "relu"))
                setattr(block, after, nn.Identity())
