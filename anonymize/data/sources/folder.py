"""Anybody's radiographs: a folder of images with one CSV.

The CSV has ``path`` (relative to the folder) and ``patient_id``, and any of ``labels`` (names
separated by ``|``, without commas or semicolons; "No Finding" or blank for none), ``view``,
``age``, ``sex``, ``follow_up``. Labels are all names that occur, sorted; without the column there
are none. Without ``follow_up`` the images of a patient are numbered as they are listed.
"""

import posixpath
from pathlib import Path

import numpy as np
import pandas as pd

import anonymize.data.sources.columns as columns
from anonymize.data.sources.listing import build, read_csv
from anonymize.data.table import Table
from anonymize.errors import DataError, counted
from anonymize.options import DataOptions


def read(options: DataOptions, root: Path) -> Table:
    """The data set at ``root``; see :func:`anonymize.data.sources.registry.read`."""
    csv = _csv(root)
    listing, names = entries_of(csv, root, options.source)
    return build(listing, options, labels=names, root=root, csvs=[csv])


def entries_of(csv: Path, root: Path, source: str) -> tuple[pd.DataFrame, list[str]]:
    """The rows of a CSV of files below ``root``, as `listing` takes them, and the labels' names;
    DataError where it is no such CSV."""
    entries = read_csv(csv, source, ("path", "patient_id"))
    blank = pd.Series("", index=entries.index)
    label_text = entries.get("labels", blank)
    inside = entries["path"].map(posixpath.normpath)
    follow_up = pd.to_numeric(entries.get("follow_up", blank), errors="coerce")
    numbered = "follow_up" in entries
    whole = (follow_up >= 0) & (follow_up < 2**31) & (follow_up % 1 == 0)
    ranks = columns.ranks(entries["patient_id"])
    age_text = entries.get("age", blank)
    ages = columns.ages(age_text)
    outside = inside.str.startswith(("/", "../")) | inside.isin(["..", "."])
    names = _labels(label_text, source)
    listing = pd.DataFrame(
        {
            "image_id": inside,
            "path": [str(root / path) for path in inside],
            "patient_id": entries["patient_id"],
            "follow_up": follow_up.where(whole, 0).astype(np.int64) if numbered else ranks,
            "view": columns.views(entries.get("view", blank)),
            "age": ages,
            "sex": columns.sexes(entries.get("sex", blank)),
            "problem": columns.problem(
                {
                    "path leaves the folder": outside,
                    "no patient is given": entries["patient_id"] == "",
                    "follow_up is not a whole number from 0": ~whole & numbered,
                    "age is not a number from 0 to 120": (age_text != "") & np.isnan(ages),
                }
            ),
            **columns.present(label_text, tuple(names)),
        }
    )
    return listing, names


def _labels(column: pd.Series, source: str) -> list[str]:
    """All names in the column, sorted."""
    if wrong := int(column.str.contains("[,;]").sum()):
        raise DataError(
            f"source {source}: labels are separated by | (as in A|B), but {counted(wrong, 'row')} "
            "of the CSV have a comma or a semicolon among them; no label's name may hold one"
        )
    return sorted({w.strip() for text in column for w in text.split("|")} - {"", "No Finding"})


def _csv(root: Path) -> Path:
    csvs = sorted(p for p in root.iterdir() if p.suffix.lower() == ".csv" and p.is_file())
    if len(csvs) != 1:
        raise DataError(
            f"source folder: --root must hold exactly one CSV, with the columns path and "
            f"patient_id; it holds {len(csvs)}"
        )
    return csvs[0]
