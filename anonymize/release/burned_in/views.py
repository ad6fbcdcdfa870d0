"""All that a radiograph can show, in 8 bits: text may be legible in any of it.

A viewer may choose a window that the file names, another one, or none, and need not blacken the
padding. So the stored values are looked at too: over their full range, over the range of all but
the rarest, through every table that the file names, and by their local contrast, in which a step of
one gray level shows wherever nothing else does. Noise is evened out besides, where there is some.
"""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from anonymize.release.radiograph import Radiograph

LONGEST = 1440  # pixels of the longer side: letters of a 200th of it are legible
FINEST = 2800  # of larger pictures, whose smallest letters are legible there alone
CONTRAST_PERCENTILES = (0.1, 99.9)
ENOUGH = 500  # pixels of the shorter side, whose values stand for all
SAME = 8  # gray levels: two views that differ by no more show the same
# Of the local contrast, in pixels: what is wider is no stroke; where the usual one is measured.
WIDE, AROUND = 21, (45, 129)
USUAL, GAIN = 2.0, 40.0  # gray levels of what has so many times the usual contrast
PLAIN, FAINT = 12, 42  # the least contrast of strokes, in gray levels
# Pixels over which noise is evened out; the gray levels, as stored, of noise that a letter of a
# single one could not be seen in.
SOFT, NOISY = 1.0, 1.0
CURVED = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32)
NORMAL = 6 * 0.6745  # the median of its absolute values in normal noise of 1
SHADES, OUTER = 31, 1.0  # pixels: what is wider is a shade; per cent of the pixels beyond the range


@dataclass(frozen=True)
class View:
    """``pixels`` uint8 (H, W) or (H, W, 3), in which strokes of less than ``least`` are noise."""

    pixels: np.ndarray
    least: int = PLAIN


def views(radiograph: Radiograph, longest: int = LONGEST) -> list[View]:
    """Views that differ, at most ``longest`` long, the viewer's first."""
    found = []
    if radiograph.brightness is not None:
        found += [_spread(radiograph.gray(), 0, 1)]
        found += [table[radiograph.pixels[..., 0]] for table in radiograph.tables]
    plain: list[np.ndarray] = []
    for view in (_reduced(one, longest) for one in [*found, *ranges(radiograph)]):
        if not any(_same(view, other) for other in plain):
            plain.append(view)
    thin = []
    for values in _layers(radiograph):
        thin.append(_small(values, longest))
        # Once noise is evened out, large letters stand out; small ones do not.
        if longest <= LONGEST and noise(thin[-1]) > NOISY:
            thin.append(cv2.GaussianBlur(thin[-1].astype(np.float32), (0, 0), SOFT))
    return [*map(View, plain), *(View(local_contrast(one, longest), FAINT) for one in thin)]


def fine(radiograph: Radiograph) -> list[View]:
    """Views of a picture that is larger than those of :func:`views`, for its smallest letters."""
    large = max(radiograph.pixels.shape[:2]) > LONGEST
    return views(radiograph, FINEST) if large else []


def colours(radiograph: Radiograph) -> np.ndarray:
    """Stored values (H, W), or (H, W, 3) where there are colours; inks as colours."""
    pixels = radiograph.pixels
    if radiograph.layout == "cmyk":
        inks = radiograph.top - pixels.astype(np.float32)
        return inks[..., :3] * inks[..., 3:] / radiograph.top
    return pixels[..., 0] if pixels.shape[2] == 1 or radiograph.gray_as_colour else pixels


def _layers(radiograph: Radiograph) -> list[np.ndarray]:
    """:func:`colours`; and inks by themselves, since what black covers is no colour, and stored."""
    inks = radiograph.pixels
    apart = [inks[..., :3], inks[..., 3]] if radiograph.layout == "cmyk" else []
    return [colours(radiograph), *apart]


def ranges(
    radiograph: Radiograph, most: tuple[float, float] = CONTRAST_PERCENTILES
) -> list[np.ndarray]:
    """The full range of stored values; and that of ``most``, percentiles, where the others take
    half of it.

    Letters are often the brightest of all and must not be clipped to the white of bones.
    """
    found = []
    for values in _layers(radiograph):
        low, high = float(values.min()), float(values.max())
        found.append(_spread(values, low, high))
        step = max(min(values.shape[:2]) // ENOUGH, 1)
        dark, bright = np.percentile(values[::step, ::step], most)
        if dark < bright < dark + (high - low) / 2:
            found.append(_spread(values, dark, bright))
    return found


def _spread(values: np.ndarray, low: float, high: float) -> np.ndarray:
    part = np.clip((values.astype(np.float32) - low) / max(high - low, 1e-6), 0, 1)
    return np.round(part * 255).astype(np.uint8)


def local_contrast(values: np.ndarray, longest: int = LONGEST) -> np.ndarray:
    """Thin structures of ``values`` (H, W) or (H, W, 3), on gray.

    What is wider than strokes is taken away, so that no edge outshines letters beside it; the rest
    is shown in units of what is usual around it, near or wide, at least half a gray level.
    """
    small = _small(values, longest)
    kernel = np.ones((WIDE, WIDE), np.uint8)
    thin = 2 * small.astype(np.float32, copy=False)
    for how in (cv2.MORPH_OPEN, cv2.MORPH_CLOSE):
        thin -= cv2.morphologyEx(small, how, kernel)
    size = np.abs(thin)
    usual = cv2.min(*(cv2.blur(size, (side, side)) for side in AROUND))
    size /= np.maximum(USUAL * usual, 0.5)
    # The inverse hyperbolic sine by a logarithm that goes by vectors: a fifth of numpy's time.
    shown = GAIN * cv2.log(size + cv2.sqrt(size * size + 1))
    shown = 128 + np.copysign(shown, thin, out=shown)
    return np.round(shown, out=shown).clip(0, 255).astype(np.uint8)


def stretched(part: np.ndarray) -> np.ndarray:
    """``part``, uint8 (H, W) or (H, W, 3), with less noise, without wide shades, from black to
    white: what the detector misses in little contrast it sees there."""
    values: Any = cv2.GaussianBlur(part.astype(np.float32), (0, 0), SOFT)
    values = values - cv2.blur(values, (SHADES, SHADES))
    low, high = np.percentile(values, (OUTER, 100 - OUTER))
    return _spread(values, low, high)


def noise(values: np.ndarray) -> float:
    """Standard deviation of the noise of ``values`` (H, W) or (H, W, 3), in their units (Immerkær
    1996; by the median, which edges do not move)."""
    found = np.abs(cv2.filter2D(values.astype(np.float32), -1, CURVED))[::4, ::4]
    found = found[found > 0]  # what is all one gray level is no film
    return float(np.median(found)) / NORMAL if found.size else 0.0


def _small(values: np.ndarray, longest: int) -> np.ndarray:
    """``values`` at most ``longest`` long; as they are stored, in integers, where they are: opened
    and closed, these are the same in less time."""
    if max(values.shape[:2]) <= longest and values.dtype in (np.uint8, np.uint16):
        return values
    return _reduced(values.astype(np.float32, copy=False), longest)


def _reduced(view: np.ndarray, longest: int) -> np.ndarray:
    height, width = view.shape[:2]
    scale = longest / max(height, width)
    if scale >= 1:
        return view
    size = max(round(width * scale), 1), max(round(height * scale), 1)
    return cv2.resize(view, size, interpolation=cv2.INTER_AREA)


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and cv2.norm(one, other, cv2.NORM_INF) <= SAME
