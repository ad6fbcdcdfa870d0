"""``--patients``: the table of whose each file is, and its labels, as `apply` takes them."""

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from anonymize.csv_cells import undone
from anonymize.data.sources.folder import entries_of
from anonymize.data.sources.listing import read_csv
from anonymize.data.table import COLUMNS
from anonymize.errors import DataError, UsageError
from anonymize.release.dicom.identifiers import HARMLESS, folded
from anonymize.release.dicom.paths import RUN, squeezed
from anonymize.release.labels.texts import class_name
from anonymize.release.sets.people import People, check_rows

OPTION = "--patients"
OTHERS = frozenset({*COLUMNS, "path", "labels"})  # columns that are no label
VALUES = {"": float("nan"), "0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0}


def people_of(table: Path) -> People:
    """What the CSV says: columns path and patient_id, and labels as the source `folder` has them
    (``labels``: names with | between them, none for a blank), or one column a label (1, 0, or
    nothing where it is not known).

    Raises DataError: it cannot be read, rows that cannot be used, or other values."""
    try:
        if table.exists() and not table.is_file():  # a pipe cannot be read twice
            raise UsageError(f"{OPTION} must be a regular file")
        sha256 = hashlib.sha256(table.read_bytes()).hexdigest()
    except OSError:
        raise UsageError(f"{OPTION} cannot be read; name a CSV with path and patient_id") from None
    listing, names = entries_of(table, Path(), OPTION)
    entries = read_csv(table, OPTION, ())
    nobody = listing["patient_id"] == ""  # whose files are quarantined
    check_rows(OPTION, listing["problem"][~nobody], listing["image_id"])
    targets = {name: listing[name].to_numpy(float) for name in names}
    for number, name in enumerate(entries.columns, 1):
        if name in OTHERS:
            continue
        if name in targets or not set(entries[name]) <= VALUES.keys():
            raise DataError(
                f"{OPTION}: column {number} must be a label, 1, 0 or nothing in every row, since "
                "its name and means become public; leave it out, or mend it"
            )
        targets[name] = entries[name].map(VALUES).to_numpy(float)
    labels = tuple(sorted(targets))
    places = {name: f"column {number}" for number, name in enumerate(entries.columns, 1)}
    told = _Ids.of({*listing["patient_id"].map(undone)} - {""}) if labels else _Ids()
    for number, name in enumerate(labels, 1):
        where = places.get(name, f"column labels, name {number}")
        if told.named_in(name):
            raise DataError(
                f"{OPTION}, {where}: the name of a label, which becomes public, holds a patient_id "
                "or a word of one; leave it out, or give it another name"
            )
        if class_name(name, f"{OPTION}, {where}") != name or not name:
            raise DataError(f"{OPTION}, {where}: a label has no name, or blanks around it")
    values = np.stack([targets[name] for name in labels], axis=1) if labels else None
    rows = range(len(listing))
    paths = listing["image_id"].map(undone).tolist()
    return People(
        {p: who for p, who in zip(paths, listing["patient_id"].map(undone), strict=True) if who},
        {} if values is None else {paths[row]: tuple(values[row].tolist()) for row in rows},
        labels,
        sha256,
    )


@dataclass(frozen=True, repr=False)
class _Ids:
    """What ids of patients say: each without separators, and the names in them. What many ids have
    in common, as the ward, is no name."""

    spelled: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, ids: set[str]) -> Self:
        words = Counter(word for one in ids for word in {*RUN.findall(folded(one))})
        few = max(1, len(ids) / 10)
        names = {word for word, count in words.items() if count <= few and len(word) > 2}
        return cls(frozenset(map(squeezed, ids)), frozenset(names - HARMLESS))

    def named_in(self, label: str) -> bool:
        """Whether a label holds an id, however it is spelled, or a name."""
        said = squeezed(label)
        held = said in self.spelled or any(len(one) > 2 and one in said for one in self.spelled)
        return held or not self.names.isdisjoint(RUN.findall(folded(label)))
