"""What a release does about burned-in text, and what it may say of it afterwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import label

from anonymize.release.burned_in import find, reader, remove, views
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.dicom.view import MOST_TABLES
from anonymize.release.radiograph import Radiograph
from anonymize.release.reasons import Reason, Refused

ROUNDS = 2  # what lay under or beside a line may be read once the line is gone
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
    where = np.zeros(radiograph.pixels.shape[:2], bool)
    near, regions, stay, made = None, 0, 0, radiograph
    for turn in range(ROUNDS):
        text, markers = _found(made, options, near)
        stay = label(remove.region(markers, made.pixels))[1] if turn == 0 and markers else stay
        if not text:
            break
        if options.mode == "detect":
            raise Refused(Reason.BURNED_IN_TEXT, f"lines of text: {len(text)}")
        near = remove.region(text, made.pixels, markers)
        where |= near
        regions += label(near)[1]
        made = radiograph.with_pixels(remove.fill(radiograph, where, options.fill, black=black))
    return made, TextReport(regions, stay, options.fill, reader.name())


def look_again(radiograph: Radiograph, options: TextOptions) -> None:
    """Raises Refused where ``radiograph``, an output, still shows text."""
    text, _ = _found(radiograph, options)
    if text:
        raise Refused(Reason.BURNED_IN_TEXT, f"{len(text)} lines are left")


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


def _found(
    radiograph: Radiograph, options: TextOptions, near: np.ndarray | None = None
) -> tuple[list[find.Line], list[find.Line]]:
    seen = views.views(radiograph)
    text, markers = find.find(seen, radiograph.pixels.shape[:2], near)
    return (text, markers) if options.side_markers else (text + markers, [])
