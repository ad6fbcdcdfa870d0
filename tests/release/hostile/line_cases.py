"""Names of which a part is easier to find than the rest: none may lose that part alone.

What counts is whether the file that goes out has lost some letters of a line and kept others; a
picture that is refused, or has lost the whole line, is held.
"""

from functools import partial

import numpy as np
from corpus import Case, apply
from release_specimens import Constant, png, scene
from text_specimens import letters

from anonymize.release.burned_in.options import TextOptions
from anonymize.release.decode import picture

SIZE = (320, 480)
BODY = scene(160, size=SIZE, dtype=np.float64) + 50  # neither dark nor bright
NAMES = {
    "short": "DOE^JANE 1957",
    "long": "MUELLER-LUEDENSCHEIDT HANS-PETER 03.02.1970",
    "with gaps": "A  B  C  DOE  1 9 5 7",
}
GONE, LEFT = 0.85, 0.15  # of a letter's pixels that were changed


def drawn(name, height=16, angle=0):
    """bool (h, w), cut off where a picture ends."""
    return letters(name, "sans", height, angle)[: SIZE[0], : SIZE[1] - 30] > 127


def written(values, ink, at, step):
    """``values`` with letters that differ by ``step``, one or (h, w), at (row, column)."""
    made = values.copy()
    made[at[0] : at[0] + ink.shape[0], at[1] : at[1] + ink.shape[1]] += step * ink
    return made


def noisy(values, noise):
    return values + np.random.default_rng(0).normal(0, noise, values.shape)


def half_gone(folder, *, make):
    """Why a file that went out is half clean: ``make`` gives values and lines (ink, place)."""
    values, lines = make()
    before = np.round(values).clip(0, 255).astype(np.uint8)
    outcome = apply(
        folder, {"a.png": png(before, 8, 0)}, Constant(1, 0), text=TextOptions("remove")
    )
    for name, data in outcome.images.items():
        after = picture(name, data).pixels[..., 0]
        changed = after[:, 1:] != before[:, :-1]  # as the method moves it
        shares = []
        for ink, (top, left) in lines:
            ink = ink[:, : changed.shape[1] - left]
            own = changed[top : top + ink.shape[0], left : left + ink.shape[1]]
            axis = int(ink.shape[1] > ink.shape[0])
            parts = range(0, ink.shape[axis], min(ink.shape))
            pairs = [np.split(x, list(parts)[1:], axis) for x in (own, ink)]
            shares += [a[b].mean() for a, b in zip(*pairs, strict=True) if b.sum() > 8]
        if max(shares) > GONE and min(shares) < LEFT:
            return f"{sum(s < LEFT for s in shares)} of {len(shares)} parts are left in {name}"
    return None


def on_flat(name, step, noise, angle=0):
    """One line in a bar that is as wide as the picture, or in a picture of one gray."""
    ink = drawn(name, angle=angle)
    flat = 90.0
    values = np.full(SIZE, flat) if angle else BODY.copy()
    top = (SIZE[0] - ink.shape[0]) // 2
    values[max(top - 16, 0) : top + ink.shape[0] + 16] = flat
    at = (top, 20)
    return written(noisy(values, noise), ink, at, step), [(ink, at)]


def over_the_body(name, step, noise):
    ink, at = drawn(name), (120, 12)
    return written(noisy(BODY, noise), ink, at, step), [(ink, at)]


def fading(name, first, last, flat=None):
    """Letters that are strong at one end and faint at the other."""
    ink, at = drawn(name), (150, 12)
    values = BODY.copy() if flat is None else np.full(SIZE, float(flat))
    return written(noisy(values, 1), ink, at, np.linspace(first, last, ink.shape[1])), [(ink, at)]


def block(step, second, noise):
    """Two lines below each other, the second of another contrast."""
    lines = [(drawn("DOE^JANE"), (100, 30)), (drawn("BORN 03.02.1957"), (126, 30))]
    values = np.full(SIZE, 70.0)
    values = noisy(values, noise)
    for (ink, at), contrast in zip(lines, (step, second), strict=True):
        values = written(values, ink, at, contrast)
    return values, lines


def at_the_edge(step, noise, place):
    ink = drawn(NAMES["short"])
    bottom, right = SIZE[0] - ink.shape[0], SIZE[1] - ink.shape[1]
    at = {"top": (0, 40), "bottom": (bottom, 40), "left": (60, 0), "right": (60, right)}[place]
    return written(noisy(np.full(SIZE, 60.0), noise), ink, at, step), [(ink, at)]


def beside_a_marker(step):
    """A strong L in the same row as a faint name."""
    ink, at, marker = drawn(NAMES["short"]), (100, 30), drawn("L", 20)
    values = written(noisy(np.full(SIZE, 60.0), 1), ink, at, step)
    return written(values, marker, (100, 30 + ink.shape[1] + 6), 180), [(ink, at)]


def cases():
    for name, text in NAMES.items():
        for step in (4, 5, 6, 7, 8, 10, 12):
            for sign in (1, -1):
                for noise in (0, 1, 2):
                    title = f"{name}, {sign * step} of 255 in noise of {noise}"
                    yield title, partial(on_flat, text, sign * step, noise)
    for step in (6, -8, 12, -16, 24):
        for name, text in NAMES.items():
            yield f"{name}, {step} over the body", partial(over_the_body, text, step, 1)
    for step in (6, -10):
        for noise in (0, 1):
            title = f"sideways, {step} in noise of {noise}"
            yield title, partial(on_flat, NAMES["short"], step, noise, angle=90)
    for first, last in ((60, 3), (3, 60), (-40, -4)):
        yield f"fading from {first} to {last}", partial(fading, NAMES["long"], first, last)
        title = f"fading from {first} to {last}, flat"
        yield title, partial(fading, NAMES["long"], first, last, 90)
    for step, second in ((40, 6), (6, 40), (8, 8), (-30, -6)):
        yield f"two lines of {step} and {second}", partial(block, step, second, 1)
    for place in ("top", "bottom", "left", "right"):
        for step in (6, -9):
            yield f"{step} at the {place}", partial(at_the_edge, step, 1, place)
    for step in (6, 12):
        yield f"{step} beside a side marker", partial(beside_a_marker, step)


CASES = [
    Case("part of a line", title, partial(half_gone, make=make), fast=False)
    for title, make in cases()
]
