"""Whether a picture shows print that is no line of text: bar codes, QR and other matrix codes,
letters on a grid.

All of it goes from dark to bright and back within a few pixels, sharply and over a large area, as
nothing in a body does. Where it is left once text is removed, nobody knows what it says.
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
THICK = 20  # pixels across what counts: frames and rulers are long, and thin
SHARE = 0.1  # of a window: steps up, and as many down
COVERED = 1.8  # windows; of 734 real radiographs without their text two cover more, by frames


def shown(radiograph: Radiograph, pictures: list[View]) -> bool:
    """Whether ``radiograph`` shows such print: as it is stored, where that is larger than its views
    ``pictures``, and in these as far as they show anything else."""
    seen = [view.pixels for view in pictures if view.least == PLAIN]  # not local contrast
    if max(radiograph.pixels.shape[:2]) > LONGEST:
        seen = ranges(radiograph) + (seen if radiograph.brightness is not None else [])
    return any(_printed(plane) for picture in seen for plane in _planes(picture))


def _planes(picture: np.ndarray) -> Iterator[np.ndarray]:
    yield from [picture] if picture.ndim == 2 else np.moveaxis(picture, -1, 0)


def _printed(plane: np.ndarray) -> bool:
    """Of gray levels uint8 (H, W), in every size."""
    level: Any = np.ascontiguousarray(plane)
    least, core = SHARP * max(float(np.ptp(level)), 1.0), np.ones((THICK, THICK), np.uint8)
    while True:
        dense: Any = np.zeros(level.shape, np.uint8)
        wide = cv2.copyMakeBorder(level, 1, 1, 1, 1, cv2.BORDER_REFLECT_101)
        beside = (wide[1:-1, 2:], wide[1:-1, :-2]), (wide[2:, 1:-1], wide[:-2, 1:-1])
        for ahead, behind in beside:
            up, down = (
                cv2.blur(np.uint8(255) * (cv2.subtract(*sides) > least), (SIDE, SIDE))
                for sides in ((ahead, behind), (behind, ahead))
            )
            dense = np.maximum(dense, np.minimum(up, down))
        thick = cv2.morphologyEx((dense > 255 * SHARE).astype(np.uint8), cv2.MORPH_OPEN, core)
        areas = cv2.connectedComponentsWithStats(thick)[2][1:, 4]
        if areas.max(initial=0) > COVERED * SIDE**2:
            return True
        if min(level.shape) < 2 * SMALLEST:
            return False
        level = cv2.resize(level, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
