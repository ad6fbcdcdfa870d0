"""Whether a picture shows print that is no line of text: bar codes, QR and other matrix codes,
letters on a grid.

All of it goes from dark to bright and back within a few pixels, sharply and over a large area, as
nothing in a body does: by the range of the picture, or, since readers need little contrast, by that
of what lies around. Where it is left once text is removed, nobody knows what it says.
"""

from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np

from anonymize.release.burned_in.views import LONGEST, PLAIN, View, ranges
from anonymize.release.radiograph import Radiograph

SIDE = 24  # pixels along a window
SMALLEST = 192  # pixels of the shorter side of the smallest size that is looked at
SHARP = 0.2  # of the range: of a step over two pixels
# Of what lies around: noise takes no such steps, and print does in no more than two gray levels.
SHARP_THERE, SEEN = 0.45, 5  # … and more gray levels than these
# Per cent, of more than 8 bits: labels or padding must not take all gray levels that are seen.
MOST, WHITE = (5, 95), 255.0
THICK = 20  # pixels across what counts: frames and rulers are long, and thin
SHARE = 0.1  # of a window: steps up, and as many down
COVERED = 1.8  # windows; of 734 real radiographs without their text two cover more, by frames


def shown(radiograph: Radiograph, pictures: list[View]) -> bool:
    """Whether ``radiograph`` shows such print: as it is stored, where that is larger than its views
    ``pictures``, and in these as far as they show anything else."""
    seen = [view.pixels for view in pictures if view.least == PLAIN]  # not local contrast
    if max(radiograph.pixels.shape[:2]) > LONGEST:
        seen = ranges(radiograph) + (seen if radiograph.brightness is not None else [])
    by_range = any(_printed(p, SHARP * max(float(np.ptp(p)), 1.0)) for p in _planes(seen))
    deep = ranges(radiograph, MOST)[1:] if radiograph.bits > 8 else []
    return by_range or any(_printed(p, WHITE) for p in _planes(deep))


def _planes(pictures: list[np.ndarray]) -> Iterator[np.ndarray]:
    for picture in pictures:
        yield from [picture] if picture.ndim == 2 else np.moveaxis(picture, -1, 0)


def _printed(plane: np.ndarray, least: float) -> bool:
    """Of gray levels uint8 (H, W), in every size; steps of more than ``least`` are sharp, whatever
    lies around."""
    level: Any = np.ascontiguousarray(plane)
    core = np.ones((THICK, THICK), np.uint8)
    while True:
        even: Any = cv2.blur(level, (2, 2))  # two shades that are dithered are one
        dense = np.maximum(_steps(level, least), _steps(even, _sharp_there(even)))
        thick = cv2.morphologyEx((dense > 255 * SHARE).astype(np.uint8), cv2.MORPH_OPEN, core)
        areas = cv2.connectedComponentsWithStats(thick)[2][1:, 4]
        if areas.max(initial=0) > COVERED * SIDE**2:
            return True
        if min(level.shape) < 2 * SMALLEST:
            return False
        level = cv2.resize(level, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)


def _steps(level: np.ndarray, least: float | np.ndarray) -> np.ndarray:
    """The share (1 is 255) of the window around each pixel that is steps up of more than ``least``,
    or steps down, along the axis of more: whichever is less."""
    dense: Any = np.zeros(level.shape, np.uint8)
    wide = cv2.copyMakeBorder(level, 1, 1, 1, 1, cv2.BORDER_REFLECT_101)
    beside = (wide[1:-1, 2:], wide[1:-1, :-2]), (wide[2:, 1:-1], wide[:-2, 1:-1])
    for ahead, behind in beside:
        up, down = (
            cv2.blur(np.uint8(255) * (cv2.subtract(*sides) > least), (SIDE, SIDE))
            for sides in ((ahead, behind), (behind, ahead))
        )
        dense = np.maximum(dense, np.minimum(up, down))
    return dense


def _sharp_there(level: np.ndarray) -> np.ndarray:
    """The least step that is sharp beside what lies around each pixel, uint8 as ``level``."""
    around = np.ones((SIDE, SIDE), np.uint8)
    span: Any = cv2.subtract(cv2.dilate(level, around), cv2.erode(level, around))
    return np.maximum(cv2.convertScaleAbs(span, alpha=SHARP_THERE), SEEN)
