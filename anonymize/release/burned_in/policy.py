"""What a release does about burned-in text, and what it may say of it afterwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import label

from anonymize.release.burned_in import along, find, reader, remove, views
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.dicom.view import MOST_TABLES
from anonymize.release.radiograph import Radiograph
from anonymize.release.reasons import Reason, Refused

ROUNDS = 4  # of removal: what lies under or beside a line may be seen once the line is gone
SHEET = 800  # pixels of the longer side of a picture on a sheet


@dataclass(frozen=True)
class TextReport:
    """What was done to one picture; no text, no place.

    ``regions`` were filled, ``side_markers`` stayed. None was made where nobody looked.
    """

    regions: int
    side_markers: int
    fill: str
    engine: str

    @property
    def method(self) -> str:
        """A value of (0012,0063) De-identification Method, at most 64 characters."""
        done = f"{self.regions} regions {self.fill}ed" if self.fill == "inpaint" else ""
        done = done or f"{self.regions} regions blackened"
        return f"Burned-in text: {done if self.regions else 'none found'} ({self.engine})"[:64]


def clean(radiograph: Radiograph, options: TextOptions) -> tuple[Radiograph, TextReport]:
    """``radiograph`` without its text.

    Raises:
        Refused: there is text, and ``options`` do not ask for its removal; or more ways to show
            the picture than anybody looks at.
    """
    if len(radiograph.tables) > MOST_TABLES:
        raise Refused(Reason.UNSUPPORTED_PIXELS, "more windows and tables than are looked at")
    black = (0, 0, 0, radiograph.top) if radiograph.layout == "cmyk" else 0
    text, markers = _found(radiograph, options)
    if text and options.mode == "detect":
        raise Refused(Reason.BURNED_IN_TEXT, f"{_lines(text)} detected")
    where, made = np.zeros(radiograph.pixels.shape[:2], bool), radiograph
    for _ in range(ROUNDS):
        if not text:
            break
        seen = views.colours(made)
        lines = [line for line in find.apart(text) if not line.is_side_marker]
        whole = [along.whole(line, seen) for line in lines]
        on_text, markers = find.divided(markers, whole)
        where |= remove.region([*text, *whole, *on_text], made.pixels, markers)
        made = radiograph.with_pixels(remove.fill(radiograph, where, options.fill, black=black))
        kept = remove.region(markers, made.pixels)
        text = along.beside(whole, views.colours(made), where | kept)
    if text:
        raise Refused(Reason.BURNED_IN_TEXT, f"{_lines(text)} may be left")
    return made, TextReport(label(where)[1], _count(markers, made), options.fill, reader.name())


def look_again(radiograph: Radiograph, options: TextOptions) -> None:
    """Raises Refused where ``radiograph``, an output, may still show text."""
    text, _ = _found(radiograph, options)
    if text:
        raise Refused(Reason.BURNED_IN_TEXT, f"{_lines(text)} may be left")


def _count(lines: list[find.Line], radiograph: Radiograph) -> int:
    """Places that ``lines`` take; several views may show the same."""
    return int(label(remove.region(lines, radiograph.pixels))[1])


def _lines(text: list[find.Line]) -> str:
    count = len(find.apart(text))
    return f"{count} line{'s' * (count != 1)} of text"


def sheet(before: Radiograph, after: Radiograph) -> bytes:
    """A PNG of both, beside each other: as a viewer shows them, below it by local contrast."""
    import cv2

    rows = []
    for look in (_shown, lambda one: views.local_contrast(one.gray() * 255)):
        pair = [look(one) for one in (before, after)]
        rows.append(np.hstack([_small(picture) for picture in pair]))
    return cv2.imencode(".png", np.vstack(rows))[1].tobytes()


def _shown(radiograph: Radiograph) -> np.ndarray:
    return np.round(radiograph.gray() * 255).astype(np.uint8)


def _small(picture: np.ndarray) -> np.ndarray:
    import cv2

    scale = SHEET / max(picture.shape)
    return cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)


def _found(radiograph: Radiograph, options: TextOptions) -> tuple[list[find.Line], list[find.Line]]:
    text, markers = find.find(views.views(radiograph), radiograph.pixels.shape[:2])
    return (text, markers) if options.side_markers else (text + markers, [])
