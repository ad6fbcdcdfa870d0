"""CSV tables of labels: a row a box, polygon or point, or a row a mask file.

The columns that say where and which are recognised by their names; of the others, those that name
the class are kept, and those that the user names. Nothing else is taken over.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, ClassVar

import numpy as np

from anonymize.errors import DataError
from anonymize.release.labels.motion import MAX_SIDE, Motion, same_shape
from anonymize.release.labels.placed import Placed, checked, outline, rounded
from anonymize.release.labels.texts import class_name
from anonymize.release.reasons import Reason, Refused
from anonymize.release.records.csv_bytes import csv_bytes

IMAGE = ("path", "file_name", "filename", "image", "image_path", "image_id", "Image Index")
# The first whose columns are all there.
SHAPES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("corners", ("x_min", "y_min", "x_max", "y_max")),
    ("corners", ("xmin", "ymin", "xmax", "ymax")),
    ("corners", ("x1", "y1", "x2", "y2")),
    ("corners", ("left", "top", "right", "bottom")),
    ("extent", ("x", "y", "width", "height")),
    ("extent", ("x", "y", "w", "h")),
    ("extent", ("bbox_x", "bbox_y", "bbox_width", "bbox_height")),
    ("extent", ("Bbox [x", "y", "w", "h]")),  # NIH's BBox_List_2017.csv
    ("polygon", ("polygon",)),
    ("polygon", ("segmentation",)),
    ("mask", ("mask",)),
    ("mask", ("mask_path",)),
    ("point", ("x", "y")),
)
SIZE = ("image_width", "image_height")
CLASS = (
    *("label", "class", "class_name", "class_id", "category", "category_id"),
    *("finding", "Finding Label"),
)


@dataclass(frozen=True)
class Table:
    """A CSV file as a source of labels, as :class:`coco.Coco` is one: names of its columns, its
    rows as plain values."""

    number: int
    image: str
    shape: str
    columns: tuple[str, ...]
    size: tuple[str, ...]
    classes: list[str]
    rows: list[dict[str, Any]]
    kind: ClassVar[str] = "table"

    def emptied(self) -> Table:
        return replace(self, rows=[])

    def references(self) -> list[tuple[int, str]]:
        """(row, what names its image) of every row."""
        return [(i, row["image"]) for i, row in enumerate(self.rows)]

    def labels_of(self, keys: list[int]) -> dict[str, Any]:
        rows = [self.rows[key] for key in keys]
        return {"kind": self.kind, "shape": self.shape, "rows": rows}

    @staticmethod
    def mask_paths(labels: dict[str, Any]) -> list[str]:
        """Mask files that the rows of one image name, relative to the table."""
        if labels["shape"] != "mask":
            return []
        return list(dict.fromkeys(row["where"][0] for row in labels["rows"] if row["where"][0]))

    @staticmethod
    def item(labels: dict[str, Any]) -> str:
        return "rows " + ", ".join(str(row["row"] + 2) for row in labels["rows"])

    def head(self, labels: dict[str, Any]) -> list[Any]:
        """What of the file goes with the labels of any image: what its columns mean."""
        return [self.shape, len(self.size), *self.classes]

    @staticmethod
    def texts(labels: dict[str, Any]) -> set[str]:
        return {name for row in labels["rows"] for name in row["classes"]}

    def assembled(self, released: list[tuple[str, dict[str, Any]]], *, renumber: bool) -> bytes:
        """The table of the released images, (output path, carried labels), by rows.

        ``renumber``: in the order of the outputs' names, since the old one may tell who it is.
        """
        rows = [(row, output) for output, labels in released for row in labels["rows"]]
        if not renumber:
            rows.sort(key=lambda item: item[0]["row"])
        lines = []
        for row, output in rows:
            where = row["where"] or [""] * len(self.columns)
            if self.shape == "polygon" and row["where"]:
                where = [json.dumps(where)]
            lines.append([output, *where, *row.get("size", ()), *row["classes"]])
        return csv_bytes([self.image, *self.columns, *self.size, *self.classes], lines)


def parse(data: bytes, number: int, keep: tuple[str, ...] = ()) -> Table:
    """The file ``data``, the ``number``-th of the labels; done by a worker.

    ``keep``: further columns that stay as they are.

    Raises DataError: no such columns, or a value that is no number; the message quotes no value."""
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise DataError(f"--labels {number} is no CSV file in UTF-8; save it as one") from None
    place = {name: i for i, name in enumerate(rows[0] if rows else []) if name}
    made = _empty(number, place, keep)
    for i, row in enumerate(rows[1:]):
        if any(row):
            stripped = {name: row[k].strip() if k < len(row) else "" for name, k in place.items()}
            made.rows.append(_row(made, i, stripped))
    return made


def _empty(number: int, names: Collection[str], keep: tuple[str, ...]) -> Table:
    """The table with columns ``names``, without its rows."""
    image = next((name for name in IMAGE if name in names), None)
    found = ((shape, group) for shape, group in SHAPES if all(name in names for name in group))
    shape, columns = next(found, ("", ()))
    if image is None or not shape:
        raise DataError(
            f"--labels {number} needs a column that names the image ({', '.join(IMAGE)}) and "
            "columns of boxes (x, y, width, height or x_min, y_min, x_max, y_max), polygons "
            "(polygon), points (x, y) or mask files (mask)"
        )
    size = SIZE if all(name in names for name in SIZE) else ()
    classes = [name for name in CLASS if name in names]
    classes += [name for name in keep if name in names and name not in classes]
    taken = {image, *columns, *size}
    classes = [name for name in classes if name not in taken]
    for name in classes:  # the header is released as well
        class_name(name, f"--labels {number}, the header of column {list(names).index(name) + 1}")
    return Table(number, image, shape, columns, size, classes, [])


def _row(table: Table, number: int, cells: dict[str, str]) -> dict[str, Any]:
    """A row as plain values."""
    where = f"--labels {table.number}, row {number + 2}"
    content: dict[str, Any] = {
        "row": number,
        "image": cells[table.image],
        "classes": [
            class_name(cells[name], f"{where}, column {list(cells).index(name) + 1}")
            for name in table.classes
        ],
    }
    if not content["image"]:
        raise DataError(f"{where}: the column {table.image} is empty; name the image")
    try:
        content["where"] = _where(table.shape, [cells[name] for name in table.columns])
        if table.size:
            content["size"] = [int(cells[name]) for name in table.size]
            if not 1 <= min(content["size"]) <= max(content["size"]) <= MAX_SIDE:
                raise ValueError
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise DataError(
            f"{where}: {', '.join((*table.columns, *table.size))} must be numbers "
            "(all empty for an image without a label; one ring a polygon); mend the row"
        ) from None
    return content


def _where(shape: str, cells: list[str]) -> list:
    """Numbers, or the path of a mask; nothing for an image without a label."""
    if not any(cells):
        return []
    if shape == "mask":
        return [str(PurePosixPath(cells[0].replace("\\", "/")))]
    return _points(cells[0]) if shape == "polygon" else _numbers(cells)


def carry(labels: dict[str, Any], motion: Motion) -> tuple[dict[str, Any], Placed]:
    """The rows of one image where they lie in its output. Raises Refused: a size that cannot be the
    image's, coordinates outside it, or no inverse."""
    placed = Placed()
    rows = [_carried(row, labels["shape"], motion, placed) for row in labels["rows"]]
    return {**labels, "rows": rows}, placed


