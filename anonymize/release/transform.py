"""One radiograph through an anonymizer, pure: pixels in, pixels and figures out.

The displacement is predicted on the gray view and applied at the file's own size and depth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from anonymize import flow
from anonymize.anonymizer import Anonymizer
from anonymize.errors import ModelError
from anonymize.release import background
from anonymize.release.radiograph import Radiograph
from anonymize.release.reasons import Reason, Refused


@dataclass(frozen=True)
class Figures:
    """How far an image was moved; None where the method does not deform or nothing is known.

    Lengths in pixels of the file, and in mm where its pixel spacing is known; ``min_jacobian`` is
    the smallest Jacobian determinant, ≤ 0 where the image folds.
    """

    displacement_max_px: float | None = None
    displacement_mean_px: float | None = None
    displacement_max_mm: float | None = None
    displacement_mean_mm: float | None = None
    min_jacobian: float | None = None


def view(radiograph: Radiograph) -> Tensor:
    """What the network sees, float32 (1, 1, H, W) in [0, 1]."""
    return torch.from_numpy(np.ascontiguousarray(radiograph.gray()))[None, None]


@torch.no_grad()
def predict(
    model: Anonymizer, views: Tensor, *, device: torch.device | str = "cpu"
) -> list[Tensor | None]:
    """One displacement (1, 2, H, W) on the CPU for each of ``views`` (B, 1, H, W), or None.

    Raises:
        Refused: NaN, infinity or another shape.
    """
    with torch.backends.cudnn.flags(benchmark=False, deterministic=True, allow_tf32=False):
        found = model.displacement(views.to(device))
    if found is None:
        return [None] * len(views)
    if found.shape != (len(views), 2, *views.shape[-2:]) or not torch.isfinite(found).all():
        raise Refused(Reason.INVALID_RESULT)
    return list(found.float().cpu().split(1))


@torch.no_grad()
def anonymize(
    radiograph: Radiograph,
    displacement: Tensor | None,
    model: Anonymizer,
    *,
    device: torch.device | str = "cpu",
) -> tuple[Radiograph, Figures]:
    """The anonymized radiograph of the same kind, and how far it was moved.

    Every channel is treated alike; a gray image stored as colour stays exactly gray.

    Raises:
        Refused: none of its pixels changed, or the method gave no valid image.
    """
    pixels, top = radiograph.pixels, radiograph.top
    gray_as_colour = radiograph.gray_as_colour
    planes = pixels[..., :1] if gray_as_colour else pixels
    # Deep values times float32 coordinates would be off by several gray levels.
    precision = torch.float64 if radiograph.bits > 8 else torch.float32
    images = torch.from_numpy(np.moveaxis(planes, 2, 0).astype(np.float64)).to(precision)
    if displacement is None:
        plane = (images / top).clamp(0, 1).float()
        try:
            made = [model(channel[None, None].to(device)).cpu() for channel in plane]
        except ModelError as error:
            raise Refused(Reason.INVALID_RESULT) from error
        released = torch.cat(made, 1)[0].double() * top
        figures = Figures()
    else:
        move = displacement.to(precision)
        if radiograph.background is None:
            released = flow.warp(images[None], move)[0]
        else:
            released = background.warp(images[None], move, radiograph.background)[0]
        figures = measure(displacement, radiograph.spacing)
    if not torch.isfinite(released).all():
        raise Refused(Reason.INVALID_RESULT)
    values = released.round().clamp(0, top).numpy().astype(pixels.dtype)
    result = np.moveaxis(values, 0, 2)
    if gray_as_colour:
        result = np.repeat(result, 3, 2)
    if np.array_equal(result, pixels):
        raise Refused(Reason.UNCHANGED)
    return radiograph.with_pixels(np.ascontiguousarray(result)), figures


def measure(displacement: Tensor, spacing: tuple[float, float] | None) -> Figures:
    """The figures of a displacement (1, 2, H, W); ``spacing`` is (row, column) in mm a pixel."""
    length = flow.magnitude(flow.pixels(displacement))
    mm = None if spacing is None else flow.magnitude(flow.millimetres(displacement, spacing))
    return Figures(
        displacement_max_px=length.max().item(),
        displacement_mean_px=length.double().mean().item(),
        displacement_max_mm=None if mm is None else mm.max().item(),
        displacement_mean_mm=None if mm is None else mm.double().mean().item(),
        min_jacobian=flow.jacobian_determinant(displacement).min().item(),
    )
