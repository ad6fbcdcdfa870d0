"""How much of a picture was really moved, measured on the pixels of the written file.

A displacement says what was meant. What became of it is looked at in places that nobody could
foresee, tile by tile: padding that is no picture, rounding, a coarse compression or a method that
leaves out the lungs may each give the picture back as it was.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from anonymize.release.radiograph import Radiograph
from anonymize.release.reasons import Reason, Refused
from anonymize.tone import toned

TILES = 16  # in height and width; of 8 pixels or more
PLACES = 256  # in a tile
SHOWN = 64  # a tile shows something where its values differ by this part of the picture's range
USUAL = 8  # or of what they differ by in a usual tile: a bright frame must not hide a picture
LEAST_TILES = 0.6  # of those that show something: the share that must have moved
LEAST_REALISED = 0.5  # of the change that a displacement means
LEAST_LENGTH = 0.1  # of the mean displacement, in a tile that moves
LEAST_CHANGED = 0.1  # of a tile's pixels, where a method does not deform


@dataclass(frozen=True)
class Probe:
    """Places (tiles, places) of a picture, and the displacement there in pixels of it.

    ``right`` and ``down`` are None where the method does not deform, ``tone`` where it leaves gray
    levels alone.
    """

    rows: np.ndarray
    columns: np.ndarray
    right: np.ndarray | None = None
    down: np.ndarray | None = None
    tone: np.ndarray | None = None


def probe(pixels: np.ndarray, moved: np.ndarray | None, tone: np.ndarray | None = None) -> Probe:
    """Places in ``pixels`` (H, W, C), an output; ``moved`` (2, H, W): its displacement in pixels;
    ``tone`` (H, W): what was done to its gray levels.

    The output decides on them, so that no input can be made for them.
    """
    rng = np.random.default_rng(zlib.crc32(np.ascontiguousarray(pixels).data))
    height, width = pixels.shape[:2]
    down, across = min(TILES, height // 8), min(TILES, width // 8)
    shape = (down, across, PLACES)
    rows = (np.arange(down)[:, None, None] + rng.random(shape)) * (height / down)
    columns = (np.arange(across)[:, None] + rng.random(shape)) * (width / across)
    rows, columns = (p.astype(np.int64).reshape(-1, PLACES) for p in (rows, columns))
    if moved is None:
        return Probe(rows, columns)
    x, y = moved
    here = None if tone is None else tone[rows, columns]
    return Probe(rows, columns, x[rows, columns], y[rows, columns], here)


def check(original: Radiograph, pixels: np.ndarray, probe: Probe) -> None:
    """Raises Refused where too little of ``original`` is another picture in ``pixels``, which were
    read from the written file.
    """
    before, after = np.broadcast_arrays(original.pixels, pixels)
    here = _shaded(before[probe.rows, probe.columns].astype(np.float64), original, probe)
    change = after[probe.rows, probe.columns] - here
    picture = np.ones(probe.rows.shape, bool)
    if probe.right is None or probe.down is None:
        realised, moved = 1.0, (change != 0).any(-1).mean(1) >= LEAST_CHANGED
    else:
        meant = _shaded(_meant(original, before, probe), original, probe) - here
        picture = np.isfinite(meant).all(-1)
        meant[~picture] = 0
        energy, done = (meant**2).sum((1, 2)), (change * meant).sum((1, 2))
        # Less than half a gray level is lost in rounding, as it must be.
        step = original.top / ((1 << original.bits) - 1)
        lost = energy <= (step / 2) ** 2 * picture.sum(1) * before.shape[2]
        length = np.hypot(probe.right, probe.down).mean(1)
        moved = (length >= LEAST_LENGTH * length.mean()) & (
            lost | (done >= LEAST_REALISED * energy)
        )
        realised = float(done.sum() / max(energy.sum(), 1e-9))
    low, high = np.percentile(here, (1, 99))
    ranges = _range(here, picture)
    usual = np.median(ranges[ranges > 0]) if (ranges > 0).any() else 0.0
    shows = ranges > min((high - low) / SHOWN, usual / USUAL)
    share = float(moved[shows].mean()) if shows.any() else 0.0
    if share < LEAST_TILES or realised < LEAST_REALISED:
        raise Refused(
            Reason.UNCHANGED, f"{share:.0%} of the picture moved, {realised:.0%} of the change"
        )


def coarse(probe: Probe, size: tuple[int, int]) -> dict[str, Any] | None:
    """The mean displacement in each part of a picture of ``size`` (H, W), in tenths of a pixel, row
    by row, to be looked at; None where the method does not deform. A part is one tile or four."""
    if probe.right is None or probe.down is None:
        return None
    tiles = [min(TILES, side // 8) for side in size]
    step, beside = (2 if count == TILES else 1 for count in tiles)
    rows, columns = tiles[0] // step, tiles[1] // beside

    def means(values: np.ndarray) -> list[int]:
        parts = values.reshape(rows, step, columns, -1)
        return np.round(10 * parts.mean((1, 3))).astype(int).ravel().tolist()

    return {"columns": columns, "right": means(probe.right), "down": means(probe.down)}


def _shaded(values: np.ndarray, original: Radiograph, probe: Probe) -> np.ndarray:
    """``values`` (tiles, places, C) as they are after the tone, which is no movement."""
    if probe.tone is None:
        return values
    return toned(values / original.top, probe.tone[..., None]) * original.top


def _range(values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Greatest less smallest of each tile's values (tiles, places, C); −∞ where none is counted."""
    most = np.where(counted[..., None], values, -np.inf).max((1, 2))
    return most - np.where(counted[..., None], values, np.inf).min((1, 2))


def _meant(original: Radiograph, pixels: np.ndarray, probe: Probe) -> np.ndarray:
    """``pixels`` (H, W, C) at the displaced places, interpolated; NaN beside pixels that are no
    picture, which move in whole steps.
    """
    height, width = pixels.shape[:2]
    y = np.clip(probe.rows + probe.down, 0, height - 1)
    x = np.clip(probe.columns + probe.right, 0, width - 1)
    top, left = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    below, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    v, u = (y - top)[..., None], (x - left)[..., None]
    rows = [(pixels[r, left] * (1 - u) + pixels[r, right] * u) for r in (top, below)]
    found = rows[0] * (1 - v) + rows[1] * v
    if original.background is not None:
        corners = [(r, c) for r in (top, below) for c in (left, right)]
        beside = [original.background[at] for at in (*corners, (probe.rows, probe.columns))]
        found[np.any(beside, axis=0)] = np.nan
    return found
