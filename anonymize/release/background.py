"""Warping beside pixels that are no picture (DICOM's Pixel Padding Value): the two never mix."""

from __future__ import annotations

import numpy as np
import torch
from scipy.ndimage import distance_transform_edt
from torch import Tensor

from anonymize import flow


def warp(image: Tensor, displacement: Tensor, background: np.ndarray) -> Tensor:
    """``flow.warp`` of ``image`` (1, 1, H, W) where ``background`` (H, W) moves as it is.

    Interpolated with its neighbours, padding would become values that are neither padding nor
    picture. So picture is interpolated with picture only, and the nearest padding is copied.
    """
    if background.all():
        return flow.warp(image, displacement, mode="nearest")
    nearest = distance_transform_edt(background, return_distances=False, return_indices=True)
    filled = image[..., torch.from_numpy(nearest[0]), torch.from_numpy(nearest[1])]
    mask = torch.from_numpy(background).to(image)[None, None]
    moved = flow.warp(mask, displacement, mode="nearest") > 0.5
    copied = flow.warp(image, displacement, mode="nearest")
    return torch.where(moved, copied, flow.warp(filled, displacement))
