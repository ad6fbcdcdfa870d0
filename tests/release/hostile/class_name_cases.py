"""Names of classes that nobody sees, or that are numbers by another script; text that is drawn."""

from functools import partial
from pathlib import Path

import numpy as np
from corpus import Case, each, labelled
from label_cases import IMAGE, LUNG, coco
from PIL import Image, ImageDraw, ImageFont
from release_specimens import Gray, pillow, scene
from skimage.measure import find_contours

from anonymize.release.burned_in import reader
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.labels import rle

FILES = {"a.png": pillow(scene(), "PNG")}
WHO = b"DOE^JANE 4711081"


def selectors(letters):
    """Bytes as variation selectors: nothing is drawn of them."""
    return "".join(chr(0xFE00 + b if b < 16 else 0xE00F0 + b) for b in letters)


NAMES = {
    "variation selectors": "lung" + selectors(WHO),
    "selectors of Mongolian": "lung\u180b\u180c\u180d\u180b",
    "joiners of graphemes": "lung\u034f\u034f",
    "vowels that are not drawn": "lung\u17b4\u17b5",
    "fillers of Hangul": "\u3164lung\u115f\u1160",
    "a narrow filler": "lung\uffa0",
    "tags": "lung\U000e0044\U000e004f\U000e0045",
    "spaces of no width": "lung\u200b\u200c\u200d",
    "a soft hyphen": "lu\u00adng",
    "blanks of Braille": "lung\u2800\u2800",
    "digits in circles": "\u2463\u2466\u2460\u2460\u24ea\u2467\u2460",
    "raised digits": "lung\u2074\u2077\u00b9\u00b9\u2070\u2078\u00b9",
    "digits in brackets": "\u2477\u247a\u2474\u2474\u247b\u2474",
    "wide digits": "\uff14\uff17\uff11\uff11\uff10\uff18\uff11",
    "digits of mathematics": "\U0001d7d2\U0001d7d5\U0001d7cf\U0001d7cf\U0001d7ce\U0001d7d6",
    "Arabic digits": "\u0664\u0667\u0661\u0661\u0660\u0668\u0661",
    "Chinese numbers": "\u56db\u4e03\u4e00\u4e00\u96f6\u516b\u4e00",
    "fractions": "\u00bd\u00be\u2153\u2154",
    "a decimal number": "4711.081",
    "a date as a decimal number": "-1970.0302",
    "a fraction of seven digits": "0.4711081",
}  # fmt: skip
PLACES = {
    "a category": lambda name: {"k.json": coco({}, categories=[{"id": 1, "name": name}])},
    "a keypoint": lambda name: {
        "k.json": coco({"keypoints": [9, 9, 2]}, categories=[{**LUNG, "keypoints": [name]}])
    },
    "a cell": lambda name: {"t.csv": f"path,x,y,label\na.png,1,2,{name}\n".encode()},
}


def released(folder, *, labels, columns=()):
    """What is said where a release holds labels that should have been refused."""
    outcome = labelled(folder, FILES, labels, model=Gray(), columns=columns)
    return None if outcome is None else "released"


def kept(folder, *, header):
    """A column that was asked for, under a name that is none of a class."""
    table = f"path,x,y,{header}\na.png,1,2,x\n".encode()
    return released(folder, labels={"t.csv": table}, columns=(header,))


HEADERS = ("Jane^Doe", "born 19700302", "x" + selectors(WHO), "=HYPERLINK(1)", "\u2463\u2466" * 3)


# Text that is drawn by labels of one file

SIZE = (200, 320)


def letters():
    """A name and a number, bool (H, W)."""
    image = Image.new("L", SIZE[::-1])
    font = ImageFont.load_default(40)
    ImageDraw.Draw(image).text((20, 50), "DOE JANE\n4711081", fill=255, font=font)
    return np.asarray(image) > 128


def as_runs(box=False):
    frame = [{"bbox": [5, 5, 300, 180]}] * box
    return [*frame, {"segmentation": rle.encode(letters(), as_string=True)}]


def as_polygons():
    rings = find_contours(letters().astype(float), 0.5)
    return [{"segmentation": [(r[:, ::-1] + 0.5).round(1).ravel().tolist()]} for r in rings]


def in_pieces():
    """Each letter's part in runs of its own."""
    parts = np.array_split(np.arange(SIZE[1]), 5)
    pieces = [letters() * np.isin(np.arange(SIZE[1]), part) for part in parts]
    return [{"segmentation": rle.encode(piece, as_string=False)} for piece in pieces]


def drawn(folder: Path, *, annotations):
    """Text that is looked for is found in labels of any kind, not in pictures of masks alone."""
    if not reader.available():
        return None
    image = {**IMAGE, "width": SIZE[1], "height": SIZE[0]}
    labels = {"k.json": coco(*annotations(), images=[image])}
    picture = {"a.png": pillow(scene(size=SIZE), "PNG")}
    outcome = labelled(folder, picture, labels, model=Gray(), text=TextOptions("remove"))
    return None if outcome is None or "a.png" in outcome.reasons else "released"


DRAWN = {
    "in run lengths": as_runs,
    "in run lengths, framed": partial(as_runs, box=True),
    "as outlines": as_polygons,
    "in run lengths, in pieces": in_pieces,
}
SPELLED = {
    f"{name}, {place}": make(text) for name, text in NAMES.items() for place, make in PLACES.items()
}
CASES = [
    *each("class that nobody reads", released, SPELLED, "labels"),
    *each("class that nobody reads", kept, {f"header {h!a}": h for h in HEADERS}, "header"),
    *(
        Case("text drawn by labels", name, partial(drawn, annotations=make), fast=False)
        for name, make in DRAWN.items()
    ),
]
