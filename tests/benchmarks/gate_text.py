"""Lines of text of many looks, to teach the gate: many scripts, dots, marks of no script.

``text_specimens`` has other fonts, and measures what became of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

TTF = Path(matplotlib.get_data_path(), "fonts", "ttf")
ROMAN = ["DejaVuSerif.ttf", "DejaVuSerif-Italic.ttf", "DejaVuSerif-BoldItalic.ttf"]
ROMAN += ["DejaVuSans-Oblique.ttf", "cmss10.ttf", "cmr10.ttf", "cmb10.ttf", "cmti10.ttf"]
WIDE = ["DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf"]
SCRIPTS = {  # code points of letters; those of other scripts are of fonts in WIDE
    "capitals": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "small": "abcdefghijklmnopqrstuvwxyz",
    "digits": "0123456789",
    "signs": "^:/-.,()#+",
    "cyrillic": "".join(map(chr, range(0x410, 0x450))),
    "greek": "".join(map(chr, [*range(0x391, 0x3A2), *range(0x3B1, 0x3CA)])),
    "arabic": "".join(map(chr, range(0x627, 0x64B))),
    "georgian": "".join(map(chr, range(0x10D0, 0x10F1))),
    "armenian": "".join(map(chr, range(0x531, 0x557))),
}
ANGLES = (0, 0, 0, 90, 180, 270)
BOX = 100  # pixels in which a letter is drawn before it is scaled


@dataclass(frozen=True)
class Drawn:
    """``corners`` (4, 2) x, y of a line in its picture, and the height of its letters in pixels."""

    corners: np.ndarray
    height: float


def written(picture: np.ndarray, rng: np.random.Generator, count: int) -> tuple:
    """``picture`` uint8 (H, W) with at most ``count`` lines of text, and where they are."""
    made, lines = picture.astype(np.float32), []
    taken = np.zeros(picture.shape, np.uint8)
    longer = max(picture.shape)
    for _ in range(count):
        height = longer / 1024 * float(np.exp(rng.uniform(np.log(7), np.log(70))))
        ink, corners = line(rng, height)
        room = np.subtract(picture.shape, ink.shape)
        if min(room) < 2:
            continue
        top, left = (int(rng.integers(space)) for space in room)
        part = slice(top, top + ink.shape[0]), slice(left, left + ink.shape[1])
        if taken[part].any():
            continue
        made[part] = _inked(made[part], ink, rng)
        taken[part] = 1
        lines.append(Drawn(corners + np.array([left, top]), height))
    return np.round(made.clip(0, 255)).astype(np.uint8), lines


def _inked(under: np.ndarray, ink: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """``under`` with ``ink``, in a tone that differs by 10 to 255 gray levels."""
    level = float(np.median(under))
    if rng.random() < 0.15:
        under = np.full_like(under, rng.choice([0.0, 255.0, level]))
        level = float(under[0, 0])
    step = float(np.exp(rng.uniform(np.log(10), np.log(255)))) * rng.choice([-1, 1, 1])
    value = level + step
    if not 0 <= value <= 255:
        value = level - step if 0 <= level - step <= 255 else float(value > 128) * 255
    if rng.random() < 0.15:  # an outline
        wide = cv2.dilate(ink, np.ones((5, 5), np.uint8))
        under = under * (1 - wide) + (0.0 if value > level else 255.0) * wide
    return under * (1 - ink) + value * ink


def line(rng: np.random.Generator, height: float) -> tuple[np.ndarray, np.ndarray]:
    """float32 (h, w) in [0, 1]: a line whose letters are ``height`` high; its corners (4, 2)."""
    ink = _strip(rng)
    width = float(rng.uniform(0.75, 1.3))
    angle = float(rng.choice(ANGLES)) + float(rng.normal(0, 2) if rng.random() < 0.3 else 0)
    angle = float(rng.uniform(0, 360)) if rng.random() < 0.15 else angle
    scale = height / BOX
    turn = np.array(
        [
            [np.cos(np.radians(angle)), np.sin(np.radians(angle))],
            [-np.sin(np.radians(angle)), np.cos(np.radians(angle))],
        ]
    )
    to = scale * turn @ np.diag([width, 1.0])
    box = np.array([[0, 0], [ink.shape[1], 0], ink.shape[::-1], [0, ink.shape[0]]], float) @ to.T
    low = box.min(0) - 2
    size = np.ceil(box.max(0) - low + 2).astype(int)
    soft = cv2.GaussianBlur(ink, (0, 0), max(0.35 / scale, 0.1))
    move = np.column_stack([to, -low])
    drawn = cv2.warpAffine(soft, move, tuple(int(s) for s in size), flags=cv2.INTER_AREA)
    if rng.random() < 0.25:
        drawn = cv2.GaussianBlur(drawn, (0, 0), float(rng.uniform(0.4, 1.2)))
    return drawn.clip(0, 1), box - low


def _strip(rng: np.random.Generator) -> np.ndarray:
    """float32 (h, w): upright letters ``BOX`` high, cut to what is drawn."""
    kind = rng.random()
    if kind < 0.7:
        ink = _typed(rng)
    elif kind < 0.82:
        ink = _dotted(rng)
    else:
        ink = _scribbled(rng, joined=kind > 0.91)
    rows, columns = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
    if not len(rows):
        return _scribbled(rng, joined=False)
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _said(rng: np.random.Generator, letters: str, most: int = 16) -> str:
    count = 1 if rng.random() < 0.12 else int(rng.integers(2, most))
    return "".join(rng.choice([*letters], count, replace=True))


def _words(rng: np.random.Generator) -> tuple[str, str]:
    """What is written, and the font file."""
    if rng.random() < 0.25:
        script = str(rng.choice(["cyrillic", "greek", "arabic", "georgian", "armenian"]))
        font = str(rng.choice(WIDE[:2] if script != "cyrillic" else WIDE))
        return _said(rng, SCRIPTS[script]), font
    mixes = ("capitals", "small", "digits", "capitals digits", "digits signs")
    mix = str(rng.choice([*mixes, "capitals signs digits"]))
    said = _said(rng, "".join(SCRIPTS[name] for name in mix.split()))
    if len(said) > 6 and rng.random() < 0.5:
        said = said[: len(said) // 2] + " " + said[len(said) // 2 :]
    if rng.random() < 0.08:
        said = str(rng.choice(["L", "R", "(L)", "(R)", "LEFT", "RIGHT", "AP", "PA", "PORTABLE"]))
    return said, str(rng.choice(ROMAN + WIDE))


def _typed(rng: np.random.Generator) -> np.ndarray:
    said, font = _words(rng)
    face = ImageFont.truetype(TTF / font, round(BOX / 0.73))
    left, top, right, bottom = face.getbbox(said)
    image = Image.new("L", (max(right - left, 1) + 8, max(bottom - top, 1) + 8))
    ImageDraw.Draw(image).text((4 - left, 4 - top), said, 255, font=face)
    ink = np.asarray(image).astype(np.float32) / 255
    if rng.random() < 0.25:
        thick = int(rng.integers(1, 7))
        ink = (cv2.dilate if rng.random() < 0.5 else cv2.erode)(ink, np.ones((thick, thick)))
    if rng.random() < 0.08:  # outlines of letters alone
        ink = cv2.dilate(ink, np.ones((7, 7))) - ink
    return ink


def _dotted(rng: np.random.Generator) -> np.ndarray:
    """Letters of a matrix of dots, as of a line printer or an old display."""
    said = _said(rng, SCRIPTS["capitals"] + SCRIPTS["digits"], 12)
    face = ImageFont.load_default_imagefont()
    left, top, right, bottom = (int(side) for side in face.getbbox(said))
    image = Image.new("1", (right - left, bottom - top))
    ImageDraw.Draw(image).text((-left, -top), said, 1, font=face)
    dots = np.asarray(image)
    step = max(BOX // 7, 4)
    made = np.zeros((dots.shape[0] * step, dots.shape[1] * step), np.float32)
    size = float(rng.uniform(0.3, 0.75)) * step
    for row, column in np.argwhere(dots):
        centre = (int((column + 0.5) * step), int((row + 0.5) * step))
        cv2.circle(made, centre, max(round(size), 1), 1.0, -1)
    return made


def _scribbled(rng: np.random.Generator, *, joined: bool) -> np.ndarray:
    """Strokes of no script: in a cell each, as dense scripts have them, or joined as by a pen."""
    cells = int(rng.integers(1, 12))
    made = np.zeros((BOX + 40, cells * BOX + 40), np.float32)
    pen = int(rng.integers(4, 13))
    for points in _pen(rng, cells) if joined else _cells(rng, cells):
        cv2.polylines(made, [np.round(points + 20).astype(np.int32)], False, 1.0, pen)
    return made


def _cells(rng: np.random.Generator, cells: int) -> Iterator[np.ndarray]:
    ways = np.array([[1, 0], [0, 1], [0.7, 0.7], [-0.6, 0.8]])
    density = int(rng.integers(3, 10))
    for cell in range(cells):
        for _ in range(density):
            way = ways[int(rng.choice(4, p=[0.35, 0.35, 0.15, 0.15]))] * rng.uniform(0.2, 0.9) * BOX
            start = rng.uniform(0, 1, 2) * (BOX * 0.9 - np.abs(way)).clip(1)
            start = start + np.maximum(-way, 0) + np.array([cell * BOX, 0])
            yield np.array([start, start + way])


def _pen(rng: np.random.Generator, cells: int) -> Iterator[np.ndarray]:
    at = np.linspace(0, 1, 24 * cells)
    loops = rng.uniform(1.0, 2.2) * cells * 2 * np.pi * at
    high = np.repeat(rng.uniform(0.25, 1.0, cells), 24)
    x = at * cells * BOX * 0.9 + 0.28 * BOX * np.cos(loops + rng.uniform(0, 6))
    y = BOX / 2 + BOX / 2 * high * np.sin(loops)
    yield np.column_stack([x.clip(0), y])
