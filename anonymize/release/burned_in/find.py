"""What in a picture is text, and which of it is a side marker.

The detector says where lines of text may be, and the reader what they say. Ribs, vertebrae and
electrodes look like letters too: a line counts where enough of it can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from anonymize.release.burned_in.reader import Reader, reader
from anonymize.release.burned_in.views import Tile, looks, tiles

SIDE_MARKER = re.compile(r"\(?(L|R|LT|RT|LEFT|RIGHT|Left|Right)\)?")
SURE = 0.9  # a reading that needs no other direction to be tried
TALL, TALLEST = 0.08, 0.25  # of the picture's longer side
FILLS = 0.6  # of a tile's area: not a line of text, but the tile itself


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
        if self.letters == 1:
            return self.read.strip().isascii() and self.sure >= 0.98 and self.height <= 0.15
        if self.height > TALL:
            return self.sure >= 0.9 and self.found >= 0.5
        if self.sure >= 0.6:
            return True
        return self.found >= 0.6 and self.sure >= 0.3 and self.letters >= 3 and self.height <= 0.05

    @property
    def is_side_marker(self) -> bool:
        """True for L and R alone, in brackets or spelled out; surely read."""
        return self.sure >= SURE and SIDE_MARKER.fullmatch(self.read.strip()) is not None

    @property
    def box(self) -> tuple[float, float, float, float]:
        """left, top, right, bottom."""
        return (*self.corners.min(0), *self.corners.max(0))


def lines(picture: np.ndarray, near: np.ndarray | None = None) -> Iterator[Line]:
    """All that may be text in ``picture`` (H, W) or (H, W, 3); the same line several times.

    ``near`` (H, W) limits the search to the tiles that show some of that region.
    """
    ocr = reader()
    longer = max(picture.shape[:2])
    for look in looks(picture):
        for tile in tiles(look):
            if near is not None and not near[tile.part].any():
                continue
            for corners, found in ocr.detect(tile.pixels):
                if _is_the_tile(corners, tile):
                    continue
                crop = cut(tile.pixels, corners)
                if min(crop.shape[:2]) < 3:
                    continue
                read, sure = _read(ocr, crop)
                there = corners / tile.scale + np.array(tile.origin, np.float32)
                yield Line(there, found, read, sure, min(crop.shape[:2]) / tile.scale / longer)


def find(picture: np.ndarray, near: np.ndarray | None = None) -> tuple[list[Line], list[Line]]:
    """(text, side markers) in ``picture``; a marker that lies on text is text."""
    found = [line for line in lines(picture, near) if line.is_text]
    markers = [line for line in found if line.is_side_marker]
    text = [line for line in found if not line.is_side_marker]
    alone: list[Line] = []
    for marker in markers:
        (text if any(_overlap(marker, other) for other in text) else alone).append(marker)
    return text, alone


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


def _is_the_tile(corners: np.ndarray, tile: Tile) -> bool:
    """True where the detector could not tell the letters from the tile."""
    wide, high = np.ptp(corners, 0)
    return wide * high > FILLS * tile.width * tile.height


def _overlap(one: Line, other: Line) -> bool:
    left, top = np.maximum(one.box[:2], other.box[:2])
    right, bottom = np.minimum(one.box[2:], other.box[2:])
    return right > left and bottom > top
