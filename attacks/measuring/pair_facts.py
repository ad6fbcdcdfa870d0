"""What the table says of the two images of a genuine pair, in groups that a rate can be given for.

A fact that the table does not know of a pair leaves it out of every group of this fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from anonymize.data.table import Table

YEARS = (0, 1, 2, 3, 5, 8, 12)  # age differences at which a range begins
NUMBERS = (0, 1, 2, 3, 5, 9, 17, 33)  # follow-up numbers, likewise
TITLES: Mapping[str, str] = {
    "age_difference": "age difference (years)",
    "new_finding": "new finding in the later image",
    "view": "view",
    "follow_up": "follow-up number of the released image",
    "sex": "sex",
}
SEXES = {"F": "female", "M": "male"}


@dataclass(frozen=True)
class PairGroup:
    """Some of the pairs.

    Attributes:
        fact: a key of ``TITLES``.
        name: of the group.
        members: bool (n,).
    """

    fact: str
    name: str
    members: np.ndarray


def pair_groups(table: Table, first: np.ndarray, second: np.ndarray) -> Iterator[PairGroup]:
    """Every group that has a pair, fact by fact.

    Args:
        first: (n,) rows of the released images.
        second: (n,) rows of the real images, each of the same patient as the first.
    """
    frame = table.frame
    one, other = (frame.iloc[rows].reset_index(drop=True) for rows in (first, second))
    groups = (
        *_age_difference(one, other),
        *_new_finding(table.labels, one, other),
        *_view(one, other),
        *_ranges("follow_up", one["follow_up"].to_numpy(float), NUMBERS, _numbers),
        *(PairGroup("sex", name, (one["sex"] == s).to_numpy()) for s, name in SEXES.items()),
    )
    yield from (group for group in groups if group.members.any())


def _age_difference(one: pd.DataFrame, other: pd.DataFrame) -> Iterator[PairGroup]:
    apart = np.abs(one["age"].to_numpy(float) - other["age"].to_numpy(float))
    yield from _ranges("age_difference", apart, YEARS, _years)


def _new_finding(
    labels: tuple[str, ...], one: pd.DataFrame, other: pd.DataFrame
) -> Iterator[PairGroup]:
    """Findings that the later image (higher follow-up number) shows and the earlier one does not;
    a pair with several new ones counts for each."""
    order = (other["follow_up"] - one["follow_up"]).to_numpy()
    earlier, later = (
        np.where((order > 0)[:, None], a[list(labels)], b[list(labels)])
        for a, b in ((one, other), (other, one))
    )
    new = (earlier == 0) & (later == 1) & (order != 0)[:, None]
    known = (~np.isnan(earlier) & ~np.isnan(later)).any(axis=1) & (order != 0)
    yield PairGroup("new_finding", "none", known & ~new.any(axis=1))
    yield PairGroup("new_finding", "any", new.any(axis=1))
    for column, label in enumerate(labels):
        yield PairGroup("new_finding", label, new[:, column])


def _view(one: pd.DataFrame, other: pd.DataFrame) -> Iterator[PairGroup]:
    a, b = one["view"].to_numpy(str), other["view"].to_numpy(str)
    for view in ("PA", "AP"):
        yield PairGroup("view", f"both {view}", (a == view) & (b == view))
    yield PairGroup("view", "changed", (a != b) & (a != "") & (b != ""))


def _ranges(fact: str, values: np.ndarray, starts: tuple[int, ...], named) -> Iterator[PairGroup]:
    """One group a range; NaN is in none."""
    for start, end in zip(starts, (*starts[1:], None), strict=True):
        inside = (values >= start) & (values < (np.inf if end is None else end))
        yield PairGroup(fact, named(start, end), inside)


def _years(start: int, end: int | None) -> str:
    """The upper end does not belong to the range."""
    if end is None:
        return f"{start} or more"
    return f"{start} to {end}" if start else f"under {end}"


def _numbers(start: int, end: int | None) -> str:
    if end is None:
        return f"{start} or more"
    return f"{start}" if end == start + 1 else f"{start}–{end - 1}"
