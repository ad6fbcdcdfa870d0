"""CSV tables of labels: a row a box, polygon or point, or a row a mask file.

The columns that say where and which are recognised by their names; of the others, those that name
the class are kept, and those that the user names. Nothing else is taken over.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from anonymize.errors import DataError
from anonymize.release.csv_bytes import csv_bytes
from anonymize.release.labels.motion import Motion, same_shape
from anonymize.release.labels.placed import Placed, box_ring, checked, rounded
from anonymize.release.labels.texts import class_name
from anonymize.release.reasons import Reason, Refused

MAX_SIDE = 1 << 20
IMAGE = ("path", "file_name", "filename", "image", "image_path", "image_id", "Image Index")
CORNERS = (
    ("x_min", "y_min", "x_max", "y_max"),
    ("xmin", "ymin", "xmax", "ymax"),
    ("x1", "y1", "x2", "y2"),
    ("left", "top", "right", "bottom"),
)
EXTENTS = (
    ("x", "y", "width", "height"),
    ("x", "y", "w", "h"),
    ("bbox_x", "bbox_y", "bbox_width", "bbox_height"),
    ("Bbox [x", "y", "w", "h]"),  # NIH's BBox_List_2017.csv
)
POLYGON = ("polygon", "segmentation")
POINT = (("x", "y"),)
MASK = ("mask", "mask_path")
SIZE = ("image_width", "image_height")
CLASS = (
    *("label", "class", "class_name", "class_id", "category", "category_id"),
    *("finding", "Finding Label"),
)


class Table:
    """A CSV file as a source of labels; ``content`` as of ``parse``."""

    kind = "table"

    def __init__(self, content: dict[str, Any], number: int) -> None:
        self.number = number
        self.image, self.shape = content["image"], content["shape"]
        self.columns, self.size, self.classes = (content[k] for k in ("columns", "size", "classes"))
        self._read: list[dict[str, Any]] = content["rows"]

    def references(self) -> list[tuple[int, str]]:
        """(row, what names its image) of every row."""
        return [(i, row["image"]) for i, row in enumerate(self._read)]

    def labels_of(self, keys: list[int]) -> dict[str, Any]:
        """What belongs to one image, plain values."""
        rows = [self._read[key] for key in keys]
        return {"kind": self.kind, "shape": self.shape, "rows": rows}

    @staticmethod
    def mask_paths(labels: dict[str, Any]) -> list[str]:
        """Mask files that the rows of one image name, relative to the table."""
        if labels["shape"] != "mask":
            return []
        return list(dict.fromkeys(row["where"][0] for row in labels["rows"] if row["where"][0]))

    @staticmethod
    def item(labels: dict[str, Any]) -> str:
        """How the private list names the labels of one image."""
        return "rows " + ", ".join(str(row["row"] + 2) for row in labels["rows"])

    @staticmethod
    def texts(labels: dict[str, Any]) -> set[str]:
        """Names that are released with the labels of one image."""
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


def parse(data: bytes, number: int, keep: tuple[str, ...] = ()) -> dict[str, Any]:
    """The file ``data``, the ``number``-th of the labels, as plain values; done by a worker.

    ``keep``: further columns that stay as they are.

    Raises:
        DataError: no such columns, or a value that is no number; the message quotes no value.
    """
    try:
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise DataError(f"--labels {number} is no CSV file in UTF-8; save it as one") from None
    reader = _Reader(rows[0] if rows else [], number, keep)
    return {
        "image": reader.image,
        "shape": reader.shape,
        "columns": list(reader.columns),
        "size": list(reader.size),
        "classes": reader.classes,
        "rows": [reader.row(i, row) for i, row in enumerate(rows[1:]) if any(row)],
    }


class _Reader:
    """The header of a table, and its rows as plain values."""

    def __init__(self, header: list[str], number: int, keep: tuple[str, ...]) -> None:
        self.number = number
        self._place = {name: i for i, name in enumerate(header) if name}
        image, (shape, columns) = self._first(IMAGE), self._find_shape()
        if image is None or shape is None:
            raise DataError(
                f"--labels {number} needs a column that names the image ({', '.join(IMAGE)}) and "
                "columns of boxes (x, y, width, height or x_min, y_min, x_max, y_max), polygons "
                "(polygon), points (x, y) or mask files (mask)"
            )
        self.image, self.shape, self.columns = image, shape, columns
        self.size = SIZE if all(name in self._place for name in SIZE) else ()
        classes = [name for name in CLASS if name in self._place]
        kept = [name for name in keep if name in self._place and name not in classes]
        taken = {self.image, *self.columns, *self.size}
        self.classes = [name for name in (*classes, *kept) if name not in taken]

    def _first(self, names: tuple[str, ...]) -> str | None:
        return next((name for name in names if name in self._place), None)

    def _find_shape(self) -> tuple[str | None, tuple[str, ...]]:
        for shape, groups in (("corners", CORNERS), ("extent", EXTENTS)):
            for group in groups:
                if all(name in self._place for name in group):
                    return shape, group
        if polygon := self._first(POLYGON):
            return "polygon", (polygon,)
        if mask := self._first(MASK):
            return "mask", (mask,)
        if all(name in self._place for name in POINT[0]):
            return "point", POINT[0]
        return None, ()

    def row(self, place: int, row: list[str]) -> dict[str, Any]:
        """A row as plain values."""
        where = f"--labels {self.number}, row {place + 2}"

        def cell(name: str) -> str:
            i = self._place[name]
            return row[i].strip() if i < len(row) else ""

        cells = [cell(name) for name in self.columns]
        content: dict[str, Any] = {
            "row": place,
            "image": cell(self.image),
            "classes": [class_name(cell(name), where) for name in self.classes],
        }
        if not content["image"]:
            raise DataError(f"{where}: the column {self.image} is empty; name the image")
        try:
            content["where"] = self._where(cells)
            if self.size:
                content["size"] = [int(cell(name)) for name in self.size]
                if not 1 <= min(content["size"]) <= max(content["size"]) <= MAX_SIDE:
                    raise ValueError
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise DataError(
                f"{where}: {', '.join((*self.columns, *self.size))} must be numbers "
                "(all empty for an image without a label; one ring a polygon); mend the row"
            ) from None
        return content

    def _where(self, cells: list[str]) -> list:
        """Numbers, or the path of a mask; nothing for an image without a label."""
        if not any(cells):
            return []
        if self.shape == "mask":
            return [str(PurePosixPath(cells[0].replace("\\", "/")))]
        return _points(cells[0]) if self.shape == "polygon" else _numbers(cells)


def carry(labels: dict[str, Any], motion: Motion) -> tuple[dict[str, Any], Placed]:
    """The rows of one image where they lie in its output.

    Raises:
        Refused: a size that cannot be the image's, coordinates outside it, or no inverse.
    """
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
    if shape == "polygon":
        moved = placed.outline(checked(np.reshape(where, (-1, 2)), size), motion, size)
        return {**row, "where": rounded(moved)}
    if shape == "point":
        moved = placed.points(checked(np.reshape(where, (1, 2)), size), motion, size)
        return {**row, "where": rounded(np.clip(moved, 0, size))}
    a, b, c, d = where
    ring = box_ring(a, b, c, d) if shape == "corners" else box_ring(a, b, a + c, b + d)
    outline = placed.outline(checked(ring, size), motion, size)
    low, high = outline.min(0), outline.max(0)
    last = high if shape == "corners" else high - low
    return {**row, "where": rounded(np.concatenate([low, last]))}


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
