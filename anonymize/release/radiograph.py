"""A radiograph that was decoded: its pixels, and what is needed to write another of its kind.

Pixels are unsigned integers (H, W, C) at the file's own depth, upright, bright where the viewer
shows bright. Transparency is resolved over black: what no viewer shows is not released.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anonymize.release.reasons import Reason, Refused

if TYPE_CHECKING:
    from anonymize.release.dicom.write import Outline

MAX_PIXELS = 64_000_000
MAX_BYTES = 1 << 30
MIN_SIDE = 16
LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601


@dataclass(frozen=True)
class Radiograph:
    """An image and what is needed to write another one of the same kind.

    ``pixels`` (H, W, C) uint8 or uint16 in [0, 2**bits − 1], C = 1 (gray, or a palette of grays),
    3 (red, green, blue, or a palette of colours; then in [0, 255]) or 4 (inks: cyan, magenta,
    yellow, black). Signed values of DICOM are raised to be unsigned.
    """

    format: str  # "PNG", "JPEG", "TIFF" or "DICOM"
    layout: str  # "gray", "palette", "rgb" or "cmyk"
    bits: int
    pixels: np.ndarray
    alpha: bool = False  # an opaque alpha channel belongs to the file
    white_is_zero: bool = False  # TIFF PhotometricInterpretation 0, MONOCHROME1: stored inverted
    order: str = "<"  # TIFF byte order
    compressed: bool = True  # TIFF
    quality: int = 0  # JPEG, 1 to 100
    subsampling: int = 0  # JPEG, as Pillow counts: 0 4:4:4, 1 4:2:2, 2 4:2:0
    turned: bool = False  # the file's orientation was applied to the pixels
    spacing: tuple[float, float] | None = None  # mm a pixel, (row, column), where it is known
    brightness: np.ndarray | None = None  # DICOM: what is shown, [0, 1] (2**bits,), of each value
    tables: tuple[np.ndarray, ...] = ()  # DICOM: other ways to show it, uint8 (2**bits,) each
    background: np.ndarray | None = None  # DICOM: pixels (H, W) that are padding, no picture
    source: Outline | None = None  # DICOM: all of the file to be written but its pixels

    def __post_init__(self) -> None:
        values = self.pixels
        if not isinstance(values, np.ndarray) or values.ndim != 3 or values.dtype.kind != "u":
            raise TypeError("pixels must be unsigned integers (H, W, C)")

    @property
    def kind(self) -> tuple:
        """What the output must share with the input, besides its size."""
        return (self.format, self.layout, self.bits, self.alpha, self.white_is_zero)

    @property
    def top(self) -> int:
        """The largest value a pixel can have."""
        return 255 if self.layout == "palette" else (1 << self.bits) - 1

    @property
    def gray_as_colour(self) -> bool:
        """True for an RGB file whose three channels are the same."""
        p = self.pixels
        return self.layout == "rgb" and bool((p[..., :1] == p[..., 1:]).all())

    @property
    def blank(self) -> bool:
        """True where every pixel is the same."""
        return bool((self.pixels == self.pixels[:1, :1]).all())

    def gray(self) -> np.ndarray:
        """The view that a person has, float32 (H, W) in [0, 1]."""
        if self.brightness is not None:
            return self.brightness[self.pixels[..., 0]]
        pixels = self.pixels[..., :1] if self.gray_as_colour else self.pixels
        scaled = pixels.astype(np.float32) / np.float32(self.top)
        if pixels.shape[2] == 1:
            return scaled[..., 0]
        if self.layout == "cmyk":
            scaled = (1 - scaled[..., :3]) * (1 - scaled[..., 3:])
        return np.clip(scaled @ LUMA, 0, 1)

    def with_pixels(self, pixels: np.ndarray) -> Radiograph:
        return replace(self, pixels=pixels)


def check_size(width: int, height: int) -> None:
    """Raises Refused for too many pixels, or too few on a side."""
    if width * height > MAX_PIXELS:
        raise Refused(Reason.TOO_LARGE)
    if min(width, height) < MIN_SIDE:
        raise Refused(Reason.TOO_SMALL)
