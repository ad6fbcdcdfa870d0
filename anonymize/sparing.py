"""Regions that stay as they are: what a field must be multiplied by to vanish inside boxes."""

from collections.abc import Iterable
from math import ceil, floor

import torch
from torch import Tensor


def taper(
    boxes: Iterable[tuple[float, float, float, float]], size: tuple[int, int], margin: float
) -> Tensor:
    """0 in every pixel of a box, 1 from ``margin`` pixels around it on, smooth between.

    float32 (1, 1, H, W) for an image of ``size`` (H, W); times a displacement or a tone, it leaves
    the boxes bit for bit. It grows by at most 1.5 / margin a pixel: several times as wide as the
    displacement is long, a margin folds nothing.

    Args:
        boxes: left, top, right, bottom in pixels, 0 at the edge of the first one.

    Raises:
        ValueError: a margin that is not positive.
    """
    if not margin > 0:
        raise ValueError(f"margin must be positive, got {margin}")
    y, x = (torch.arange(side) + 0.5 for side in size)
    nearest = torch.full(size, torch.inf)
    for left, top, right, bottom in boxes:
        # A pixel that a box cuts belongs to it.
        across = (floor(left) + 0.5 - x).maximum(x - ceil(right) + 0.5).clamp(min=0)
        down = (floor(top) + 0.5 - y).maximum(y - ceil(bottom) + 0.5).clamp(min=0)
        nearest = nearest.minimum(torch.hypot(across, down[:, None]))
    share = (nearest / margin).clamp(max=1)
    return (share * share * (3 - 2 * share))[None, None]
