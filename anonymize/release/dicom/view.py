"""What a viewer shows: stored values through rescale, window or table to brightness.

PS3.3 C.11.1 (modality) and C.11.2 (values of interest). For the network only: what is warped and
written is the stored values.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from pydicom.dataset import Dataset

from anonymize.release.dicom.elements import DicomError
from anonymize.release.dicom.header import Header
from anonymize.release.dicom.pixels import Layout
from anonymize.release.reasons import Reason, Refused

PERCENTILES = (0.5, 99.5)
MOST_TABLES = 32  # no device names so many; text could hide in one of thousands
LEAST_SHOWN = 0.5  # bits a pixel; a radiograph shows 4 and more
LEVELS = 1024  # of brightness that a table may tell apart


def brightness(header: Header, layout: Layout, histogram: np.ndarray) -> np.ndarray:
    """Brightness in [0, 1], float32 (2**bits,), of each stored value (raised to be unsigned).

    The first table or window counts, as viewers choose it; without one, or with one that hides the
    picture, the values between its percentiles 0.5 and 99.5 are spread. MONOCHROME1 is not inverted
    here.

    Args:
        histogram: number of pixels (2**bits,) of each value that are picture, not padding.

    Raises:
        Refused: a table or window that is none.
    """
    values = np.arange(1 << layout.bits, dtype=np.float64) - layout.offset
    try:
        values = _modality(header, values, signed=layout.signed)
        shown = next(_of_interest(header, values, signed=layout.signed), None)
    except DicomError:
        raise Refused(
            Reason.UNSUPPORTED_PIXELS, "a window or lookup table (Modality or VOI LUT) is malformed"
        ) from None
    if shown is None or _entropy(shown, histogram) < LEAST_SHOWN:
        order = np.argsort(values, kind="stable")
        share = np.cumsum(histogram[order]) / max(histogram.sum(), 1)
        low, high = (values[order][np.searchsorted(share, p / 100)] for p in PERCENTILES)
        shown = (values - low) / max(high - low, 1e-9)
    return np.clip(shown, 0, 1).astype(np.float32)


def tables(header: Header, layout: Layout, present: np.ndarray) -> tuple[np.ndarray, ...]:
    """All that the file's tables and windows show, and the modality's values over their range.

    uint8 (2**bits,) each, different ones of the values that are ``present`` (2**bits,); at most
    ``MOST_TABLES`` and one. Padding is shown as any value. Those that are none show nothing.
    """
    values = np.arange(1 << layout.bits, dtype=np.float64) - layout.offset
    kept: list[np.ndarray] = []
    with suppress(DicomError):
        scaled = _modality(header, values, signed=layout.signed)
        low, high = scaled[present].min(), scaled[present].max()
        whole = (scaled - low) / max(high - low, 1e-9)
        for shown in (whole, *_of_interest(header, scaled, signed=layout.signed, strict=False)):
            table = np.round(np.clip(shown, 0, 1) * 255).astype(np.uint8)
            if not any((table[present] == other[present]).all() for other in kept):
                kept.append(table)
            if len(kept) > MOST_TABLES:
                break
    return tuple(kept)


def _entropy(shown: np.ndarray, histogram: np.ndarray) -> float:
    """Bits a pixel of what is shown in 32 grays: near 0 where a window hides the picture."""
    grays = np.round(np.clip(shown, 0, 1) * 31).astype(np.int64)
    share = np.bincount(grays, weights=histogram, minlength=32) / max(histogram.sum(), 1)
    return float(-(share * np.log2(np.maximum(share, 1e-12))).sum())


def _modality(header: Header, values: np.ndarray, *, signed: bool) -> np.ndarray:
    if tables := header.items_of("ModalityLUTSequence"):
        return _looked_up(tables[0], values, signed=signed)[0]
    where = next(_frames(header, "PixelValueTransformationSequence", "RescaleSlope"))
    slope, intercept = where.number("RescaleSlope", 1), where.number("RescaleIntercept", 0)
    if not np.isfinite([slope, intercept]).all() or slope == 0:
        raise DicomError("a rescale slope of zero")
    return values * slope + intercept


def _of_interest(
    header: Header, values: np.ndarray, *, signed: bool, strict: bool = True
) -> Iterator[np.ndarray]:
    """What each table, then each window shows of ``values``, the one that viewers choose first.
    Raises DicomError: one that is none, where ``strict``; else it is left out."""
    for where in _frames(header, "FrameVOILUTSequence", "VOILUTSequence"):
        for table in where.items_of("VOILUTSequence"):
            with suppress(*() if strict else (DicomError,)):
                found, top = _looked_up(table, values, signed=signed)
                yield found / top
    for where in _frames(header, "FrameVOILUTSequence", "WindowCenter"):
        kind = where.text("VOILUTFunction") or "LINEAR"
        pairs = zip(where.values("WindowCenter"), where.values("WindowWidth"), strict=False)
        for pair in pairs:
            with suppress(*() if strict else (DicomError,)):
                yield _windowed(values, pair, kind)


def _windowed(values: np.ndarray, pair: tuple[str, str], kind: str) -> np.ndarray:
    """What a window (centre, width) shows (PS3.3 C.11.2.1.2)."""
    try:
        centre, width = (float(value or 0) for value in pair)
    except ValueError:
        raise DicomError("a number expected") from None
    least = 1 if kind == "LINEAR" else 0
    if not np.isfinite([centre, width]).all() or width < least or (width == 0 and not least):
        raise DicomError("a window without width")
    if kind == "SIGMOID":
        return 1 / (1 + np.exp(np.clip(-4 * (values - centre) / width, -500, 500)))
    if kind == "LINEAR_EXACT":
        return (values - centre) / width + 0.5
    if width == 1:
        return (values > centre - 0.5).astype(np.float64)
    return (values - (centre - 0.5)) / (width - 1) + 0.5


def _frames(header: Header, group: str, attribute: str) -> Iterator[Header]:
    """The root, and all items of the frame's and the shared functional group, with an attribute.

    The root comes last where none has it.
    """
    if attribute in header:
        yield header
    for sequence in ("PerFrameFunctionalGroupsSequence", "SharedFunctionalGroupsSequence"):
        for groups in header.items_of(sequence):
            yield from (found for found in groups.items_of(group) if attribute in found)
    if attribute not in header:
        yield header


def check_table(table: Header) -> None:
    """Raises DicomError unless an item is a lookup table as :func:`plain_table` leaves it."""
    _, entries, _ = _table(table, signed=False)
    if (entries != plain_table(table)).any():
        raise DicomError("a table finer than any display")
    data = table.find("LUTData")
    assert data is not None  # it has entries
    if any(bytes(data.value)[entries.nbytes :]):
        raise DicomError("a table with more than its entries")


def plain_table(table: Header) -> np.ndarray:
    """The entries of a table in 1,024 levels, more than a display has: whoever chooses the bits
    below could write with them. Raises DicomError: as ``_table``."""
    _, entries, top = _table(table, signed=False)
    levels = min(top, LEVELS - 1)
    return np.round(np.round(entries * (levels / top)) * (top / levels)).astype(entries.dtype)


def _looked_up(table: Header, values: np.ndarray, *, signed: bool) -> tuple[np.ndarray, float]:
    """Entries of a LUT for ``values``, and the largest that its depth allows."""
    first, entries, top = _table(table, signed=signed)
    place = np.clip(np.round(values) - first, 0, len(entries) - 1).astype(np.int64)
    return entries[place].astype(np.float64), top


def _table(table: Header, *, signed: bool) -> tuple[int, np.ndarray, float]:
    """The value that the first entry is for, the entries, and the largest that they could be.
    Raises DicomError: a table whose descriptor and data do not fit, or that is not monotonic: it
    shows no picture, and its thousands of free numbers could say anything."""
    descriptor = table.values("LUTDescriptor", signed=signed)
    data = table.find("LUTData")
    if len(descriptor) != 3 or data is None or not 8 <= descriptor[2] <= 16:
        raise DicomError("a table without descriptor")
    count = (descriptor[0] % (1 << 16)) or 1 << 16
    raw = bytes(data.value)
    if descriptor[2] == 8 and len(raw) == count + count % 2:
        entries = np.frombuffer(raw, np.uint8)[:count]
    elif len(raw) == 2 * count:
        entries = np.frombuffer(raw, table.order + "u2")
    else:
        raise DicomError("a table of another length than its descriptor says")
    steps = np.diff(entries.astype(np.int64))
    top = float((1 << descriptor[2]) - 1)
    if (steps.min(initial=0) < 0 < steps.max(initial=0)) or entries.max() > top:
        raise DicomError("a table without order")
    return descriptor[1], entries, top


def spacing(released: Dataset) -> tuple[float, float] | None:
    """mm a pixel (row, column), as a released header says it: PixelSpacing, else at the detector or
    of the scanned film. Of one that may not stay, figures in mm would tell it."""
    frames = "PerFrameFunctionalGroupsSequence", "SharedFunctionalGroupsSequence"
    groups = (group for keyword in frames for group in released.get(keyword, ()))
    measures = (found for group in groups for found in group.get("PixelMeasuresSequence", ()))
    places = [(released, "PixelSpacing"), *((found, "PixelSpacing") for found in measures)]
    places += [
        (released, keyword) for keyword in ("ImagerPixelSpacing", "NominalScannedPixelSpacing")
    ]
    for where, keyword in places:
        found = [float(value) for value in where.get(keyword) or ()]
        if len(found) == 2 and all(0 < value < 100 for value in found):
            return found[0], found[1]
    return None


def padding(header: Header, layout: Layout) -> tuple[int, int] | None:
    """Lowest and highest value (raised to be unsigned) that is no picture (PS3.3 C.7.5.1.1.2)."""
    values = header.values("PixelPaddingValue", signed=layout.signed)
    if not values:
        return None
    limit = header.values("PixelPaddingRangeLimit", signed=layout.signed) or values
    if layout.signed and values[0] >= 1 << 15:  # written as US
        values, limit = [values[0] - (1 << 16)], [(limit[0] + (1 << 15)) % (1 << 16) - (1 << 15)]
    low, high = sorted((int(values[0]) + layout.offset, int(limit[0]) + layout.offset))
    return low, high
