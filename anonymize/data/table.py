"""The table that every source gives: one row an image.

Columns: ``image_id`` (unique str), ``path`` (str, empty where images are drawn), ``patient_id``
(str), ``identified`` (bool: the source says who the patient is), ``follow_up`` (int, from 0),
``view`` ("PA", "AP" or ""), ``age`` (years, NaN if unknown), ``sex`` ("F", "M" or ""), ``part``
("train", "validation", "test", or "" before the split), then one float column a label (1 present,
0 absent, NaN unknown).
"""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import pandas as pd

from anonymize.data.image_files import Load
from anonymize.errors import DataError, counted

COLUMNS = (
    *("image_id", "path", "patient_id", "identified", "follow_up", "view", "age", "sex", "part"),
)
PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class Table:
    """One data set.

    Attributes:
        source: name of the reader.
        frame: the rows, index 0 … n−1; columns as the module says, then ``labels``.
        labels: names of the label columns.
        load: ``load(row, size)`` gives the image of a row (a named tuple of ``itertuples``) as a
            square array (size, size), uint8 or uint16 over the full range of the type, dense
            tissue bright.
        skipped: (image_id, reason) of every listed image that was left out.
        fingerprint: says which files and options the table was read from; once its images are
            cached, what the table and they hold.
    """

    source: str
    frame: pd.DataFrame
    labels: tuple[str, ...]
    load: Load
    fingerprint: str
    skipped: tuple[tuple[str, str], ...] = field(default=())

    def __post_init__(self) -> None:
        missing = [c for c in (*COLUMNS, *self.labels) if c not in self.frame.columns]
        if missing:
            raise DataError(f"source {self.source}: the table lacks columns: {missing}")
        if self.frame["image_id"].duplicated().any():
            n = int(self.frame["image_id"].duplicated().sum())
            raise DataError(
                f"source {self.source}: {counted(n, 'image')} listed twice; list each once"
            )

    def __len__(self) -> int:
        return len(self.frame)

    def part(self, name: str) -> np.ndarray:
        """Row numbers of one part ("train", "validation", "test"), or of "all"."""
        if name == "all":
            return np.arange(len(self))
        if name not in PARTS:
            raise DataError(f"part must be one of {(*PARTS, 'all')}, got {name!r}")
        return np.flatnonzero(self.frame["part"].to_numpy() == name)

    def targets(self, rows: np.ndarray) -> np.ndarray:
        """Labels of the rows, float32 (n, labels), NaN where unknown."""
        return self.frame.loc[rows, list(self.labels)].to_numpy(np.float32)

    def with_frame(self, frame: pd.DataFrame) -> Self:
        """The same source with other rows (for instance with the parts assigned)."""
        return replace(self, frame=frame.reset_index(drop=True))
