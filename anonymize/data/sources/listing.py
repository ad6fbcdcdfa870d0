"""What the readers of files share: reading a CSV, checking what it lists, building the table.

A listing is a data frame with the columns of :mod:`anonymize.data.table`, the labels, and
``problem``: why a row cannot be used, "" if it can. What it lacks is as in :data:`UNSAID`.
"""

import os
import stat
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from anonymize.data.image_files import load_file
from anonymize.data.table import COLUMNS, Table
from anonymize.errors import DataError, counted
from anonymize.fingerprint import fingerprint
from anonymize.options import DataOptions

UNSAID: dict[str, object] = {
    **{"identified": True, "follow_up": 0, "view": "", "age": np.nan, "sex": ""},
    **{"part": "", "problem": ""},
}


class ImageError(DataError):
    """Images of ``what`` that cannot be used: ``images``, (image_id, reason) of each, of ``total``;
    the message itself holds counts only."""

    def __init__(self, what: str, total: int, images: Iterable[tuple[str, str]]) -> None:
        self.images, self.total = tuple(images), total
        reasons = pd.Series([reason for _, reason in self.images]).value_counts()
        counts = ", ".join(f"{count} × {reason}" for reason, count in reasons.items())
        skip = "leave them out, counted and listed, with --on-missing skip"
        way_out = "give others" if len(self.images) == total else skip
        super().__init__(
            f"{what}: {len(self.images):,} of {counted(total, 'image')} cannot be used ({counts}); "
            f"mend them, or {way_out}"
        )


def folder_of(options: DataOptions) -> Path:
    """``options.root``; DataError where none is given, or there is no such folder."""
    if options.root is None:
        raise DataError(
            f"source {options.source} needs the folder of the data set: give it with --root DIR"
        )
    root = Path(os.path.abspath(options.root.expanduser()))
    if not root.is_dir():
        raise DataError(
            f"source {options.source}: --root is not a folder that can be read; "
            "give the folder into which the data set was unpacked"
        )
    return root


def read_csv(path: Path, source: str, columns: Iterable[str]) -> pd.DataFrame:
    """All columns as stripped text, "" where empty; ``columns`` must be among them."""
    if not path.is_file():
        raise DataError(f"source {source}: --root lacks {path.name}; give the folder that holds it")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # cells beyond the last column
            frame = pd.read_csv(
                path,
                header=None,
                dtype=str,
                keep_default_na=False,
                index_col=False,
                encoding="utf-8-sig",
            )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError, Warning):
        raise DataError(
            f"source {source}: the CSV is empty, malformed or not UTF-8, or a row has more cells "
            "than the first; export it again"
        ) from None
    frame.columns = [str(name).strip() for name in frame.iloc[0]]
    frame = frame.iloc[1:].reset_index(drop=True)
    if (twice := frame.columns.duplicated() & (frame.columns != "")).any():
        number = int(np.flatnonzero(twice)[0]) + 1
        raise DataError(f"source {source}: column {number} of the CSV has the name of another one")
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise DataError(
            f"source {source}: the first line of the CSV must name {', '.join(columns)}; among its "
            f"{counted(len(frame.columns), 'column')} there is no {', '.join(missing)}"
        )
    return frame.apply(lambda column: column.astype(str).str.strip())


def build(
    listing: pd.DataFrame,
    options: DataOptions,
    *,
    labels: Iterable[str],
    root: Path,
    csvs: Iterable[Path] = (),
    meaning: Mapping[str, object] | None = None,
) -> Table:
    """Check every listed file and identity, and make the table.

    Args:
        csvs: files whose contents enter the fingerprint.
        meaning: options of this reader that change the table.

    Raises:
        ImageError: with ``options.on_missing == "error"``, if any row cannot be used.
        DataError: nothing is left.
    """
    labels = tuple(labels)
    clash = sorted(set(labels) & {*COLUMNS, "problem"})
    if clash:
        raise DataError(
            f"source {options.source}: no label may be called {', '.join(clash)}: "
            "these are columns of every table"
        )
    unsaid = {name: value for name, value in UNSAID.items() if name not in listing}
    listing = listing.assign(**unsaid).reset_index(drop=True)
    sizes, times = _stat(listing["path"])
    problem = _problems(listing, sizes)
    bad = problem != ""
    skipped = tuple(zip(listing["image_id"][bad], problem[bad], strict=True))
    if skipped and options.on_missing == "error":
        raise ImageError(f"source {options.source}", len(listing), skipped)
    if bad.all():
        raise DataError(
            f"source {options.source}: no image is left of {len(listing):,} listed; "
            "check --root against the layout that the data set was published in"
        )

    inside = "\0".join(os.path.relpath(path, root) for path in listing["path"])
    return Table(
        source=options.source,
        frame=listing.loc[~bad, [*COLUMNS, *labels]].reset_index(drop=True),
        labels=labels,
        load=load_file,
        fingerprint=fingerprint(options.source, meaning, tuple(csvs), inside, sizes, times),
        skipped=skipped,
    )


def _problems(listing: pd.DataFrame, sizes: np.ndarray) -> np.ndarray:
    """Why each row cannot be used, "" if it can; of several reasons the first."""
    problem = listing["problem"].to_numpy(object, copy=True)
    problem[(sizes < 0) & (problem == "")] = "the file is not there"
    fine = listing[problem == ""]
    disputed = fine.groupby("image_id")["patient_id"].transform("nunique") > 1
    problem[fine.index[disputed]] = "listed under several patients"
    fine = fine[~disputed]
    problem[fine.index[fine["image_id"].duplicated()]] = "listed before"
    return problem


def _stat(paths: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
    """Sizes in bytes (−1: no such file) and times of change in ns."""
    found = []
    for path in paths:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            found.append((-1, 0))
            continue
        regular = stat.S_ISREG(status.st_mode)
        # A release has constant modification times: only ctime tells when it was written.
        changed = max(status.st_mtime_ns, status.st_ctime_ns)
        found.append((status.st_size, changed) if regular else (-1, 0))
    sizes, times = np.array(found, np.int64).reshape(-1, 2).T
    return sizes, times
