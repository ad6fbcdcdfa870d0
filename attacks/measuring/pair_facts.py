"""What the table says of the two images of a genuine pair, in groups that a rate can be given for.

A fact that the table does not know of a pair leaves it out of every group of this fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from anonymize.data.table import Table

# Ranges of age differences and of follow-up numbers; their upper end does not belong to them.
YEARS = {
    **{"under 1": (0, 1), "1 to 2": (1, 2), "2 to 3": (2, 3), "3 to 5": (3, 5), "5 to 8": (5, 8)},
    **{"8 to 12": (8, 12), "12 or more": (12, np.inf)},
}
NUMBERS = {
    **{"0": (0, 1), "1": (1, 2), "2": (2, 3), "3–4": (3, 5), "5–8": (5, 9), "9–16": (9, 17)},
    **{"17–32": (17, 33), "33 or more": (33, np.inf)},
}
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
    apart = np.abs(one["age"].to_numpy(float) - other["age"].to_numpy(float))
    groups = (
        *_ranges("age_difference", apart, YEARS),
        *_new_finding(table.labels, one, other),
        *_view(one, other),
        *_ranges("follow_up", one["follow_up"].to_numpy(float), NUMBERS),
        *(PairGroup("sex", name, (one["sex"] == s).to_numpy()) for s, name in SEXES.items()),
    )
    yield from (group for group in groups if group.members.any())


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


def _ranges(
    fact: str, values: np.ndarray, ranges: Mapping[str, tuple[float, float]]
) -> Iterator[PairGroup]:
    """One group a range; NaN is in none."""
    for name, (start, end) in ranges.items():
        yield PairGroup(fact, name, (values >= start) & (values < end))
