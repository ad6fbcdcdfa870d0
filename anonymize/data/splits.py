"""Training, validation and test parts, by patient.

Patients are ordered by a hash of the seed and their id, so that a part depends neither on the order
of the rows nor, but for a few patients at the borders, on who else is in the data set.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from anonymize.data.pairs import read_list
from anonymize.data.table import PARTS, Table
from anonymize.errors import DataError, counted

FRACTIONS = (0.7, 0.1, 0.2)
VALIDATION_OF_TRAIN = 1 / 8  # 70 : 10, where an official list gives the test part only


def assign(table: Table, *, seed: int, fractions: tuple[float, float, float] = FRACTIONS) -> Table:
    """The table with ``part`` filled: as the data set's own lists say, else seeded by patient.

    ``fractions`` are shares of the patients in training, validation and test. Where the lists give
    no validation part, an eighth of the training patients make it. A table that has all three parts
    stays as it is.

    Raises DataError: a patient in two parts, a part without images, lists that leave images out, or
    fractions that are none."""
    if len(fractions) != 3 or min(fractions) <= 0 or abs(sum(fractions) - 1) > 1e-6:
        raise DataError(
            "fractions must be three positive shares that sum to 1 (train, validation, test); "
            f"got {fractions}"
        )
    parts = table.frame["part"].to_numpy(object).copy()
    patients = table.frame["patient_id"].to_numpy(object)
    if (parts == "").all():
        parts = _by_patient(patients, seed, dict(zip(PARTS, fractions, strict=True)))
    elif (parts == "").any():
        raise DataError(
            f"source {table.source}: the official lists leave out {(parts == '').sum()} of "
            f"{counted(len(parts), 'image')}; list every image or none"
        )
    elif not (parts == "validation").any():
        train = parts == "train"
        shares = {"train": 1 - VALIDATION_OF_TRAIN, "validation": VALIDATION_OF_TRAIN}
        parts[train] = _by_patient(patients[train], seed, shares)
    spread = pd.Series(parts).groupby(patients).nunique()
    if (spread > 1).any():
        raise DataError(
            f"source {table.source}: the official lists have "
            f"{counted(int((spread > 1).sum()), 'patient')} in several parts; a split must keep "
            "each patient's images together: mend the lists, or "
            "remove them for a seeded split"
        )
    if empty := _empty(parts):
        raise DataError(
            f"source {table.source}: part {empty} would be empty with "
            f"{counted(len(np.unique(patients)), 'patient')}; use a data set of more patients (10 "
            "at least for 70:10:20, 20 for attackers to be measured), or check its official lists"
        )
    return table.with_frame(table.frame.assign(part=parts))


def learning_patients(table: Table) -> str:
    """Fingerprint of the patients of the training and the validation part, as one set: two splits
    with the same test patients have the same, and it names nobody."""
    learning = table.frame.loc[table.frame["part"].isin(PARTS[:2]), "patient_id"]
    names = "\n".join(sorted(set(learning.astype(str))))
    return hashlib.sha256(f"{table.source}\n{names}".encode()).hexdigest()


def follow_lists(
    table: Table, lists: Mapping[str, Path | None], *, on_missing: str = "error"
) -> Table:
    """The table with every patient of a published pair list in the part that the list is of.

    Patients of no list stay where they are. ``on_missing`` is as `pairs.read_list` takes it.

    Raises DataError: a list that does not fit the table, a patient in the lists of two parts, or
    lists that leave a part without images."""
    patients = table.frame["patient_id"].to_numpy(object)
    parts, listed = table.frame["part"].to_numpy(object).copy(), np.zeros(len(table), bool)
    for part, path in lists.items():
        if path is None:
            continue
        pairs = read_list(path, table, on_missing=on_missing)
        own = np.isin(patients, patients[np.concatenate((pairs.first, pairs.second))])
        both = own & listed
        if both.any():
            raise DataError(
                f"the {part} pair list shares {counted(len(np.unique(patients[both])), 'patient')} "
                "with the list of another part; give lists of patients apart"
            )
        parts[own], listed = part, listed | own
    if empty := _empty(parts):
        raise DataError(
            f"the pair lists name all patients of part {empty}, which would be empty; give a list "
            "of that part, too"
        )
    return table.with_frame(table.frame.assign(part=parts))


def _empty(parts: np.ndarray) -> str:
    """The parts without images, in words."""
    return " and ".join(name for name in PARTS if not (parts == name).any())


def _by_patient(patients: np.ndarray, seed: int, shares: dict[str, float]) -> np.ndarray:
    """A part for each row; shares are of the patients, rounded at the cumulated borders."""
    names, rows = np.unique(patients.astype(str), return_inverse=True)
    hashes = [hashlib.sha256(f"{seed}:{name}".encode()).digest() for name in names]
    rank = np.empty(len(names), np.int64)
    rank[sorted(range(len(names)), key=hashes.__getitem__)] = np.arange(len(names))
    borders = np.rint(np.cumsum(list(shares.values()))[:-1] * len(names) + 1e-9)
    part = np.searchsorted(borders, rank, side="right")
    return np.array(list(shares), object)[part][rows]
