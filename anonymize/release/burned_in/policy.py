"""What a release does about burned-in text, and what it may say of it afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import label

from anonymize.release.burned_in import find, reader, remove
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.radiograph import Radiograph
from anonymize.release.reasons import Reason, Refused

ROUNDS = 2  # what lay under or beside a line may be read once the line is gone


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


def clean_pixels(
    picture: np.ndarray,
    pixels: np.ndarray,
    options: TextOptions,
    *,
    black: Sequence[int] | int = 0,
) -> tuple[np.ndarray, TextReport]:
    """``pixels`` (H, W, C) without the text that ``picture`` (H, W) or (H, W, 3) shows.

    ``picture`` is what a person sees of the pixels, of any scale.

    Raises:
        Refused: there is text, and ``options`` do not ask for its removal.
    """
    regions, stay, where = 0, 0, None
    for turn in range(ROUNDS):
        text, markers = _found(picture, options, where)
        stay = len(markers) if turn == 0 else stay
        if not text:
            break
        if options.mode == "detect":
            raise Refused(Reason.BURNED_IN_TEXT, f"lines of text: {len(text)}")
        where = remove.region(text, pixels.shape[:2])
        regions += label(where)[1]
        pixels = remove.fill(pixels, where, options.fill, black=black)
        if turn + 1 < ROUNDS:
            picture = _filled_view(picture, where)
    return pixels, TextReport(regions, stay, options.fill, reader.name())


def look_again(picture: np.ndarray, options: TextOptions) -> None:
    """Raises Refused where ``picture``, an output, still shows text."""
    text, _ = _found(picture, options)
    if text:
        raise Refused(Reason.BURNED_IN_TEXT, f"{len(text)} lines are left")


def clean(radiograph: Radiograph, options: TextOptions) -> tuple[Radiograph, TextReport]:
    """``radiograph`` without its text.

    Raises:
        Refused: there is text, and ``options`` do not ask for its removal.
    """
    black = (0, 0, 0, radiograph.top) if radiograph.layout == "cmyk" else 0
    pixels, report = clean_pixels(seen(radiograph), radiograph.pixels, options, black=black)
    return radiograph.with_pixels(np.ascontiguousarray(pixels)), report


def seen(radiograph: Radiograph) -> np.ndarray:
    """What a person sees: (H, W), or (H, W, 3) where there are colours."""
    colours = radiograph.pixels.shape[2] == 3 and not radiograph.gray_as_colour
    return radiograph.pixels if colours else radiograph.gray()


def _found(
    picture: np.ndarray, options: TextOptions, near: np.ndarray | None = None
) -> tuple[list[find.Line], list[find.Line]]:
    text, markers = find.find(picture, near)
    return (text, markers) if options.side_markers else (text + markers, [])


def _filled_view(picture: np.ndarray, where: np.ndarray) -> np.ndarray:
    planes = picture if picture.ndim == 3 else picture[..., None]
    if planes.dtype.kind == "f":
        top = max(float(planes.max()), 1e-6)
        planes = np.round(planes / top * 65535).astype(np.uint16)
    filled = remove.fill(planes, where, "inpaint")
    return filled if picture.ndim == 3 else filled[..., 0]
