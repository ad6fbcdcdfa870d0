"""One file of a finished release, looked at by a worker without its input, a key or a model."""

from __future__ import annotations

import csv
import io
import json
import zlib
from typing import Any

from anonymize.release import formats
from anonymize.release.dicom import scan
from anonymize.release.labels import masks
from anonymize.release.radiograph import MAX_BYTES
from anonymize.release.raster import containers
from anonymize.release.reasons import ContainerError, Reason, Refused
from anonymize.release.reopen import Reopened, ReopenError, reopen

COCO_KEYS = frozenset(
    (
        *("images", "annotations", "categories", "id", "file_name", "width", "height", "image_id"),
        *("category_id", "bbox", "segmentation", "size", "counts", "area", "iscrowd", "keypoints"),
        *("name", "skeleton", "num_keypoints"),
    )
)
COCO_TEXTS = frozenset({"file_name", "counts", "name", "keypoints"})
GZIP = zlib.MAX_WBITS | 16


def image(name: str, data: bytes) -> None:
    """Raises Refused unless ``data`` is an image that a release may hold.

    It must be DICOM, PNG, JPEG or TIFF by its content, hold nothing that its allow-list does not
    name, be read by a second decoder, and show something.
    """
    picture(formats.recognise(name, data), data)


def picture(format: str, data: bytes) -> Reopened:
    """What a second decoder sees in ``data``, a file of ``format`` that a release may hold.

    Raises:
        Refused: anything in it that its allow-list does not name, another decoder fails, or
            nothing is to be seen: a warp may have moved all that there was out of the picture.
    """
    try:
        check(format, data)
        seen = reopen(format, data)
    except (ContainerError, ReopenError) as error:
        raise Refused(Reason.VERIFICATION, str(error)) from None
    if seen.blank:
        raise Refused(Reason.NO_CONTENT)
    return seen


def check(format: str, data: bytes) -> None:
    """Raises ContainerError for anything in ``data`` that its format's allow-list does not name."""
    if format == "DICOM":
        scan.check(data)
    else:
        containers.check(format, data)


def label(kind: str, name: str, data: bytes) -> None:
    """Raises Refused unless ``data`` is a file of labels that a release may hold.

    ``kind``: "mask", "coco" or "table".
    """
    try:
        {"mask": _mask, "coco": _coco, "table": _table}[kind](name, data)
    except (ContainerError, KeyError, ValueError, RecursionError, zlib.error) as error:
        raise Refused(Reason.VERIFICATION, type(error).__name__) from None


def _mask(name: str, data: bytes) -> None:
    mask = masks.decode(name, data)
    if mask.suffix == ".png":
        return containers.check("PNG", data)
    written = masks.encode(mask)
    if mask.suffix == ".nii.gz":
        if data[3:8] != bytes(5):  # no name, no comment, no time
            raise Refused(Reason.VERIFICATION, "more than pixels in the gzip header")
        data, written = _inflated(data), _inflated(written)
    if data != written:
        raise Refused(Reason.VERIFICATION, "more than a mask in the NIfTI file")


def _inflated(data: bytes) -> bytes:
    stream = zlib.decompressobj(GZIP)
    inflated = stream.decompress(data, MAX_BYTES)
    if not stream.eof or stream.unused_data:
        raise Refused(Reason.VERIFICATION, "more than one gzip stream")
    return inflated


def _coco(name: str, data: bytes) -> None:
    content = json.loads(data)
    if not isinstance(content, dict) or not {"images", "annotations"} <= content.keys():
        raise Refused(Reason.VERIFICATION, "no COCO file")
    _check_coco(content, "")


def _check_coco(content: Any, key: str) -> None:
    if isinstance(content, dict):
        if not content.keys() <= COCO_KEYS:
            raise Refused(Reason.VERIFICATION, "a field that COCO labels do not need")
        for below, value in content.items():
            _check_coco(value, below)
    elif isinstance(content, list):
        for value in content:
            _check_coco(value, key)
    elif isinstance(content, str) and key not in COCO_TEXTS:
        raise Refused(Reason.VERIFICATION, "a text where COCO labels have none")


def _table(name: str, data: bytes) -> None:
    rows = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise Refused(Reason.VERIFICATION, "rows of different lengths")
