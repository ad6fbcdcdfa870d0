"""Whom age, sex, view and findings alone set apart: k-anonymity and l-diversity of a table.

k is the number of patients in the smallest group of equal values (Sweeney, International Journal of
Uncertainty, Fuzziness and Knowledge-Based Systems 10, 2002), l the smallest number of different
findings that age, sex and view leave possible (Machanavajjhala et al., TKDD 1, 2007).
"""

import numpy as np
import pandas as pd
from pydantic import Field

from anonymize.data.table import Table
from attacks.measuring.estimates import Record

YEARS = 5  # of age are one group


class Groups(Record):
    """Counts are of patients; a patient with several images is in the groups of all of them."""

    by: tuple[str, ...] = Field(description="what is known: of age (5 years), sex, view, findings")
    patients: int
    groups: int
    k: int = Field(description="patients in the smallest group")
    alone: int = Field(description="patients who are alone in a group")
    diversity: int | None = Field(
        None, description="l: different sets of findings in the poorest group of age, sex and view"
    )
    told: int | None = Field(
        None, description="patients in a group in which all have the same findings"
    )


def small_groups(table: Table, rows: np.ndarray) -> Groups | None:
    """Of some rows of a table; None where nothing is known beside the pixels."""
    frame = table.frame.iloc[rows]
    values = {"age": (frame["age"].astype(float) // YEARS).fillna(-1)}
    values |= {name: frame[name].astype(str) for name in ("sex", "view")}
    facts = {n: v for n, v in values.items() if (v != (-1 if n == "age" else "")).any()}
    labels = frame[list(table.labels)].to_numpy(float)
    findings = [row.tobytes() for row in np.nan_to_num(labels, nan=-1)]
    by = (*facts, *(("findings",) if table.labels else ()))
    if not by:
        return None
    known = pd.DataFrame({"all": 0, **facts, "findings": findings, "who": frame["patient_id"]})
    people = known.groupby(list(by))["who"]
    diverse = told = None
    if table.labels:
        possible = known.groupby(["all", *facts])["findings"]
        diverse = int(possible.nunique().min())
        told = known.loc[possible.transform("nunique") == 1, "who"].nunique()
    return Groups(
        by=by,
        patients=known["who"].nunique(),
        groups=people.ngroups,
        k=int(people.nunique().min()),
        alone=known.loc[people.transform("nunique") == 1, "who"].nunique(),
        diversity=diverse,
        told=told,
    )
