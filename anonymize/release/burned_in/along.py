"""The whole of a line of which a part was found: the rest is there too, if fainter.

A line goes on as long as there are strokes like its own, or strokes that its surroundings lack. And
beside it, at the size that the detector sees best, fainter letters are looked for than anywhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from anonymize.release.burned_in import strokes, views
from anonymize.release.burned_in.find import Line, read, tile
from anonymize.release.burned_in.quadrilaterals import cut, drawn, thickness
from anonymize.release.burned_in.reader import reader

HIGH = 32.0  # pixels of a strip that a line is high; a box is higher than its letters by half
BESIDE, ABOVE = 5.0, 1.2  # heights of a line that letters are looked for beside and above it
REACH, ALONE = 20.0, 6.0  # heights of a line that it may go on; of a letter alone, often no text
GAP = 1.5  # heights of a line between its words
LETTER, SPACE = 17, 65  # pixels of a strip: columns that are looked at together; surroundings
WITHIN, OUTSIDE = 0.35, 0.55  # heights from the middle of a line: its letters; its surroundings
OWN, OTHER = 0.35, 0.7  # of a line's strokes: what may be one; what surroundings could hide it
FADED = 0.12  # of a line's strokes: letters that are cut off at white, over bones
MORE, MUCH_MORE = 1.5, 2.5  # times the strokes of the surroundings
LEAST = 0.001  # of the range of values: what is fainter in flat surroundings is no stroke
ALIKE = 0.5, 2.0  # heights of what belongs to a line, in its own
KNOWN = 0.7  # of a box: where as much was removed, nothing new is seen
SURE = 0.6  # of a reading above or below a line
SHORT, ASKEW = 5.0, 0.2  # heights of a line that tells its direction; radians that a box may err


@dataclass(frozen=True)
class Strip:
    """A line and what is beside it, upright: ``pixels`` float32 (h, w) or (h, w, 3).

    ``to`` (2, 3) maps x, y of the strip to the picture. The line is at ``start`` to ``stop`` of the
    columns, around the row ``middle``; it is ``HIGH`` high.
    """

    pixels: np.ndarray
    to: np.ndarray
    middle: float
    start: float
    stop: float

    def back(self, points: np.ndarray) -> np.ndarray:
        """Points (n, 2) of the strip in the picture."""
        return (points @ self.to[:, :2].T + self.to[:, 2]).astype(np.float32)


def whole(line: Line, values: np.ndarray) -> Line:
    """``line``, as long as it goes on in ``values`` (H, W) or (H, W, 3), stored values."""
    strip = _strip(line, values, ALONE if line.letters == 1 else REACH)
    if strip is None:
        return line
    first, last = _ends(strip, float(np.ptp(values)))
    up, under = strip.middle - HIGH / 2, strip.middle + HIGH / 2
    box = np.array([[first, up], [last, up], [last, under], [first, under]])
    return replace(line, corners=strip.back(box), sideways=False)


def _ends(strip: Strip, span: float) -> tuple[float, float]:
    """The columns from which to which a line goes."""
    seen = strokes.strokes(strip.pixels)
    rows = np.abs(np.arange(len(seen)) - strip.middle)
    side = np.arange(len(seen)) < strip.middle
    outside = rows > OUTSIDE * HIGH
    own = seen[rows < WITHIN * HIGH].mean(0, keepdims=True)
    around = [
        cv2.blur(seen[outside & on].mean(0, keepdims=True), (SPACE, 1))[0]
        for on in (side, ~side)
        if (outside & on).sum() > HIGH / 4
    ]
    own = cv2.blur(own, (LETTER, 1))[0]
    first, last = max(int(strip.start), 0), min(int(np.ceil(strip.stop)), len(own))
    if first >= last:
        return strip.start, strip.stop
    line = own[first:last]
    usual = float(np.percentile(line[line >= FADED * line.max()], 25))
    quiet = np.min(around, 0) if around else 0 * own
    # A side as strong as the line is another line, and tells nothing about what is no letter.
    anatomy = [one for one in around if one[first:last].mean() < OWN * usual]
    busy = np.max(anatomy, 0) if anatomy else quiet
    like = (own > OWN * usual) & ((own > MORE * busy) | (quiet > OTHER * usual))
    clear = own > MUCH_MORE * np.maximum(busy, LEAST * span)
    on = like | (clear & (own > FADED * usual))
    on[first:last] = True
    columns = np.flatnonzero(on)
    parts = np.split(columns, np.flatnonzero(np.diff(columns) > GAP * HIGH) + 1)
    part = next(part for part in parts if part[0] <= first <= part[-1])
    low, high = float(part[0]), float(part[-1] + 1)
    return (low if low < first else strip.start), (high if high > last else strip.stop)


def beside(lines: Sequence[Line], values: np.ndarray, known: np.ndarray) -> list[Line]:
    """What may belong to ``lines`` and is not ``known``, bool (H, W). ``values``: as for
    :func:`whole`; ``lines`` have been removed."""
    return [
        one
        for line in lines
        for one in _seen(_strip(line, values, BESIDE), line)
        if _share(one, known) < KNOWN
    ]


def _seen(strip: Strip | None, line: Line) -> Iterator[Line]:
    """What the detector sees in a strip: in the line at all, above and below it if it is read."""
    if strip is None:
        return
    shown = tile(views.local_contrast(strip.pixels))
    for box, found in reader().detect(shown):
        if not ALIKE[0] <= thickness(box) / HIGH <= ALIKE[1]:
            continue
        one = replace(line, corners=strip.back(box), found=found, read="", sure=0.0, sideways=False)
        if abs(box[:, 1].mean() - strip.middle) < HIGH / 2:
            yield one
        else:
            said, sure, _ = read(reader(), cut(shown, box))
            if sure >= SURE and sum(c.isalnum() for c in said) > 1:
                yield one


def _strip(line: Line, values: np.ndarray, beside: float) -> Strip | None:
    """A line with ``beside`` of its heights to either side; None for a line without any extent."""
    a, b, c, d = line.corners.astype(np.float64)
    along, across = (b + c - a - d) / 2, (c + d - a - b) / 2
    if line.sideways:
        along, across = across, -along
    length, high = float(np.linalg.norm(along)), float(np.linalg.norm(across))
    centre = line.corners.mean(0)
    if min(length, high) < 1:
        return None
    along, across = along / length, across / high
    axis = np.round(along)
    if length < SHORT * high and along @ axis > np.cos(ASKEW):
        along, across = axis, np.array([-axis[1], axis[0]])
    reach = length / 2 + beside * high, high * (0.5 + ABOVE)
    back, on = (_inside(centre, sign * along, reach[0], values) for sign in (-1, 1))
    up, under = (_inside(centre, sign * across, reach[1], values) for sign in (-1, 1))
    step = high / HIGH
    size = round((back + on) / step), round((up + under) / step)
    if min(size) < HIGH / 2:
        return None
    to = np.stack([along * step, across * step, centre - back * along - up * across], 1)
    start = (back - length / 2) / step
    return Strip(_cut(values, to, size), to, up / step, start, start + length / step)


def _inside(start: np.ndarray, way: np.ndarray, reach: float, values: np.ndarray) -> float:
    """How far, at most ``reach``, one can go from ``start`` within a picture."""
    size = np.array(values.shape[1::-1])
    far = np.where(way > 0, size - 1 - start, -start) / np.where(np.abs(way) > 1e-6, way, np.inf)
    return float(max(min(reach, *far[np.abs(way) > 1e-6]), 0))


def _cut(values: np.ndarray, to: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """float32: the strip of ``size`` (width, height), without what is finer than its pixels."""
    corners = np.array([[0, 0], [size[0], 0], size, [0, size[1]]]) @ to[:, :2].T + to[:, 2]
    low = np.maximum(np.floor(corners.min(0)).astype(int) - 2, 0)
    high = np.ceil(corners.max(0)).astype(int) + 3
    sharp = values[low[1] : high[1], low[0] : high[0]].astype(np.float32)
    part = cv2.GaussianBlur(sharp, (0, 0), max(float(np.linalg.norm(to[:, 0])), 1))
    there = np.column_stack([to[:, :2], to[:, 2] - low])
    how = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(part, there, size, flags=how, borderMode=cv2.BORDER_REPLICATE)


def _share(line: Line, known: np.ndarray) -> float:
    """How much of ``line`` lies on what is ``known``."""
    own = drawn(line.corners, known.shape) > 0
    return float(known[own].mean()) if own.any() else 1.0
