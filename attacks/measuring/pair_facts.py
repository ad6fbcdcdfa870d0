"""What is known of the two images of a genuine pair, in groups that a rate can be given for.

A fact that the table does not know of a pair leaves it out of every group of this fact.
"""

from collections.abc import Iterator, Mapping

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
COUNTS = {str(n): (n, n + 1) for n in range(1, 7)} | {"7 or more": (7, np.inf)}
TITLES: Mapping[str, str] = {
    "age_difference": "age difference (years)",
    "new_finding": "new finding in the later image",
    "view": "view",
    "follow_up": "follow-up number of the released image",
    "sex": "sex",
    "images": "released images of the patient",
}
SEXES = {"F": "female", "M": "male"}
Groups = dict[str, np.ndarray]  # bool (n,), which of the pairs are in it, by the group's name


def pair_groups(
    table: Table, first: np.ndarray, second: np.ndarray
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Every group that has a pair, fact by fact: the key of ``TITLES``, the group's name, and which
    of the pairs are in it, bool (n,).

    Args:
        first: (n,) rows of the released images.
        second: (n,) rows of the real images, each of the same patient as the first.
    """
    frame = table.frame
    one, other = (frame.iloc[rows].reset_index(drop=True) for rows in (first, second))
    apart = np.abs(one["age"].to_numpy(float) - other["age"].to_numpy(float))
    facts = {
        "age_difference": _ranges(apart, YEARS),
        "new_finding": _new_finding(table.labels, one, other),
        "view": _view(one, other),
        "follow_up": _ranges(one["follow_up"].to_numpy(float), NUMBERS),
        "sex": {name: (one["sex"] == s).to_numpy() for s, name in SEXES.items()},
    }
    for fact, groups in facts.items():
        yield from _some(fact, groups)


def groups_by_images(images: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Which are in each group, and its name, of images of whose patients there are so many, (n,):
    so many has who takes them together (attacker ``sets``)."""
    for name, members in _ranges(images, COUNTS).items():
        if members.any():
            yield name, members


def _some(fact: str, groups: Groups) -> Iterator[tuple[str, str, np.ndarray]]:
    return ((fact, name, members) for name, members in groups.items() if members.any())


def _new_finding(labels: tuple[str, ...], one: pd.DataFrame, other: pd.DataFrame) -> Groups:
    """Findings that the later image (higher follow-up number) shows and the earlier one does not;
    a pair with several new ones counts for each."""
    order = (other["follow_up"] - one["follow_up"]).to_numpy()
    earlier, later = (
        np.where((order > 0)[:, None], a[list(labels)], b[list(labels)])
        for a, b in ((one, other), (other, one))
    )
    new = (earlier == 0) & (later == 1) & (order != 0)[:, None]
    known = (~np.isnan(earlier) & ~np.isnan(later)).any(axis=1) & (order != 0)
    whole = {"none": known & ~new.any(axis=1), "any": new.any(axis=1)}
    return whole | dict(zip(labels, new.T, strict=True))


def _view(one: pd.DataFrame, other: pd.DataFrame) -> Groups:
    a, b = one["view"].to_numpy(str), other["view"].to_numpy(str)
    both = {f"both {view}": (a == view) & (b == view) for view in ("PA", "AP")}
    return both | {"changed": (a != b) & (a != "") & (b != "")}


def _ranges(values: np.ndarray, ranges: Mapping[str, tuple[float, float]]) -> Groups:
    """One group a range; NaN is in none."""
    return {name: (values >= low) & (values < high) for name, (low, high) in ranges.items()}
