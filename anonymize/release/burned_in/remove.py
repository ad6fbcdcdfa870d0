"""What is put in the place of text: the surroundings, or black."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anonymize.release.burned_in.find import Line

ACROSS, ALONG, LEAST = 0.2, 0.8, 2.0  # around a line: parts of its height, and pixels
RADIUS = 5.0  # pixels around a filled one that say what it becomes


def region(lines: Sequence[Line], size: tuple[int, int]) -> np.ndarray:
    """bool (H, W): the lines, whole; strokes alone would still be readable.

    The margin is wider along a line, whose last letters may be too faint to be found.
    """
    import cv2

    mask = np.zeros(size, np.uint8)
    for line in lines:
        a, b, c, d = line.corners.astype(np.float64)
        right, down = (b + c - a - d) / 2, (c + d - a - b) / 2
        width, height = np.linalg.norm(right), np.linalg.norm(down)
        if not min(width, height):
            continue
        long = line.letters > 1
        beside = LEAST + min(width, height) * (ALONG if long and width > height else ACROSS)
        above = LEAST + min(width, height) * (ALONG if long and height > width else ACROSS)
        right, down = right / width * beside, down / height * above
        outer = [a - right - down, b + right - down, c + right + down, d - right + down]
        cv2.fillPoly(mask, [np.round(outer).astype(np.int32)], 1)
    return mask.astype(bool)


def fill(
    pixels: np.ndarray, where: np.ndarray, how: str, *, black: Sequence[int] | int = 0
) -> np.ndarray:
    """``pixels`` (H, W, C) uint8 or uint16 with the region ``where`` (H, W) filled.

    "inpaint" continues the surroundings (Telea 2004), each channel on its own; "black" puts the
    value ``black``, one or one for each channel.
    """
    import cv2

    if how == "black":
        filled = pixels.copy()
        filled[where] = black
        return filled
    mask = where.astype(np.uint8)
    planes = [
        cv2.inpaint(np.ascontiguousarray(plane), mask, RADIUS, cv2.INPAINT_TELEA)
        for plane in np.moveaxis(pixels, 2, 0)
    ]
    return np.where(where[..., None], np.stack(planes, 2), pixels)
