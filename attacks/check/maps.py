"""What is done to the images in the tests, and what undoes it."""

import math

import numpy as np
import torch
from torch import Tensor

from anonymize import flow
from anonymize.anonymizer import Anonymizer


class AffineMap(Anonymizer):
    """One rotation, scaling and shift for all images.

    Args:
        degrees: counter-clockwise.
        scale: above 1 enlarges what is shown.
        shift: (x, y), as a share of the image's side.
    """

    name = "affine"

    def __init__(
        self, *, degrees: float, scale: float = 1.0, shift: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        self.options = {"degrees": degrees, "scale": scale, "shift": list(shift)}
        angle = math.radians(degrees)
        turn = torch.tensor(
            [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        )
        self._matrix, self._shift = turn / scale, 2 * torch.tensor(shift)

    def displacement(self, images: Tensor) -> Tensor:
        """float32 (B, 2, H, W): of every point p the difference A (p − shift) − p."""
        grid = flow.identity_grid(images)
        where = grid - self._shift.to(grid).view(1, 2, 1, 1)
        moved = torch.einsum("ij,bjhw->bihw", self._matrix.to(grid), where)
        return (moved - grid).expand(len(images), -1, -1, -1)

    def anonymize(self, images: Tensor) -> Tensor:
        return flow.warp(images, self.displacement(images))


class SmoothWarp(Anonymizer):
    """One smooth random warp for all images.

    Args:
        reach: largest displacement; [−1, 1] spans the image.
        seed: of the field.
    """

    name = "smooth-warp"
    vectors = 16

    def __init__(self, *, reach: float, seed: int) -> None:
        self.options = {"reach": reach, "seed": seed}
        random = torch.Generator().manual_seed(seed)
        noise = 2 * torch.rand(1, 2, self.vectors, self.vectors, generator=random) - 1
        smooth = flow.smooth(noise, kernel=15, sigma=3)
        self._field = reach / smooth.abs().max() * smooth

    def displacement(self, images: Tensor) -> Tensor:
        """float32 (B, 2, H, W), the same for every image."""
        height, width = images.shape[-2:]
        field = flow.resize(self._field.to(images), (height, width))
        return field.expand(len(images), -1, -1, -1)

    def anonymize(self, images: Tensor) -> Tensor:
        return flow.warp(images, self.displacement(images))


class PixelShuffle(Anonymizer):
    """The pixels of every image in one secret order, which the key (a seed) gives away."""

    name = "pixel-shuffle"

    def __init__(self, *, key: int) -> None:
        self.options = {"key": key}

    def anonymize(self, images: Tensor) -> Tensor:
        return images.flatten(2)[..., self._order(images)].view_as(images)

    def undo(self, images: Tensor) -> Tensor:
        """The images (B, 1, H, W) of any type as they were, exactly."""
        back = torch.argsort(self._order(images))
        return images.flatten(2)[..., back].reshape(images.shape)

    def _order(self, images: Tensor) -> Tensor:
        rng = np.random.default_rng(self.options["key"])
        return torch.from_numpy(rng.permutation(images.shape[-2] * images.shape[-1]))


class Noise(Anonymizer):
    """Images of noise that have nothing of the ones given but their size."""

    name = "independent-noise"

    def __init__(self, *, seed: int) -> None:
        self.options = {"seed": seed}
        self._random = torch.Generator().manual_seed(seed)

    def anonymize(self, images: Tensor) -> Tensor:
        return torch.rand(images.shape, generator=self._random).to(images)
