"""Columns of published CSVs (text, "" where empty) in the table's own terms."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

OLDEST = 120  # ChestX-ray14 lists ages up to 414
_YEARS = {"Y": 1.0, "M": 1 / 12, "W": 7 / 365.25, "D": 1 / 365.25, "": 1.0}


def ages(column: pd.Series) -> np.ndarray:
    """Years, from numbers or DICOM age strings (058Y, 011M); NaN if unknown or out of 0 … 120."""
    parts = column.str.extract(r"^\s*(\d+(?:\.\d*)?)\s*([YMWD]?)\s*$")
    years = pd.to_numeric(parts[0]).to_numpy(float) * parts[1].map(_YEARS).to_numpy(float)
    return np.where(years <= OLDEST, years, np.nan)


def sexes(column: pd.Series) -> np.ndarray:
    """ "F", "M" or "" from F, M, Female, male and the like."""
    first = column.str.upper().where(column.str.fullmatch("(?i)f|m|female|male"), "")
    return first.str[:1].to_numpy(object)


def views(column: pd.Series) -> np.ndarray:
    """ "PA", "AP" or ""; "AP Supine" and "AP Erect" are AP."""
    found = column.str.upper().str.extract(r"^\s*(PA|AP)\b")[0]
    return found.fillna("").to_numpy(object)


def ranks(patients: pd.Series, order: pd.Series | None = None) -> np.ndarray:
    """Numbers 0, 1, … within each patient, by ``order`` (unknown last), ties as listed."""
    by = pd.DataFrame({"patient": patients.to_numpy()})
    by["order"] = np.zeros(len(by)) if order is None else order.to_numpy(float)
    ordered = by.sort_values("order", kind="stable", na_position="last")
    rank = ordered.groupby("patient", sort=False).cumcount()
    return rank.sort_index().to_numpy(np.int64)


def present(column: pd.Series, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """One float column a name: is it among the ``|``-separated words of the row?"""
    words = [{word.strip() for word in text.split("|")} for text in column]
    return {name: np.array([name in w for w in words], float) for name in names}


def problem(reasons: Mapping[str, pd.Series | np.ndarray]) -> np.ndarray:
    """Why each row cannot be used: the first reason that holds for it, "" where none does."""
    rows = [np.asarray(row, bool) for row in reasons.values()]
    return np.select(rows, list(reasons), "").astype(object)
