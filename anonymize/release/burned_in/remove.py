"""What is put in the place of text: the surroundings, or black; whole marks or none."""

from collections.abc import Sequence
from itertools import product

import cv2
import numpy as np
from scipy.ndimage import distance_transform_edt, find_objects

from anonymize.release.burned_in import strokes
from anonymize.release.burned_in.find import Line
from anonymize.release.burned_in.quadrilaterals import drawn, thickness
from anonymize.release.radiograph import Radiograph

ACROSS, ALONG, LEAST = 0.2, 0.8, 2.0  # around a line: parts of its height, and pixels
# Of a line's own contrast: what is as strong beside it is a mark like its letters; and on another
# ground, as a letter on a bone beside others on air.
STRONG = 0.55, 0.42
GROWS = 1.3  # heights of letters that a mark may reach beyond its line: a frame, a circle
EMPTY, BORDER = 0.004, 0.01  # of the range, and of the picture's area: flat at the border, no body
DRAWN = 24.0  # pixels of a line's letters in which its marks are looked for
AROUND, SMOOTHINGS = 32, 40  # pixels around a region from which it is filled; rounds of diffusion


def region(lines: Sequence[Line], picture: np.ndarray, keep: Sequence[Line] = ()) -> np.ndarray:
    """bool (H, W): lines of text with all marks that touch them, as frames and rings do.

    Strokes alone would still be readable, so lines are taken whole; the margin is wider along a
    line, whose last letters may be too faint to be found. The marks of ``keep`` stay, whole, except
    what is within a line.

    Args:
        picture: (H, W, C), stored values.
    """
    mask = np.zeros(picture.shape[:2], np.uint8)
    for line in lines:
        marks = drawn(_widened(line), mask.shape)
        mask |= marks
        part = _around(line, picture.shape[:2])
        if min(picture[part].shape[:2]) > 2:
            mask[part] |= _touching(picture[part].astype(np.float32), marks[part], line)
    text = [drawn(line.corners, mask.shape) for line in lines] if keep else []
    for line in keep:
        part = _around(line, picture.shape[:2], wide=0.5)
        own = drawn(_widened(line, along=ACROSS), mask.shape)
        own[part] |= _touching(picture[part].astype(np.float32), own[part], line)
        mask[own > 0] = 0
    for own in text:
        mask |= own
    return mask.astype(bool)


def _widened(line: Line, along: float = ALONG) -> np.ndarray:
    """The corners of a line with its margins, (4, 2)."""
    a, b, c, d = line.corners.astype(np.float64)
    right, down = (b + c - a - d) / 2, (c + d - a - b) / 2
    width, height = np.linalg.norm(right), np.linalg.norm(down)
    low = min(width, height)
    if not low:
        return line.corners
    long = line.letters != 1  # what was not read may be more than one
    beside = LEAST + low * (along if long and width > height else ACROSS)
    above = LEAST + low * (along if long and height > width else ACROSS)
    right, down = right / width * beside, down / height * above
    return np.array([a - right - down, b + right - down, c + right + down, d - right + down])


def _around(line: Line, size: tuple[int, int], wide: float = GROWS) -> tuple[slice, slice]:
    """Rows and columns of a line and of the marks that may touch it."""
    reach = wide * thickness(line.corners) + LEAST
    left, top, right, bottom = line.box
    return (
        slice(int(max(top - reach, 0)), int(min(bottom + reach, size[0])) + 1),
        slice(int(max(left - reach, 0)), int(min(right + reach, size[1])) + 1),
    )


def _touching(part: np.ndarray, line: np.ndarray, of: Line) -> np.ndarray:
    """uint8 (h, w): marks of ``part`` (h, w, C) that touch ``line`` and end within the part.

    A mark is what is as strong as the line's letters against what is left of the part without
    anything that thin, with all that it encloses. What goes on beyond the part is a bone, or
    another mark.
    """
    height, width = line.shape
    letters = thickness(of.corners)
    scale = min(1.0, DRAWN / max(letters, 1))
    size = max(round(width * scale), 3), max(round(height * scale), 3)
    small = cv2.resize(part, size, interpolation=cv2.INTER_AREA).reshape(*size[::-1], -1)
    inside = cv2.resize(line, size, interpolation=cv2.INTER_NEAREST) > 0
    side = 2 * int(letters * scale) + 3
    kernel = np.ones((side, side), np.uint8)
    light = small - cv2.morphologyEx(small, cv2.MORPH_OPEN, kernel).reshape(small.shape)
    dark = cv2.morphologyEx(small, cv2.MORPH_CLOSE, kernel).reshape(small.shape) - small
    taken = np.zeros(inside.shape, np.uint8)
    if not inside.any():
        return np.zeros_like(line)
    strengths = [strength.max(2) for strength in (light, dark)]
    own = max(float(np.percentile(one[inside], 95)) for one in strengths)
    for strength, part_of_it in product(strengths, STRONG):
        strong = strength > max(part_of_it * own, 1e-6)
        labels, boxes = strokes.components(strong)
        for number in np.unique(labels[inside & strong]):
            left, top, wide, high, _ = boxes[number]
            ends = left > 0 and top > 0
            if ends and left + wide < size[0] and top + high < size[1]:
                points = cv2.findNonZero((labels == number).astype(np.uint8))
                cv2.fillConvexPoly(taken, cv2.convexHull(points), 1)
    whole = cv2.resize(taken, (width, height), interpolation=cv2.INTER_NEAREST)
    return cv2.dilate(whole, np.ones((2 * int(LEAST + 1 / scale) + 1,) * 2, np.uint8))


