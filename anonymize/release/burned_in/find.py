"""What in a picture is text, and which of it is a side marker.

The detector says where lines of text may be, and the reader what they say. Ribs, vertebrae and
electrodes look like letters too: a line counts where enough of it can be read.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from anonymize.release.burned_in import gate, strokes
from anonymize.release.burned_in.places import SIDES, Place, places
from anonymize.release.burned_in.quadrilaterals import cut
from anonymize.release.burned_in.reader import Reader, reader
from anonymize.release.burned_in.views import FINEST, PLAIN, View, stretched

SIDE_MARKER = re.compile(r"\(?(L|R|LT|RT|LEFT|RIGHT|Left|Right)\)?")
CIRCLED = re.compile("[\u2460-\u24ff]")  # a letter in a ring is read as one of these
UPSIDE_DOWN = {"1": "L", "7": "L"}  # what a side marker is read as by one who turns it around
SURE = 0.9  # a reading that needs no other direction to be tried
SMALL, TALL, TALLEST = 0.05, 0.08, 0.35  # of the picture's longer side
LONG = 2.0  # times their height that letters in a row are long
READINGS = 3  # of one place at most, in different views
CLEAR = 95  # percentile of the strokes in a box that are those of letters
MARGINS = 0.25  # of a box's height: no more of it than that is beside its letters
LIKE, SEEN, READ = 1.25, 0.6, 0.5  # of a letter beside others: times their height; found, and sure


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
    clear: bool = True  # and not there alone, where a step of one gray level is a stroke
    sideways: bool = False  # it runs from the first to the last of ``corners``, not to the second
    ends: bool = True  # as letters do; arrows, wires and bones go on

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
        if self.letters == 1 and len(self.read.strip()) < 3:
            return self._is_one_letter
        if self.letters > 1 and self._is_drawn_out:
            return True
        if self.faint:
            return self.letters >= 2 and self.sure >= (0.7 if self.letters >= 4 else 0.93)
        if self.letters == 2 and self.sure < SURE and self.found < 0.6:
            return False
        if self.height > TALL:
            return self.sure >= 0.9 and self.found >= 0.5
        if self.sure >= 0.6:
            return self.letters > 2 or self.read.isascii() or self.sure >= 0.95
        return self.found >= 0.6 and self.sure >= 0.3 and self.letters >= 3 and self.height <= SMALL

    @property
    def _is_drawn_out(self) -> bool:
        """Small letters in a row, from left to right: dates that were made smaller or pixelated are
        read badly, and next to nothing else looks like them. Wires and spines run from top to
        bottom."""
        a, b, _, d = self.corners
        if self.sideways or not self.clear or self.height > SMALL or self.sure < 0.3:
            return False
        long = np.linalg.norm(b - a) >= LONG * np.linalg.norm(d - a)
        seen = self.found >= (0.5 if self.letters > 2 else 0.6)
        return bool(long and seen and (self.letters > 2 or self.read.isascii()))

    @property
    def _is_one_letter(self) -> bool:
        """Stricter: of all that is no text, most is read as one letter, or as a 1."""
        said = self.read.strip()
        if not self.ends or self.height > 0.15 or not (said.isascii() or CIRCLED.search(said)):
            return False
        if self.faint:
            return self.sure >= 0.99 and self.found >= 0.75
        if self.found >= 0.6:
            return self.sure >= 0.93
        return self.sure >= 0.98 and "1" not in said

    @property
    def is_side_marker(self) -> bool:
        """True for L and R alone, in brackets or spelled out; surely read."""
        return self.sure >= SURE and SIDE_MARKER.fullmatch(self.read.strip()) is not None

    @property
    def box(self) -> tuple[float, float, float, float]:
        """left, top, right, bottom."""
        return (*self.corners.min(0), *self.corners.max(0))


def find(
    pictures: Sequence[View], size: tuple[int, int], fine: Sequence[View] = ()
) -> tuple[list[Line], list[Line]]:
    """(text, side markers) of a radiograph of ``size`` (H, W), of which ``pictures`` are views, and
    ``fine`` larger ones.

    A marker on text is text, and so is what is drawn like letters that are.
    """
    seen = list(lines(pictures, size, fine))
    found = [line for line in seen if line.is_text]
    markers = [line for line in found if line.is_side_marker]
    text = [line for line in found if not line.is_side_marker]
    text += [line for line in seen if not line.is_text and like_others(line, text)]
    on_text, alone = divided(markers, text)
    return text + on_text, alone


def like_others(line: Line, text: Sequence[Line]) -> bool:
    """True where ``line`` may be a letter, and as tall as one that stands alone among ``text``:
    figures are labelled with several, and the one that is read badly would be left."""
    alone = [one.height for one in text if one.letters == 1 and not one.faint]
    may_be = line.letters == 1 and not line.faint and line.ends
    may_be = may_be and line.found >= SEEN and line.sure >= READ
    return may_be and any(1 / LIKE <= line.height / height <= LIKE for height in alone)


def divided(markers: Sequence[Line], text: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """``markers`` that lie on ``text``, and the others; whole, in whatever view they were seen."""
    on_text: list[Line] = []
    alone, before = list(markers), -1
    while len(alone) != before:
        before = len(alone)
        crossed = [any(_overlap(one, other) for other in [*text, *on_text]) for one in alone]
        on_text += [one for one, on in zip(alone, crossed, strict=True) if on]
        alone = [one for one, on in zip(alone, crossed, strict=True) if not on]
    return on_text, alone


def apart(found: Sequence[Line]) -> list[Line]:
    """One line for each place, the largest: views and sizes show the same ones again."""
    kept: list[Line] = []
    for line in sorted(found, key=lambda line: np.ptp(line.corners, 0).prod(), reverse=True):
        if not any(_same_place(line, other) for other in kept):
            kept.append(line)
    return kept


def lines(
    pictures: Sequence[View], size: tuple[int, int], fine: Sequence[View] = ()
) -> Iterator[Line]:
    """All that may be text; lines at the same place were read once, and say the same."""
    ocr, whole = reader(), (min(max(size), FINEST),)
    spots = [*_spots(ocr, pictures, size, SIDES), *_spots(ocr, fine, size, whole)]
    for group in _groups(spots):
        best = group[0][0]
        if best.height > TALLEST:
            continue
        plain = [spot.ends for spot, _ in group if not spot.faint]
        ends = any(plain or [spot.ends for spot, _ in group])
        for spot, crop in group[:READINGS]:
            said, sure, sideways = read(ocr, crop)
            line = replace(spot, read=said, sure=sure, sideways=sideways, ends=ends)
            best = max(best, line, key=lambda one: (one.is_text, one.sure))
            if best.is_text and best.sure >= SURE:
                break
        yield from (replace(best, corners=spot.corners) for spot, _ in group)


def _spots(
    ocr: Reader, pictures: Sequence[View], size: tuple[int, int], sides: Sequence[int]
) -> Iterator[tuple[Line, np.ndarray]]:
    """What the detector sees, with a picture of it, upright; where it sees nothing in spite of the
    gate, what it sees once the contrast is stretched."""
    for place, logits in _seen(ocr, places(pictures, size, sides)):
        found = list(_detected(ocr, place, place.shown, logits, pictures, size))
        faint = replace(place, faint=True)
        yield from found or _detected(ocr, faint, stretched(place.shown), logits, pictures, size)


def _detected(
    ocr: Reader,
    place: Place,
    picture: np.ndarray,
    logits: np.ndarray,
    pictures: Sequence[View],
    size: tuple[int, int],
) -> Iterator[tuple[Line, np.ndarray]]:
    """Lines of ``picture``, which shows ``place``, where the gate's ``logits`` see text."""
    shown = tile(picture)
    for corners, found in ocr.detect(shown):
        crop = cut(shown, corners)
        if min(crop.shape[:2]) >= 3 and gate.within(logits, corners):
            there = (corners + place.origin) / place.scale
            height = min(crop.shape[:2]) / place.scale / max(size)
            ends = strokes.ends(place.level, corners + place.origin)
            clear = not place.faint or _clear(pictures, there, size)
            yield Line(there, found, "", 0.0, height, place.faint, clear, ends=ends), crop


