"""A picture as the OCR looks at it: 8 bits, two sizes, in overlapping tiles.

The detector knows letters of about 8 to 200 pixels; the two sizes show it letters of a 300th to a
quarter of the picture's longer side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

SIDES = (736, 1440)  # pixels of the longer side; two tiles cover the second
TILE, OVERLAP = 768, 96  # pixels; a multiple of the network's stride of 32
MAX_SCALE = 6.0  # the largest magnification
CONTRAST_PERCENTILES = (0.1, 99.9)


@dataclass(frozen=True)
class Tile:
    """``pixels`` uint8 (h, w, 3); tile pixel (x, y) is picture pixel ``origin + (x, y) / scale``.

    ``height`` and ``width`` are without the padding to the network's stride.
    """

    pixels: np.ndarray
    origin: tuple[float, float]
    scale: float
    height: int
    width: int

    @property
    def part(self) -> tuple[slice, slice]:
        """Rows and columns of the picture that it shows."""
        left, top = self.origin
        down, right = top + self.height / self.scale, left + self.width / self.scale
        return slice(int(top), ceil(down)), slice(int(left), ceil(right))


def looks(picture: np.ndarray) -> list[np.ndarray]:
    """``picture`` (H, W) or (H, W, 3) of any unsigned or floating type in 8 bits, full contrast.

    Letters are often the brightest of all and must not be clipped to the white of bones. Where
    a few pixels take most of the range, a second look is at the range of the others.
    """
    values = picture.astype(np.float32)
    low, high = float(values.min()), float(values.max())
    found = [_spread(values, low, high)]
    dark, bright = np.percentile(values, CONTRAST_PERCENTILES)
    if dark < bright < dark + (high - low) / 2:
        found.append(_spread(values, dark, bright))
    return found


def _spread(values: np.ndarray, low: float, high: float) -> np.ndarray:
    part = np.clip((values - low) / max(high - low, 1e-6), 0, 1)
    return np.round(part * 255).astype(np.uint8)


def tiles(picture: np.ndarray) -> Iterator[Tile]:
    """What the detector looks at of an 8-bit picture (H, W) or (H, W, 3)."""
    import cv2

    height, width = picture.shape[:2]
    longer = max(height, width)
    for side in SIDES:
        scale = side / longer
        if scale > MAX_SCALE and side != SIDES[0]:
            continue
        scale = min(scale, MAX_SCALE)
        size = max(round(width * scale), 1), max(round(height * scale), 1)
        how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
        scaled = cv2.resize(picture, size, interpolation=how)
        if scaled.ndim == 2:
            scaled = np.repeat(scaled[..., None], 3, 2)
        for top in _starts(size[1]):
            for left in _starts(size[0]):
                part = scaled[top : top + TILE, left : left + TILE]
                h, w = part.shape[:2]
                padded = np.pad(part, ((0, -h % 32), (0, -w % 32), (0, 0)), mode="edge")
                yield Tile(padded, (left / scale, top / scale), scale, h, w)


def _starts(length: int) -> list[int]:
    """Where tiles begin that overlap and cover ``length`` pixels."""
    if length <= TILE:
        return [0]
    count = -(-(length - OVERLAP) // (TILE - OVERLAP))
    return [round(i * (length - TILE) / (count - 1)) for i in range(count)]
