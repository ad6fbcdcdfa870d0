"""One file of released labels, looked at by a worker without its input, a key or a model."""

from __future__ import annotations

import csv
import io
import zlib
from dataclasses import replace
from functools import partial
from typing import Any

from anonymize.csv_cells import is_formula
from anonymize.errors import DataError, UsageError
from anonymize.release.checking import canonical
from anonymize.release.labels import coco, masks, table
from anonymize.release.labels.coco import Coco
from anonymize.release.labels.placed import rounded
from anonymize.release.labels.table import Table
from anonymize.release.metadata import written
from anonymize.release.reasons import Reason, Refused


def label(kind: str, name: str, data: bytes, images: frozenset[str]) -> None:
    """Raises Refused unless ``data`` is a file of labels that a release may hold.

    Args:
        kind: "mask", "coco", "table" or "metadata".
        images: paths of the released images and masks that labels may name.
    """
    try:
        if kind == "metadata":
            written.check(data, images)
        else:
            {"mask": _mask, "coco": _coco, "table": _table}[kind](name, data, images)
    except (DataError, UsageError, LookupError, ValueError, RecursionError, zlib.error) as error:
        raise Refused(Reason.VERIFICATION, type(error).__name__) from None


def _mask(name: str, data: bytes, images: frozenset[str]) -> None:
    mask = masks.decode(name, data)
    if mask.suffix == ".nii":
        streams = []
    elif mask.suffix == ".png":
        streams = canonical.png_streams(data)
    else:
        data, streams = canonical.unzipped(data), []
        mask = replace(mask, suffix=".nii")
    canonical.same(data, streams, [partial(masks.encode, mask)])


def _coco(name: str, data: bytes, images: frozenset[str]) -> None:
    source = coco.parse(data, 1)
    entries = []
    for key, path in source.references():
        part = source.labels_of([key])
        for annotation in part["annotations"]:
            if "keypoints" in annotation:
                annotation["num_keypoints"] = sum(v > 0 for v in annotation["keypoints"][2::3])
        entries.append((path, part))
    used = {a.get("category_id") for _, part in entries for a in part["annotations"]}
    if not used.issuperset(c["id"] for c in source.categories):
        raise Refused(Reason.VERIFICATION, "a category without annotation")
    _check_written(source, entries, data, images)


def _table(name: str, data: bytes, images: frozenset[str]) -> None:
    header = next(csv.reader(io.StringIO(data.decode(), newline=""), strict=True), [])
    source = table.parse(data, 1, tuple(header))
    entries = [(path, source.labels_of([key])) for key, path in source.references()]
    masks_named = {path for _, part in entries for path in source.mask_paths(part)}
    texts = [*header, *(cell for _, part in entries for cell in part["rows"][0]["classes"])]
    if not images.issuperset(masks_named) or any(map(is_formula, texts)):
        raise Refused(Reason.VERIFICATION, "a mask that is not released, or a formula")
    _check_written(source, entries, data, images)


def _check_written(
    source: Coco | Table, entries: list[tuple[str, dict]], data: bytes, images: frozenset[str]
) -> None:
    """Raises Refused unless ``data`` is what is written of ``entries``, labels of released images
    with their numbers rounded."""
    if not images.issuperset(path for path, _ in entries):
        raise Refused(Reason.VERIFICATION, "labels of an image that is not released")
    if source.assembled(_rounded(entries), renumber=False) != data:
        raise Refused(Reason.VERIFICATION, "labels that are not as they are written")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(below) for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(below) for below in value]
    return rounded(value) if isinstance(value, float) else value