def _clear(pictures: Sequence[View], corners: np.ndarray, size: tuple[int, int]) -> bool:
    """True where one of ``pictures`` has strokes within ``corners`` (4, 2) that is none of local
    contrast."""
    for picture in (one.pixels for one in pictures if one.least == PLAIN):
        scale = picture.shape[1] / size[1]
        (left, top), (right, bottom) = (
            (np.round(side * scale).astype(int).clip(0))
            for side in (corners.min(0), corners.max(0))
        )
        part = picture[top : bottom + 1, left : right + 1]
        if part.size and np.percentile(strokes.strokes(part), CLEAR) >= PLAIN:
            return True
    return False


def _seen(ocr: Reader, there: Iterable[Place]) -> Iterator[tuple[Place, np.ndarray]]:
    """Places as narrow as the gate sees text in them, each with the logits of its cells."""
    for place in there:
        logits = ocr.gate.logits(place.shown)
        for rows, columns in gate.around(logits, place.shown.shape):
            cells = (slice(s.start // gate.CELL, -(-s.stop // gate.CELL)) for s in (rows, columns))
            yield place.narrowed(rows, columns), logits[*cells]


def tile(part: np.ndarray) -> np.ndarray:
    """uint8 (h, w, 3), sides multiples of the detector's stride of 32."""
    height, width = part.shape[:2]
    planes = np.repeat(part[..., None], 3, 2) if part.ndim == 2 else part
    return np.pad(planes, ((0, -height % 32), (0, -width % 32), (0, 0)), mode="edge")


def _groups(spots: list[tuple[Line, np.ndarray]]) -> list[list[tuple[Line, np.ndarray]]]:
    """Spots at the same place together, the surest first."""
    groups: list[list[tuple[Line, np.ndarray]]] = []
    for spot in sorted(spots, key=lambda one: -one[0].found):
        there = (group for group in groups if _same_place(spot[0], group[0][0]))
        if (group := next(there, None)) is None:
            groups.append([spot])
        else:
            group.append(spot)
    return groups


def _same_place(one: Line, other: Line) -> bool:
    """True where two boxes share half of what they cover together."""
    (low, high), (least, most) = ((s.corners.min(0), s.corners.max(0)) for s in (one, other))
    shared = np.prod(np.maximum(np.minimum(high, most) - np.maximum(low, least), 0))
    return bool(shared > 0.5 * (np.prod(high - low) + np.prod(most - least) - shared))


def read(ocr: Reader, crop: np.ndarray) -> tuple[str, float, bool]:
    """The surest reading, how sure it is, and whether it runs from top to bottom or back."""
    height, width = crop.shape[:2]
    turns = [0, 2] if width >= 1.5 * height else [1, 3] if height >= 1.5 * width else [0, 1, 2, 3]
    best = ("", 0.0, height > width)
    for turn in turns:
        said, sure = ocr.read(np.rot90(crop, turn))
        if sure > best[1] and any(c.isalnum() for c in said):
            best = (UPSIDE_DOWN.get(said, said) if turn == 2 else said), sure, turn % 2 == 1
        if best[1] >= SURE:
            break
    return best


def _overlap(one: Line, other: Line) -> bool:
    """True where two boxes share anything, but for their margins where one is above the other."""
    left, top = np.maximum(one.box[:2], other.box[:2])
    right, bottom = np.minimum(one.box[2:], other.box[2:])
    (_, height), (wide, high) = (np.ptp(line.corners, 0) for line in (one, other))
    rows = other.letters > 1 and wide > high  # else it says not what is above it
    margins = MARGINS * min(height, high) if rows else 0.0
    return bool(right > left and bottom - top > margins)
