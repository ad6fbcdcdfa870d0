"""The public tables of a release, read strictly: what they may say, and nothing else."""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from anonymize.release.labels import account
from anonymize.release.tables import COUNTS, MANIFEST_COLUMNS

SHA256 = re.compile(r"[0-9a-f]{64}")
WORD = re.compile(r"[a-z0-9][a-z0-9.-]*")
COUNT = re.compile(r"\d{1,15}")
TEXTS = {
    "sha256": SHA256,
    "method": WORD,
    "model_sha256": re.compile(rf"({SHA256.pattern})?"),
    "kind": re.compile("mask|coco|table"),
    "labels": COUNT,
    "folded_points": re.compile(rf"({COUNT.pattern})?"),
    **dict.fromkeys(COUNTS, COUNT),
}
ALIKE = ("method", "model_sha256", "mu", *COUNTS)  # the same in every row


class ManifestError(ValueError):
    """A table that no release writes; ``row`` counts from 1, 0 for the table as a whole."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(problem)
        self.row, self.problem = row, problem


@dataclass(frozen=True)
class Row:
    """A released file: its path under OUT, its sha256, and what it is (an image, or labels)."""

    number: int
    output: str
    sha256: str
    kind: str = "image"


def images(data: bytes) -> list[Row]:
    """The rows of OUT/manifest.csv.

    Raises:
        ManifestError: other columns, a value of another form, rows out of order, or counts that
            do not add up.
    """
    rows = _rows(data, MANIFEST_COLUMNS)
    for key in ALIKE:
        if len({row[key] for row in rows}) > 1:
            raise ManifestError(0, f"{key} is not the same in every row")
    if rows:
        inputs, released, quarantined, left_out = (int(rows[0][key]) for key in COUNTS)
        if released != len(rows) or released + quarantined + left_out != inputs:
            raise ManifestError(0, "the counts of files do not add up")
    return [Row(i, row["output"], row["sha256"]) for i, row in enumerate(rows, 1)]


def labels(data: bytes) -> list[Row]:
    """The rows of OUT/labels/manifest.csv.

    Raises:
        ManifestError: as ``images``.
    """
    rows = _rows(data, account.COLUMNS)
    return [Row(i, row["output"], row["sha256"], row["kind"]) for i, row in enumerate(rows, 1)]


def _rows(data: bytes, columns: tuple[str, ...]) -> list[dict[str, str]]:
    text = data.decode("utf-8", "surrogateescape")
    try:
        header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    except (csv.Error, ValueError):
        raise ManifestError(0, "no CSV table") from None
    if tuple(header) != columns:
        raise ManifestError(0, "other columns than a release of this version writes")
    made, last = [], b""
    for number, cells in enumerate(rows, 1):
        if len(cells) != len(columns):
            raise ManifestError(number, "more or fewer cells than columns")
        row = dict(zip(columns, cells, strict=True))
        for key, value in row.items():
            if not _fits(key, value):
                raise ManifestError(number, f"{key} has a value that no release writes")
        place = row["output"].encode("utf-8", "surrogateescape")
        if place <= last:
            raise ManifestError(number, "outputs out of order, or one given twice")
        last = place
        made.append(row)
    return made


def _fits(key: str, value: str) -> bool:
    if key in TEXTS:
        return TEXTS[key].fullmatch(value) is not None
    if key in ("output", "image"):
        return is_plain(value) or (key == "image" and not value)
    if not value:
        return True
    try:
        return math.isfinite(float(value)) and value.strip() == value
    except ValueError:
        return False


def is_plain(path: str) -> bool:
    """True for a path that stays below its folder."""
    parts = path.split("/")
    return (
        bool(path)
        and "\0" not in path
        and not PurePosixPath(path).is_absolute()
        and all(part not in ("", ".", "..") for part in parts)
    )
