"""What a release does about burned-in text, and what it may say of it afterwards."""

import cv2
import numpy as np

from anonymize.errors import counted
from anonymize.release.burned_in import along, codes, find, reader, remove, views
from anonymize.release.burned_in.options import TextOptions, TextReport
from anonymize.release.dicom.view import MOST_TABLES
from anonymize.release.radiograph import Radiograph
from anonymize.release.reasons import Reason, Refused

ROUNDS = 4  # of removal: what lies under or beside a line may be seen once the line is gone
SHEET = 800  # pixels of the longer side of a picture on a sheet
CAPTION = 32  # pixels that the line below them is high


def clean(radiograph: Radiograph, options: TextOptions) -> tuple[Radiograph, TextReport]:
    """``radiograph`` without its text. Raises Refused: there is text, and ``options`` do not ask
    for its removal; or more ways to show the picture than anybody looks at."""
    if len(radiograph.tables) > MOST_TABLES:
        raise Refused(Reason.UNSUPPORTED_PIXELS, "more windows and tables than are looked at")
    seen = views.views(radiograph)
    text, markers = _found(radiograph, seen, options)
    if text and options.mode == "detect":
        raise Refused(Reason.BURNED_IN_TEXT, f"{_lines(text)} detected")
    where, made = np.zeros(radiograph.pixels.shape[:2], bool), radiograph
    for _ in range(ROUNDS):
        if not text:
            break
        stored = views.colours(made)
        lines = [line for line in find.apart(text) if not line.is_side_marker]
        whole = [along.whole(line, stored) for line in lines]
        on_text, markers = find.divided(markers, whole)
        where |= remove.region([*text, *whole, *on_text], made.pixels, markers)
        kept = remove.region(markers, made.pixels)
        made = radiograph.with_pixels(remove.fill(radiograph, where, options.fill, kept))
        text = along.beside(whole, views.colours(made), where | kept)
    if text:
        raise Refused(Reason.BURNED_IN_TEXT, f"{_lines(text)} may be left")
    if codes.shown(made, seen if made is radiograph else views.views(made)):
        raise Refused(Reason.BURNED_IN_TEXT, "a bar code, or other print, may be left")
    # Several views may show the same marker.
    boxes, stayed = (_boxes(mask) for mask in (where, remove.region(markers, made.pixels)))
    filled = float(where.mean())
    return made, TextReport(len(boxes), len(stayed), options.fill, reader.name(), boxes, filled)


def look_again(radiograph: Radiograph, options: TextOptions) -> None:
    """Raises Refused where ``radiograph``, an output, may still show text."""
    text, _ = _found(radiograph, views.views(radiograph), options)
    if text:
        raise Refused(Reason.BURNED_IN_TEXT, f"{_lines(text)} may be left")


def _boxes(where: np.ndarray) -> tuple[tuple[int, int, int, int], ...]:
    """x, y, width and height of each region of a mask."""
    mask = where.astype(np.uint8)
    left, top, wide, high = cv2.boundingRect(mask)
    part = mask[top : top + high, left : left + wide]
    if not part.size:
        return ()
    found = cv2.connectedComponentsWithStats(part, connectivity=4)[2][1:, :4]
    return tuple((left + x, top + y, width, height) for x, y, width, height in found.tolist())


def _lines(text: list[find.Line]) -> str:
    return f"{counted(len(find.apart(text)), 'line')} of text"


def sheet(before: Radiograph, after: Radiograph, report: TextReport) -> bytes:
    """A PNG of both, beside each other: as a viewer shows them, below it by local contrast; under
    them, how much was filled."""
    pair = [np.round(one.gray() * 255).astype(np.uint8) for one in (before, after)]
    scale = SHEET / max(pair[0].shape)
    how = cv2.INTER_AREA
    shown = [cv2.resize(one, None, fx=scale, fy=scale, interpolation=how) for one in pair]
    below = [views.local_contrast(one) for one in shown]
    rows = [np.hstack(shown), np.hstack(below)]
    caption = np.zeros((CAPTION, rows[0].shape[1]), np.uint8)
    said = f"{report.filled:.1%} of the picture filled, in {counted(report.regions, 'region')}"
    cv2.putText(caption, said, (8, CAPTION - 10), cv2.FONT_HERSHEY_SIMPLEX, 0.6, 255)
    return cv2.imencode(".png", np.vstack([*rows, caption]))[1].tobytes()


def _found(
    radiograph: Radiograph, pictures: list[views.View], options: TextOptions
) -> tuple[list[find.Line], list[find.Line]]:
    fine = views.fine(radiograph)
    text, markers = find.find(pictures, radiograph.pixels.shape[:2], fine)
    return (text, markers) if options.side_markers else (text + markers, [])
