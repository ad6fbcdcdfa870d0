"""What may be taken over from a label file besides numbers: short names of classes.

A class name is free text. It is limited to what class names look like: no formula, nothing that
nobody sees, no number of five digits or more, however they are written; that it names no person is
for whoever releases it to see (the private list of labels shows every one).
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby
from pathlib import PurePosixPath

from anonymize.csv_cells import CONTROL, UNSEEN, is_formula
from anonymize.errors import DataError

LONGEST = 64
NUMBER = re.compile(r"[+-]?((?=[\d.]{1,5}$)\d{1,3}\.\d+|\d{1,4}|0?\.\d{1,6})")
SIGNS = frozenset(" _-.,:;/()%&+'|#?!*[]~")
LONG_NUMBER = 5
WORDS = re.compile(
    r"""
    masks? | segs? | segmentations? | labels? | annotations? | gt | roi | class | left | right | l
    | r | upper | middle | lower | lobes? | zones? | lungs? | heart | cardiac | silhouette
    | mediastinum | trachea | clavicles? | ribs? | bones? | spine | vertebrae? | diaphragm | aorta
    | hilum | liver | stomach | tube | catheter | line | device | lesions? | nodules? | mass
    | opacity | opacities | consolidation | pneumothorax | effusion | infiltrate | infection
    | fracture | \d{1,2} | table | coco | bounding | box(?:es)? | bbox(?:es)? | polygons? | points?
    | keypoints? | instances? | findings? | images? | radiographs? | chest | train | val | test
    """,
    re.VERBOSE | re.IGNORECASE,
)


def class_name(value: object, where: str) -> str:
    """``value`` as the name of a class, or a number of up to four digits, or a fraction of six.
    Raises DataError: longer than 64 characters, not printable or not seen, other signs than class
    names have, a long number; the message tells ``where`` only."""
    text = str(value).strip()
    if not NUMBER.fullmatch(text) and (wrong := _wrong(text)):
        raise DataError(
            f"{where}: the name of a class {wrong}; it must have at most {LONGEST} letters, digits "
            f"(no more than four on end) and {''.join(sorted(SIGNS)).strip()}, and begin with no + "
            "or -; change it, or leave the column out"
        )
    return text


def _wrong(text: str) -> str:
    """What keeps a text from being the name of a class, without more of it than one sign."""
    for place, c in enumerate(text, 1):
        known = c.isalnum() or c in SIGNS or unicodedata.category(c) == "Mn"
        if not known or UNSEEN.match(c):
            sign = c if c.isprintable() and not UNSEEN.match(c) else f"U+{ord(c):04X}"
            return f"has {sign} as its character {place}"
    if len(text) > LONGEST:
        return f"has {len(text)} characters"
    if is_formula(text):
        return "begins like a formula"
    # In circles, raised, as fractions or of another script they are digits as well.
    plain = filter(str.isalnum, unicodedata.normalize("NFKC", text))
    runs = (len([*run]) for numeric, run in groupby(plain, str.isnumeric) if numeric)
    return "holds a number of five digits or more" if max(runs, default=0) >= LONG_NUMBER else ""


def without_extension(path: str) -> str:
    """A path without the extension of its last part; ".nii.gz" is one."""
    suffix = ".nii.gz" if path.lower().endswith(".nii.gz") else PurePosixPath(path).suffix
    return path[: len(path) - len(suffix)]


def hides(path: str) -> bool:
    """True where the name of a label file holds a character that nobody sees, or that controls."""
    return UNSEEN.search(path) is not None or CONTROL.search(path) is not None


def is_common(text: str) -> bool:
    """True where every word of ``text`` is one for labels or an organ, or a small number, of which
    there is one at most: three are a day of birth. Nothing hides between them."""
    words = [*filter(None, re.split(r"[^\w]|_", text))]
    numbers = sum(word.isdigit() for word in words)
    return not hides(text) and numbers <= 1 and all(map(WORDS.fullmatch, words))
