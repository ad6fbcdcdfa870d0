"""What images are matched by, as a table of images says it."""

import numpy as np
import pandas as pd

from anonymize.data.table import Table
from attacks.measuring.metrics import Covariates


def covariates_of(table: Table) -> Covariates:
    """Of every row of a table; findings of which only some are known are a set of their own."""
    frame = table.frame
    labels = frame[list(table.labels)].to_numpy(float)
    known = np.where(np.isnan(labels), -1, labels)
    findings = np.unique(known, axis=0, return_inverse=True)[1] if table.labels else 0 * frame.index
    return Covariates(
        findings=np.asarray(findings, np.int64).reshape(-1),
        sex=codes_of(frame["sex"], ("F", "M")),
        view=codes_of(frame["view"], ("AP", "PA")),
        age=frame["age"].to_numpy(float),
    )


def matched_by(table: Table) -> tuple[str, ...]:
    """What is known of most images to match impostors by: of "findings", "sex", "age" and "view".
    What is known of fewer still keeps apart those of whom it is."""
    frame = table.frame
    known = {
        "findings": bool(table.labels),
        "sex": frame["sex"].ne("").mean(),
        "age": frame["age"].notna().mean(),
        "view": frame["view"].ne("").mean(),
    }
    return tuple(name for name, share in known.items() if share > 1 / 2)


def codes_of(values: pd.Series, names: tuple[str, ...]) -> np.ndarray:
    """int64 (N,): the place of each value among the names, −1 where it is none of them."""
    return pd.Index(names).get_indexer(values).astype(np.int64)
