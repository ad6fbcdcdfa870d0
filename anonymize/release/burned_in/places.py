"""Places of a radiograph where letters can be: what is left for the OCR to look at."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import cv2
import numpy as np

from anonymize.release.burned_in import strokes
from anonymize.release.burned_in.views import PLAIN, View

SIDES = (176, 448, 1120)  # pixels of the longer side: letters of 8 in the last, of 350 in the first
MAX_SCALE = 6.0  # the largest magnification


@dataclass(frozen=True)
class Place:
    """``part``, rows and columns, of ``level`` (H, W) or (H, W, 3), uint8: a view of the picture,
    ``scale`` times as large."""

    level: np.ndarray
    part: tuple[slice, slice]
    scale: float
    faint: bool  # seen in local contrast

    @property
    def shown(self) -> np.ndarray:
        """The pixels of the part."""
        return self.level[self.part]

    @property
    def origin(self) -> np.ndarray:
        """x, y of its upper left pixel in ``level``."""
        return np.array([self.part[1].start, self.part[0].start], np.float32)

    def narrowed(self, rows: slice, columns: slice) -> Self:
        """Rows and columns of the part alone."""
        top, left = (side.start for side in self.part)
        part = (
            slice(top + rows.start, top + rows.stop),
            slice(left + columns.start, left + columns.stop),
        )
        return replace(self, part=part)


def places(
    pictures: Sequence[View], size: tuple[int, int], sides: Sequence[int] = SIDES
) -> Iterator[Place]:
    """Where ``pictures``, views of a radiograph of ``size`` (H, W), have strokes that no earlier
    one shows as well, in each of ``sides``, pixels of the longer side."""
    longer = max(size)
    for scale in sorted({min(side / longer, MAX_SCALE) for side in sides}):
        shape = max(round(size[1] * scale), 1), max(round(size[0] * scale), 1)
        seen = np.zeros(shape[::-1], np.uint8)
        known: list[np.ndarray] = []
        for picture in pictures:
            how = cv2.INTER_AREA if shape[0] < picture.pixels.shape[1] else cv2.INTER_CUBIC
            level = cv2.resize(picture.pixels, shape, interpolation=how)
            contrast = strokes.strokes(level)
            on = contrast > picture.least
            new = on & (contrast > strokes.MORE * seen)
            if picture.least == PLAIN:
                new |= on & strokes.unlike(on, known)
                known.append(on)
            where = strokes.dense(new) & strokes.turning(level)
            seen = np.where(where, np.maximum(seen, contrast), seen)
            for part in strokes.parts(where):
                yield Place(level, part, scale, picture.least > PLAIN)
