"""Gaussian blur of an image, the same for every size of it."""

from __future__ import annotations

import math
from typing import Annotated, Any

import torch
from pydantic import BeforeValidator, Field
from torch import Tensor

from anonymize.anonymizer import Anonymizer
from anonymize.section import Options

REACH = 4  # standard deviations after which the kernel ends


def _part(value: Any) -> float:
    """A number from 0 to 0.5, also written as a ratio: "2/96"."""
    above, slash, below = str(value).partition("/")
    try:
        part = float(above) / float(below) if slash else float(above)
    except (ValueError, ZeroDivisionError):
        part = math.nan
    if not 0 <= part <= 0.5:
        raise ValueError(
            "it must be a part of the shorter side from 0 to 0.5 (2 px of 96 is sigma=2/96)"
        )
    return part


class GaussianBlurOptions(Options):
    """How much is blurred."""

    sigma: Annotated[float, BeforeValidator(_part)] = Field(
        0.02, description="standard deviation as a part of the shorter side; 2/96 is 2 px of 96"
    )


class GaussianBlur(Anonymizer):
    """Convolution with a Gaussian of σ = ``sigma`` · shorter side, borders replicated.

    σ is a part of the image and no number of pixels, so that what is measured on small images
    also holds for the large files of a release: σ 2 px of 96 (``sigma=2/96``) is 43 px of 2048.
    """

    name = "gaussian-blur"
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
