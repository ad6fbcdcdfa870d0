"""Whether labels show the radiograph elsewhere: turned, mirrored, or small in a part of them.

It is compared at every fifth degree, mirrored or not, with all of the labels and with the frame of
each, within a disc. Of all these views the one most like a lung of COVID-19 radiographs has a level
that correlates with its mask to 0.90; one level of the same, turned or mirrored, mostly 0.93 and
more, half as large in a corner 0.90 to 0.94: an outline of two values may pass, as a lung does.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from PIL import Image
from scipy.ndimage import rotate

from anonymize.release.labels.levels import areas, cut_off, explained

CANVAS = 192  # areas a side in which labels are looked at
GRIDS = (16, 48)  # areas a side of what is compared
SMALLEST = 48  # side of a part of the labels that is looked at, on the canvas
STEP = 8  # of the canvas, by which two parts must differ
SMALL = 128  # longer side of the image as it is turned
ANGLES = range(5, 180, 5)  # the other half, and the mirrored ones, are these seen from elsewhere
FILLED = 0.95  # of a part
# Of one of so many views: correlation with a level; share of its variance, of which the mask, boxes
# and runs of lungs together explain 0.83 in one of 158 COVID-19 radiographs, up to 0.75 in 151.
CUT, EXPLAINED = 0.92, 0.84
LIKELY = 0.4  # correlation with the image of what may be a level of it

Part = tuple[slice, slice]


def canvas(plane: np.ndarray) -> np.ndarray:
    """A label (h, w) in float32 (CANVAS, CANVAS)."""
    return areas(plane, CANVAS).reshape(CANVAS, CANVAS).astype(np.float32)


def shown(image: np.ndarray, planes: list[np.ndarray], *, simple: bool) -> bool:
    """True where one part of ``planes``, canvases of labels, shows ``image`` (H, W) as none of an
    organ does. ``simple``: they have so few parts that one may explain as much as it does."""
    seen = list(_views(image))
    for side in GRIDS[simple:]:  # outlines are all alike in few areas
        y, x = np.mgrid[:side, :side] - (side - 1) / 2
        disc = (np.hypot(y, x) <= side / 2).ravel()
        views = np.stack([areas(view, side)[disc] for view in seen], 1)
        for number, part in enumerate(_parts(planes)):
            known = [areas(plane[part], side)[disc] for plane in planes]
            if number and simple and not _filled(known):
                continue
            known = [region for region in known if np.ptp(region) > 0]
            # As it is in all of the labels, it was looked at in finer areas.
            if known and _like(views[:, 1:] if number == 0 else views, known, simple=simple):
                return True
    return False


def _filled(known: list[np.ndarray]) -> bool:
    """True where regions (N,) fill a part together, as levels of a picture do, and none alone."""
    alone = max((region > 0).mean() for region in known)
    return bool(alone < FILLED <= (np.sum(known, 0) > 0).mean())


def _like(views: np.ndarray, known: list[np.ndarray], *, simple: bool) -> bool:
    """True where ``known`` regions (N,) explain one of ``views`` (N, K), or are a level of it."""
    if not simple:
        return explained(views, known) > EXPLAINED
    regions = np.stack([r for r in (*known, np.sum(known, 0)) if np.ptp(r) > 0])
    views = views[:, np.ptp(views, axis=0) > 0]
    likely = np.abs(np.corrcoef(regions, views.T)[: len(regions), len(regions) :]) > LIKELY
    return any(cut_off(views[:, k], regions[i]) > CUT for i, k in np.argwhere(likely))


def _views(image: np.ndarray) -> Iterable[np.ndarray]:
    """``image`` (H, W) first as it is, then turned and mirrored, smaller."""
    scale = SMALL / max(image.shape)
    height, width = (max(1, round(scale * side)) for side in image.shape)
    whole = Image.fromarray(image.astype(np.float32))
    small = np.asarray(whole.resize((width, height), Image.Resampling.BOX))
    turned = [rotate(small, angle, reshape=False, order=1, mode="nearest") for angle in ANGLES]
    for view in (small, *turned, np.rot90(small)):
        yield from (view, view[::-1, ::-1], view[:, ::-1], view[::-1])


def _parts(planes: list[np.ndarray]) -> list[Part]:
    """All of a canvas, then the frames of each of ``planes`` and of all of them together."""
    found: dict[tuple[int, ...], Part] = {}
    whole = slice(0, CANVAS)
    found[0, CANVAS // STEP, 0, CANVAS // STEP] = whole, whole
    for plane in (*planes, np.sum(planes, 0)) if planes else ():
        rows, columns = (np.flatnonzero(plane.any(axis)) for axis in (1, 0))
        if not len(rows):
            continue
        edges = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
        part = slice(*edges[:2]), slice(*edges[2:])
        if min(edges[1] - edges[0], edges[3] - edges[2]) >= SMALLEST:
            found.setdefault(tuple(round(edge / STEP) for edge in edges), part)
    return list(found.values())
