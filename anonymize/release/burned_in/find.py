"""What in a picture is text, and which of it is a side marker.

The detector says where lines of text may be, and the reader what they say. Ribs, vertebrae and
electrodes look like letters too: a line counts where enough of it can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anonymize.release.burned_in import strokes
from anonymize.release.burned_in.reader import Reader, reader
from anonymize.release.burned_in.views import PLAIN, View

SIDE_MARKER = re.compile(r"\(?(L|R|LT|RT|LEFT|RIGHT|Left|Right)\)?")
SURE = 0.9  # a reading that needs no other direction to be tried
TALL, TALLEST = 0.08, 0.25  # of the picture's longer side
SIDES = (448, 1120)  # pixels of the longer side, in which letters have 8 to 200
MAX_SCALE = 6.0  # the largest magnification
READINGS = 3  # of one place at most, in different views


@dataclass(frozen=True)
class Spot:
    """What the detector saw: as ``Line``, with the picture ``crop`` of it, upright."""

    corners: np.ndarray
    found: float
    crop: np.ndarray
    height: float
    faint: bool


@dataclass(frozen=True)
class Line:
    """Something that may be a line of text.

    ``corners`` (4, 2) x, y in pixels of the picture; ``found`` and ``sure`` are what the detector
    and the reader think of it, in [0, 1]; ``height`` is the letters', in parts of the longer side.
    What is read identifies people: it is never written anywhere.
    """

    corners: np.ndarray
    found: float
    read: str
    sure: float
    height: float
    faint: bool = False  # seen in local contrast, which shows bones as strokes too

    @property
    def letters(self) -> int:
        """Letters and digits that were read; other scripts count as what they are: letters."""
        return sum(c.isalnum() for c in self.read)

    @property
    def is_text(self) -> bool:
        """True where it reads like text rather than like anatomy."""
        if self.height > TALLEST or not self.letters:
            return False
        if self.is_side_marker:
            return self.found >= 0.3
        if self.faint:
            return self.letters >= 2 and self.sure >= (0.7 if self.letters >= 4 else 0.93)
        if self.letters == 1 and len(self.read.strip()) < 3:
            sure = self.sure >= (0.93 if self.found >= 0.7 else 0.98)
            return self.read.strip().isascii() and sure and self.height <= 0.15
        if self.height > TALL:
            return self.sure >= 0.9 and self.found >= 0.5
        if self.sure >= 0.6:
            return self.letters > 2 or self.read.isascii() or self.sure >= 0.95
        return self.found >= 0.6 and self.sure >= 0.3 and self.letters >= 3 and self.height <= 0.05

    @property
    def is_side_marker(self) -> bool:
        """True for L and R alone, in brackets or spelled out; surely read."""
        return self.sure >= SURE and SIDE_MARKER.fullmatch(self.read.strip()) is not None

    @property
    def box(self) -> tuple[float, float, float, float]:
        """left, top, right, bottom."""
        return (*self.corners.min(0), *self.corners.max(0))


def find(
    pictures: Sequence[View], size: tuple[int, int], near: np.ndarray | None = None
) -> tuple[list[Line], list[Line]]:
    """(text, side markers) of a radiograph of ``size`` (H, W); a marker on text is text.

    Args:
        pictures: its views.
        near: bool (H, W), to which the search is limited.
    """
    found = [line for line in lines(pictures, size, near) if line.is_text]
    markers = [line for line in found if line.is_side_marker]
    text = [line for line in found if not line.is_side_marker]
    alone: list[Line] = []
    for marker in markers:
        (text if any(_overlap(marker, other) for other in text) else alone).append(marker)
    return text, alone


def lines(
    pictures: Sequence[View], size: tuple[int, int], near: np.ndarray | None = None
) -> Iterator[Line]:
    """All that may be text; lines at the same place were read once, and say the same."""
    ocr = reader()
    for group in _groups(list(_spots(ocr, pictures, size, near))):
        if group[0].height > TALLEST:
            continue
        best = Line(group[0].corners, 0.0, "", 0.0, group[0].height)
        for spot in group[:READINGS]:
            read = _read(ocr, spot.crop)
            line = Line(spot.corners, spot.found, *read, spot.height, spot.faint)
            best = max(best, line, key=lambda one: (one.is_text, one.sure))
            if best.is_text and best.sure >= SURE:
                break
        yield from (replace(best, corners=spot.corners) for spot in group)


def _spots(
    ocr: Reader, pictures: Sequence[View], size: tuple[int, int], near: np.ndarray | None
) -> Iterator[Spot]:
    """What the detector sees, where there are strokes that no earlier picture shows as well."""
    import cv2

    longer = max(size)
    for side in SIDES:
        scale = min(side / longer, MAX_SCALE)
        if side != SIDES[0] and scale == MAX_SCALE:
            continue
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
            if near is not None:
                where &= cv2.resize(near.astype(np.uint8), shape, interpolation=how) > 0
            for part in strokes.parts(where):
                origin = np.array([part[1].start, part[0].start], np.float32)
                tile = _tile(level[part])
                for corners, found in ocr.detect(tile):
                    crop = cut(tile, corners)
                    if min(crop.shape[:2]) >= 3:
                        there = (corners + origin) / scale
                        height = min(crop.shape[:2]) / scale / longer
                        yield Spot(there, found, crop, height, picture.least > PLAIN)


def _tile(part: np.ndarray) -> np.ndarray:
    """uint8 (h, w, 3), sides multiples of the detector's stride of 32."""
    height, width = part.shape[:2]
    planes = np.repeat(part[..., None], 3, 2) if part.ndim == 2 else part
    return np.pad(planes, ((0, -height % 32), (0, -width % 32), (0, 0)), mode="edge")


