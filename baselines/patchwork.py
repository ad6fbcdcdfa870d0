"""Patches of many images made one image, in which nothing but what they show tells them apart."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
import torch.nn.functional as F
from kornia.filters import gaussian_blur2d
from torch import Tensor

from anonymize import flow, spline
from anonymize.data.batches import Images, in_batches
from anonymize.errors import UsageError
from baselines.options import Band

CUT = 1 / 64  # of the side: deviation of the filter that tells fine structure from coarse
REACH = 4  # standard deviations to each side
FLAT = 1e-4  # of the range: what varies less is not enlarged
BATCH = 64
CONTROLS = 6  # of a warp's spline, on a side: an image bends, and hardly ever folds


@dataclass(frozen=True)
class Warps:
    """A smooth displacement for each patch of each mosaic.

    Attributes:
        points: float32 (M, g², 2, C, C), its control points.
        rms: its root mean square over an image, of which half a side is 1.
    """

    points: Tensor
    rms: float

    @classmethod
    def drawn(cls, rms: float, patches: tuple[int, int], rng: np.random.Generator) -> Self:
        """Of M mosaics of g² ``patches``."""
        points = rng.uniform(-1, 1, (*patches, 2, CONTROLS, CONTROLS)).astype(np.float32)
        return cls(torch.from_numpy(points), rms)

    def moved(self, part: Tensor, mosaic: int, cell: int, place: tuple[slice, slice]) -> Tensor:
        """The pixels (C, h, w) of an image (C, H, W) that a patch shows at its place."""
        field = spline.through(self.points[mosaic, cell][None], *part.shape[-2:])
        field = self.rms / flow.magnitude(field).square().mean().sqrt() * field
        rows, columns = place
        return flow.warp(part[None], field[:, :, rows], rows=rows)[0, :, :, columns]


def patchwork(
    images: Images,
    placed: np.ndarray,
    weight: Tensor,
    warps: Warps | None = None,
    band: Band | None = None,
    cut: float = CUT,
) -> Tensor:
    """Mosaics float32 (M, 1, H, W) in [0, 1]: each the sum of its images, weighted and equalised.

    Equalised: of every image's coarse and fine part the mean is taken off and the deviation made
    that of all images of the mosaic, so that neither brightness, contrast, sharpness nor noise
    tells which patches of several mosaics belong together.

    Args:
        images: (N, 1, H, W).
        placed: rows (M, g²) of the images, the one of the upper left patch first.
        weight: (g², H, W), see :func:`weights`.
        warps: deforms each patch; None: none.
        band: the part that is shown; None: both.
        cut: of :func:`standardised`.
    """
    cells = placed.shape[1]
    seen = [_reach(part) for part in weight]
    parts = torch.zeros(len(placed), 2, *weight.shape[1:])
    levels = torch.zeros(len(placed), 3)
    places = np.argsort(placed, axis=None, kind="stable")
    rows, starts = np.unique(placed.reshape(-1)[places], return_index=True)
    of_row = np.split(places, starts[1:])
    for batch in in_batches(np.arange(len(rows)), BATCH):
        split = zip(batch, *standardised(images.batch(rows[batch]), cut), strict=True)
        for number, part, level in split:
            for place in of_row[number].tolist():
                mosaic, cell = divmod(place, cells)
                y, x = seen[cell]
                shown = warps.moved(part, mosaic, cell, (y, x)) if warps else part[:, y, x]
                parts[mosaic, :, y, x] += weight[cell, y, x] * shown
                levels[mosaic] += level / cells
    mean, spread, energy = levels[:, :, None, None].unbind(dim=1)
    coarse, fine = parts.unbind(dim=1)
    shown = {"coarse": spread * coarse, "fine": energy * fine}
    told = shown[band] if band else shown["coarse"] + shown["fine"]
    return (mean + told).clamp(0, 1)[:, None]


def standardised(images: Tensor, cut: float) -> tuple[Tensor, Tensor]:
    """Images (N, 1, H, W) as coarse and fine part (N, 2, H, W) of mean 0 and deviation 1 each, and
    the mean of the image with the two deviations (N, 3). A part that does not vary is 0. They are
    parted by a Gaussian filter of deviation ``cut``, a share of the longer side."""
    high, wide = images.shape[-2:]
    sigma = max(high, wide) * cut
    kernel = tuple(2 * min(round(REACH * sigma), side - 1) + 1 for side in (high, wide))
    coarse = gaussian_blur2d(images, kernel, (sigma, sigma), border_type="replicate")
    parts = torch.cat([coarse, images - coarse], dim=1)
    parts = parts - parts.mean(dim=(-2, -1), keepdim=True)
    deviation = parts.square().mean(dim=(-2, -1)).sqrt()
    mean = images.mean(dim=(-2, -1))
    return parts / deviation.clamp(min=FLAT)[:, :, None, None], torch.cat([mean, deviation], dim=1)


def weights(size: tuple[int, int], side: int, feather: float) -> Tensor:
    """Weights (side², H, W) of patches in an image (H, W), 1 in sum at every pixel: each patch
    passes into its neighbours over ``feather`` of a patch, with 0 none of them mixes.

    Raises UsageError: fewer pixels than patches."""
    if min(size) < side:
        raise UsageError(
            f"a mosaic of {side} × {side} patches needs images of {side} pixels along a side or "
            f"more, got {size}; take a smaller g"
        )
    down, across = (_along(pixels, side, feather) for pixels in size)
    return (down[:, None, :, None] * across[None, :, None, :]).flatten(0, 1)


def shares(size: tuple[int, int], side: int, feather: float) -> Tensor:
    """The part (side²,) of an image (H, W) that each patch has by its weights, ascending: 1/side²,
    but where sharp borders do not divide the pixels."""
    down, across = (_along(pixels, side, feather).double().mean(dim=1) for pixels in size)
    return torch.outer(down, across).flatten().sort().values


def _along(pixels: int, patches: int, feather: float) -> Tensor:
    """Weight (patches, pixels) of each patch along a side: a smooth step at every border between
    two."""
    at = (2 * torch.arange(pixels) + 1) * patches / (2 * pixels)  # exact where it is whole
    beyond = at - torch.arange(1, patches)[:, None]
    if feather > 0:
        step = (beyond / feather + 0.5).clamp(0, 1)
        passed = step * step * (3 - 2 * step)
    else:
        passed = (beyond >= 0).float()
    return F.pad(passed, (0, 0, 1, 0), value=1.0) - F.pad(passed, (0, 0, 0, 1), value=0.0)


def _reach(weight: Tensor) -> tuple[slice, slice]:
    """The rows and columns of pixels where a weight (H, W) is not 0."""
    down, across = (torch.nonzero(weight.sum(dim=axis))[:, 0].tolist() for axis in (1, 0))
    return slice(down[0], down[-1] + 1), slice(across[0], across[-1] + 1)
