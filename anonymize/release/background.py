"""Warping beside pixels that are no picture (DICOM's Pixel Padding Value): the two never mix."""

from __future__ import annotations

import numpy as np
import torch
from scipy.ndimage import distance_transform_edt
from torch import Tensor

from anonymize import flow


class Beside:
    """``flow.warp`` of ``image`` (1, 1, H, W) where ``background`` (H, W) moves as it is.

    Interpolated with its neighbours, padding would become values that are neither padding nor
    picture. So picture is interpolated with picture only, and the nearest padding is copied.
    """

    def __init__(self, image: Tensor, background: np.ndarray) -> None:
        self.image, self.filled = image, image
        self.mask = torch.from_numpy(background).to(image)[None, None]
        if not background.all():
            at = distance_transform_edt(background, return_distances=False, return_indices=True)
            self.filled = image[..., torch.from_numpy(at[0]), torch.from_numpy(at[1])]

    def warp(self, displacement: Tensor, rows: slice) -> Tensor:
        """``rows`` of the warped image."""
        moved = flow.warp(self.mask, displacement, mode="nearest", rows=rows) > 0.5
        copied = flow.warp(self.image, displacement, mode="nearest", rows=rows)
        return torch.where(moved, copied, flow.warp(self.filled, displacement, rows=rows))