def fill(
    radiograph: Radiograph, where: np.ndarray, how: str, marks: np.ndarray | None = None
) -> np.ndarray:
    """The pixels of ``radiograph`` (H, W, C) with the region ``where`` (H, W) filled.

    "inpaint" continues the surroundings smoothly, each channel on its own, the body from the body
    and the border (padding, collimator) from the border, and nothing from ``marks`` (H, W), which
    would be smeared over what is between them. It is rounded at random (always the same):
    else the steps from one value to the next are strokes, where nothing else is.
    """
    pixels = radiograph.pixels
    filled = pixels.copy()
    if how == "black":
        filled[where] = (0, 0, 0, radiograph.top) if radiograph.layout == "cmyk" else 0
        return filled
    unknown = where if marks is None or (where | marks).all() else where | marks
    zones, dither = _zones(radiograph, unknown), np.random.default_rng(0)
    regions = cv2.connectedComponents(where.astype(np.uint8), connectivity=4)[1]
    for number, box in enumerate(find_objects(regions), 1):
        rows, columns = (slice(max(side.start - AROUND, 0), side.stop + AROUND) for side in box)
        part, hole = pixels[rows, columns].astype(np.float32), unknown[rows, columns]
        own, zone = regions[rows, columns] == number, _continued(zones[rows, columns], hole)
        for one in np.unique(zone[own]):
            wanted = own & (zone == one)
            made = _smooth(part, (zone == one) & ~hole)[wanted]
            made = np.floor(made + dither.random(made.shape, np.float32))
            filled[rows, columns][wanted] = made.clip(0, radiograph.top)
    return filled


def _smooth(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """``values`` (h, w, C) continued smoothly to where they are not ``known`` (h, w).

    Coarse values first, from a pyramid (pull-push, Gortler 1996), then diffusion.
    """
    if known.all() or not known.any():
        return values
    height, width = known.shape
    weight = known.astype(np.float32)
    if min(height, width) > 1:
        size = -(-width // 2), -(-height // 2)
        small = cv2.resize(weight, size, interpolation=cv2.INTER_AREA)
        mean = cv2.resize(values * weight[..., None], size, interpolation=cv2.INTER_AREA)
        mean = mean.reshape(*small.shape, -1) / np.maximum(small, 1e-6)[..., None]
        guess = cv2.resize(_smooth(mean, small > 0), (width, height)).reshape(values.shape)
    else:
        guess = np.broadcast_to(values[known].mean(0), values.shape)
    made = np.where(known[..., None], values, guess)
    for _ in range(SMOOTHINGS):
        blurred = cv2.blur(made, (3, 3)).reshape(values.shape)
        made = np.where(known[..., None], values, blurred)
    return made


def _continued(zones: np.ndarray, hole: np.ndarray) -> np.ndarray:
    """``zones`` (h, w) into a ``hole`` (h, w): what most of its row and column come to where they
    leave it, left, right, above and below; the nearest where they are as many. A line of text in a
    frame may reach down to the radiograph, and is beside the frame on both ends."""
    beside = np.flatnonzero(np.bincount(zones[~hole]))
    if len(beside) < 2:
        return np.full_like(zones, beside[0]) if len(beside) else zones
    nearest = distance_transform_edt(hole, return_distances=False, return_indices=True)
    votes = np.eye(4)[zones[tuple(nearest)]] / 2
    for turn in range(4):
        there, seen = np.rot90(~hole, turn), np.rot90(zones, turn)
        before = np.maximum.accumulate(np.where(there, np.arange(there.shape[1]), -1), axis=1)
        said = np.eye(4)[np.take_along_axis(seen, np.maximum(before, 0), axis=1)]
        votes += np.rot90(said * (before >= 0)[..., None], -turn)
    return np.where(hole, votes.argmax(2), zones).astype(np.uint8)


def _zones(radiograph: Radiograph, where: np.ndarray) -> np.ndarray:
    """uint8 (H, W): 0 the body, 1 and 2 large flat areas at the border, 3 padding."""
    gray = radiograph.gray()
    zones = np.zeros(gray.shape, np.uint8)
    for number, level in enumerate((gray.min(), gray.max()), 1):
        flat = (np.abs(gray - level) <= EMPTY) & ~where
        if np.count_nonzero(flat) < BORDER * gray.size:
            continue
        labels, boxes = strokes.components(flat)
        edge = np.unique(np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]]))
        large = np.zeros(len(boxes), bool)
        large[edge] = boxes[edge, 4] >= BORDER * gray.size
        large[0] = False
        if large.any():
            zones[large[labels]] = number
    if radiograph.background is not None:
        zones[radiograph.background] = 3
    return zones