def _carried(row: dict[str, Any], shape: str, motion: Motion, placed: Placed) -> dict[str, Any]:
    size = tuple(row.get("size", motion.size))
    if not same_shape(size, motion.size):
        raise Refused(Reason.LABELS, "table: the size is not the image's")
    where = row["where"]
    if not where:
        return row
    placed.count += 1
    if shape == "mask":
        return row
    points = checked(outline(where, shape), size)
    if shape == "point":
        moved = np.clip(placed.points(points, motion, size), 0, size)
    else:
        moved = placed.outline(points, motion, size)
    if shape in ("corners", "extent"):
        low, high = moved.min(0), moved.max(0)
        moved = np.concatenate([low, high if shape == "corners" else high - low])
    return {**row, "where": rounded(moved)}


def _numbers(cells: list[str]) -> list[float]:
    values = [float(text) for text in cells]
    if not np.isfinite(values).all():
        raise ValueError
    return values


def _points(text: str) -> list[float]:
    """x, y, x, y … of one ring: a JSON list (flat, of pairs, or COCO's of one ring), or words."""
    values = json.loads(text) if text.startswith("[") else text.replace(",", " ").split()
    points = np.asarray(values, np.float64)
    if points.ndim > 2 or (points.ndim == 2 and points.shape[1] != 2 and len(points) != 1):
        raise ValueError  # several rings are no single outline
    flat = points.ravel()
    if len(flat) < 6 or len(flat) % 2 or not np.isfinite(flat).all():
        raise ValueError
    return flat.tolist()