def _groups(spots: list[Spot]) -> list[list[Spot]]:
    """Spots at the same place together, the surest first."""
    groups: list[list[Spot]] = []
    for spot in sorted(spots, key=lambda one: -one.found):
        for group in groups:
            if _same_place(spot, group[0]):
                group.append(spot)
                break
        else:
            groups.append([spot])
    return groups


def _same_place(one: Spot, other: Spot) -> bool:
    """True where two boxes share half of what they cover together."""
    (low, high), (least, most) = ((s.corners.min(0), s.corners.max(0)) for s in (one, other))
    shared = np.prod(np.maximum(np.minimum(high, most) - np.maximum(low, least), 0))
    return bool(shared > 0.5 * (np.prod(high - low) + np.prod(most - least) - shared))


def _read(ocr: Reader, crop: np.ndarray) -> tuple[str, float]:
    """The surest reading, in the directions that its shape allows."""
    height, width = crop.shape[:2]
    turns = [0, 2] if width >= 1.5 * height else [1, 3] if height >= 1.5 * width else [0, 1, 2, 3]
    best = ("", 0.0)
    for turn in turns:
        read = ocr.read(np.rot90(crop, turn))
        if read[1] > best[1] and any(c.isalnum() for c in read[0]):
            best = read
        if best[1] >= SURE:
            break
    return best


def cut(pixels: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """The quadrilateral ``corners``, clockwise from the upper left, as an upright picture."""
    import cv2

    a, b, c, d = corners.astype(np.float32)
    width = int(max(np.linalg.norm(a - b), np.linalg.norm(c - d)))
    height = int(max(np.linalg.norm(a - d), np.linalg.norm(b - c)))
    if not width or not height:
        return pixels[:0, :0]
    straight = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    return cv2.warpPerspective(
        pixels,
        cv2.getPerspectiveTransform(corners.astype(np.float32), straight),
        (width, height),
        borderMode=cv2.BORDER_REPLICATE,
        flags=cv2.INTER_CUBIC,
    )


def _overlap(one: Line, other: Line) -> bool:
    left, top = np.maximum(one.box[:2], other.box[:2])
    right, bottom = np.minimum(one.box[2:], other.box[2:])
    return right > left and bottom > top
