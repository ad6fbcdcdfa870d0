"""Made-up names, dates and numbers drawn on phantoms, and where exactly their strokes are."""

from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from anonymize.data.phantom import draw
from anonymize.release.radiograph import Radiograph

FONTS = {
    "sans": "DejaVuSans.ttf",
    "sans bold": "DejaVuSans-Bold.ttf",
    "mono": "DejaVuSansMono.ttf",
    "serif": "DejaVuSerif.ttf",
    "italic": "DejaVuSerif-Italic.ttf",
    "times": "STIXGeneral.ttf",
    "typewriter": "cmtt10.ttf",
}
KINDS = {
    "name": (
        "DOE^JANE",
        "Müller, Hans",
        "SMITH JOHN A",
        "Nguyen Thi Lan",
        "GARCÍA LÓPEZ M",
        "Li Wei",
    ),
    "date": ("12/03/1957", "1957-03-12", "12.03.57", "03 MAR 2019", "20190312", "08:15:42"),
    "number": ("ID 4711-0815", "MRN:00347812", "A0012345678", "#99182", "7731 552 019", "PAT0042"),
    "place": (
        "St. Mary Hospital",
        "UKER Radiologie",
        "ICU BED 12",
        "WARD 7B",
        "Dr. A. Brown",
        "CHEST AP",
    ),
}
HEIGHTS = (8, 11, 16, 28, 56)  # of capital letters, pixels of 1024
TONES = ("white", "bright", "faint", "black", "outlined", "white on black", "black on white")
ANGLES = (0, 0, 0, 0, 90, 180, 270, 12, 45)
PLACES = ("corner", "edge", "lung", "spine")
SIZE = 1024


def gray(pixels, **more):
    """A radiograph of gray pixels (H, W), or of colours (H, W, 3)."""
    layout = "gray" if pixels.ndim == 2 else "rgb"
    planes = pixels.reshape(*pixels.shape[:2], -1)
    return Radiograph("PNG", layout, 8 * pixels.itemsize, planes, **more)


@dataclass(frozen=True)
class TextSpecimen:
    """``picture`` uint8 (H, W) with text, ``clean`` without; ``strokes`` bool (H, W)."""

    picture: np.ndarray
    clean: np.ndarray
    strokes: np.ndarray
    text: str
    kind: str
    font: str
    height: int
    tone: str
    angle: int
    place: str


def phantoms(count, *, size=SIZE):
    """Radiographs uint8 (size, size) of as many people, each with a side marker of its own."""
    visits = ({"patient_id": f"{k:05}", "follow_up": 0} for k in range(1, count + 1))
    return [np.round(draw(seed=3, size=size, **v) * 255).astype(np.uint8) for v in visits]


def specimens(count, *, seed=0, size=SIZE):
    """``count`` specimens, drawn by ``seed``, heights in pixels of a 1024th of ``size``."""
    rng = np.random.default_rng(seed)
    pictures = phantoms(8, size=size)
    for i in range(count):
        kind = list(KINDS)[i % len(KINDS)]
        yield specimen(
            pictures[i % len(pictures)],
            rng,
            text=str(rng.choice(KINDS[kind])),
            kind=kind,
            font=str(rng.choice(list(FONTS))),
            height=int(rng.choice(HEIGHTS)),
            tone=str(rng.choice(TONES)),
            angle=int(rng.choice(ANGLES)),
            place=str(rng.choice(PLACES)),
        )


def specimen(clean, rng, *, text, kind, font, height, tone, angle, place):
    """One text on one picture."""
    size = clean.shape[0]
    pixels = height * size / SIZE
    drawn = letters(text, font, pixels, angle)
    room = [size - drawn.shape[0] - 2, size - drawn.shape[1] - 2]
    top, left = (
        max(int(at * space), 0) for at, space in zip(_where(place, rng), room, strict=True)
    )
    drawn = drawn[: size - top, : size - left]
    part = (slice(top, top + drawn.shape[0]), slice(left, left + drawn.shape[1]))
    picture = clean.astype(np.float32).copy()
    around, alpha = picture[part], drawn / 255
    level = float(np.median(around))
    if tone in ("white on black", "black on white"):
        around[:] = 0 if tone == "white on black" else 255
    if tone == "outlined":
        wide = np.asarray(Image.fromarray(drawn).filter(ImageFilter.MaxFilter(5))) / 255
        around[:] = around * (1 - wide)
    values = {"white": 255, "outlined": 255, "white on black": 255, "black": 0, "black on white": 0}
    step = {"bright": 70, "faint": 30}.get(tone, 0)
    value = values.get(tone, level + step if level + step <= 255 else level - step)
    around[:] = around * (1 - alpha) + value * alpha
    strokes = np.zeros(clean.shape, bool)
    strokes[part] = alpha > 0.4
    picture = np.round(picture.clip(0, 255)).astype(np.uint8)
    return TextSpecimen(picture, clean, strokes, text, kind, font, height, tone, angle, place)


def letters(text, font, height, angle):
    """uint8 (h, w): how much each pixel is covered."""
    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    face = ImageFont.truetype(folder / FONTS[font], 100)
    capital = face.getbbox("H")[3] - face.getbbox("H")[1]
    face = ImageFont.truetype(folder / FONTS[font], max(round(100 * height / capital), 4))
    left, top, right, bottom = face.getbbox(text)
    border = max(2, round(height / 4))
    image = Image.new("L", (right - left + 2 * border, bottom - top + 2 * border))
    ImageDraw.Draw(image).text((border - left, border - top), text, 255, font=face)
    return np.asarray(image.rotate(angle, Image.Resampling.BICUBIC, expand=True))


def _where(place, rng):
    """(down, right) in [0, 1]."""
    if place == "corner":
        return rng.choice([0.01, 0.99], 2)
    if place == "edge":
        return rng.permutation([float(rng.choice([0.005, 0.995])), float(rng.uniform(0.2, 0.8))])
    if place == "lung":
        return float(rng.uniform(0.25, 0.6)), float(rng.choice([0.2, 0.75]))
    return float(rng.uniform(0.3, 0.9)), 0.5
