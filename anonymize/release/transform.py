"""One radiograph through an anonymizer, pure: pixels in, pixels and figures out.

The displacement is predicted on the gray view and applied at the file's own size and depth.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from anonymize import flow
from anonymize.anonymizer import Anonymizer, finite
from anonymize.errors import ModelError
from anonymize.release.figures import Figures
from anonymize.release.radiograph import Radiograph
from anonymize.release.reasons import Reason, Refused
from anonymize.tone import LARGEST, toned

ALL = slice(None)
STRIP = 1 << 17  # pixels that are moved at once: their coordinates stay in a core's cache
# Bytes a pixel: of one channel, of each further one, of the search for the nearest padding.
GRAY, CHANNEL, PADDED = 48, 13, 25


def view(radiograph: Radiograph) -> Tensor:
    """What the network sees, float32 (1, 1, H, W) in [0, 1]."""
    return torch.from_numpy(np.ascontiguousarray(radiograph.gray()))[None, None]


@torch.no_grad()
def predict(
    model: Anonymizer, views: Tensor, *, device: torch.device | str = "cpu"
) -> list[Tensor | None]:
    """One displacement (1, 2, H, W) on the CPU for each of ``views`` (B, 1, H, W), or None. Raises
    Refused: NaN, infinity or another shape."""
    with torch.backends.cudnn.flags(benchmark=False, deterministic=True, allow_tf32=False):
        found = model.displacement(views.to(device))
    if found is None:
        return [None] * len(views)
    if found.shape != (len(views), 2, *views.shape[-2:]) or not finite(found):
        raise Refused(Reason.INVALID_RESULT)
    return list(found.float().cpu().split(1))


@torch.no_grad()
def anonymize(
    radiograph: Radiograph,
    displacement: Tensor | None,
    model: Anonymizer,
    *,
    tone: Tensor | None = None,
    device: torch.device | str = "cpu",
) -> tuple[Radiograph, Figures]:
    """The anonymized radiograph of the same kind, and how far it was moved.

    Every channel is treated alike; a gray image stored as colour stays exactly gray. ``tone`` is
    that of :func:`tone_of`.

    Raises Refused: none of its pixels changed, or the method gave no valid image."""
    pixels, top = radiograph.pixels, radiograph.top
    gray_as_colour = radiograph.gray_as_colour
    planes = pixels[..., :1] if gray_as_colour else pixels
    # Deep values times float32 coordinates would be off by several gray levels.
    precision = torch.float64 if radiograph.bits > 8 else torch.float32
    result = np.empty_like(planes)
    figures = Figures() if displacement is None else measure(displacement, radiograph.spacing)
    for channel in range(planes.shape[2]):
        plane = torch.from_numpy(planes[..., channel].astype(np.float64)).to(precision)
        if displacement is None:
            parts = iter([(ALL, _made(model, plane / top, device) * top)])
        else:
            parts = _warped(plane, displacement, radiograph.background)
        for rows, values in parts:
            if tone is not None:
                values = toned(values / top, tone[rows].to(values.dtype)) * top
            if not finite(values):
                raise Refused(Reason.INVALID_RESULT)
            result[rows, :, channel] = values.round().clamp(0, top).numpy()
    if gray_as_colour:
        result = np.repeat(result, 3, 2)
    if np.array_equal(result, pixels):
        raise Refused(Reason.UNCHANGED)
    return radiograph.with_pixels(np.ascontiguousarray(result)), figures


@torch.no_grad()
def tone_of(
    model: Anonymizer, radiograph: Radiograph, *, device: torch.device | str = "cpu"
) -> Tensor | None:
    """What a method that deforms does to gray levels (H, W), on the CPU; None: nothing.

    Raises Refused: it is not known what that means for values that are shown through a window
    (DICOM), or for inks (CMYK); NaN, infinity or another shape."""
    with torch.backends.cudnn.flags(benchmark=False, deterministic=True, allow_tf32=False):
        found = model.tone(view(radiograph).to(device))
    if found is None:
        return None
    if radiograph.format == "DICOM" or radiograph.layout == "cmyk":
        raise Refused(Reason.TONE)
    size = radiograph.pixels.shape[:2]
    if found.shape != (1, 1, *size) or not found.abs().max() <= LARGEST + 1e-6:
        raise Refused(Reason.INVALID_RESULT)
    return found[0, 0].cpu()


def memory(radiograph: Radiograph) -> int:
    """Bytes that :func:`anonymize` needs for a radiograph, at most."""
    height, width, channels = radiograph.pixels.shape
    beside = 0 if radiograph.background is None else PADDED
    return height * width * (GRAY + CHANNEL * (channels - 1) + beside)


def _made(model: Anonymizer, plane: Tensor, device: torch.device | str) -> Tensor:
    """What a method without displacement makes of a plane (H, W) in [0, 1], in double precision."""
    image = plane.clamp(0, 1).float()[None, None]
    try:
        return model(image.to(device)).cpu()[0, 0].double()
    except ModelError as error:
        raise Refused(Reason.INVALID_RESULT) from error


def _warped(
    plane: Tensor, displacement: Tensor, padding: np.ndarray | None
) -> Iterator[tuple[slice, Tensor]]:
    """Rows of a plane (H, W) that was moved, strip by strip: coordinates take most memory.

    Interpolated with its neighbours, padding (DICOM's Pixel Padding Value) would become values that
    are neither padding nor picture. So picture is interpolated with picture only, and the nearest
    padding is copied.
    """
    image = filled = plane[None, None]
    mask = None if padding is None else torch.from_numpy(padding).to(image)[None, None]
    if padding is not None and not padding.all():
        from scipy.ndimage import distance_transform_edt

        at = distance_transform_edt(padding, return_distances=False, return_indices=True)
        filled = image[..., torch.from_numpy(at[0]), torch.from_numpy(at[1])]
    for rows in strips(*plane.shape):
        move = displacement[..., rows, :].to(plane.dtype)
        warped = flow.warp(filled, move, rows=rows)
        if mask is not None:
            moved = flow.warp(mask, move, mode="nearest", rows=rows) > 0.5
            copied = flow.warp(image, move, mode="nearest", rows=rows)
            warped = torch.where(moved, copied, warped)
        yield rows, warped[0, 0]


def strips(height: int, width: int) -> list[slice]:
    """The rows of an image in parts of about ``STRIP`` pixels."""
    step = max(1, STRIP // width)
    return [slice(top, min(top + step, height)) for top in range(0, height, step)]


def measure(displacement: Tensor, spacing: tuple[float, float] | None) -> Figures:
    """The figures of a displacement (1, 2, H, W); ``spacing`` is (row, column) in mm a pixel."""
    size = (displacement.shape[-2], displacement.shape[-1])
    largest, total, smallest = [0.0, 0.0], [0.0, 0.0], math.inf  # in pixels, in mm
    for rows in strips(*size):
        part = displacement[..., rows, :]
        vectors = [flow.pixels(part, size)]
        if spacing is not None:
            vectors.append(flow.millimetres(part, spacing, size))
        for unit, length in enumerate(map(flow.magnitude, vectors)):
            largest[unit] = max(largest[unit], length.max().item())
            total[unit] += length.double().sum().item()
        part = displacement[..., rows.start : rows.stop + 1, :]  # and the row that follows
        if part.shape[-2] > 1:
            smallest = min(smallest, flow.jacobian_determinant(part, size).min().item())
    mean = [lengths / math.prod(size) for lengths in total]
    if spacing is None:
        return Figures(largest[0], mean[0], min_jacobian=smallest)
    return Figures(largest[0], mean[0], largest[1], mean[1], smallest)
