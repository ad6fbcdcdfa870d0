"""Gaussian blur of an image, the same for every size of it."""

import math

import torch
from torch import Tensor

from anonymize.anonymizer import Anonymizer
from baselines.options import GaussianBlurOptions

REACH = 4  # standard deviations after which the kernel ends


class GaussianBlur(Anonymizer):
    """Convolution with a Gaussian of σ = ``sigma`` · shorter side, borders replicated.

    σ is a part of the image and no number of pixels, so that what is measured on small images
    also holds for the large files of a release: σ 2 px of 96 (``sigma=2/96``) is 43 px of 2048.
    """

    name = "gaussian-blur"
    is_concurrent = True
    Options = GaussianBlurOptions

    @property
    def changes_nothing(self) -> bool:
        return self.settings.sigma == 0

    def anonymize(self, images: Tensor) -> Tensor:
        if self.changes_nothing:
            return images
        h, w = images.shape[-2:]
        sigma = self.settings.sigma * min(h, w)
        # A product of matrices costs the same for any σ; a convolution grows with it.
        return blur_matrix(h, sigma).to(images) @ images @ blur_matrix(w, sigma).T.to(images)


def blur_matrix(length: int, sigma: float) -> Tensor:
    """float64 (length, length): row i holds the weights of the pixels that make up pixel i.

    ``sigma`` in pixels. The border pixel continues outside.
    """
    reach = math.ceil(REACH * sigma)
    offsets = torch.arange(-reach, reach + 1)
    weights = torch.exp(-((offsets.double() / sigma) ** 2) / 2)
    source = (torch.arange(length)[:, None] + offsets).clamp(0, length - 1)
    matrix = torch.zeros(length, length, dtype=torch.float64)
    return matrix.scatter_add_(1, source, (weights / weights.sum()).expand(length, -1))
