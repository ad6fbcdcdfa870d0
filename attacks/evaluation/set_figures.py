"""What a release of sets is made of."""

import numpy as np

from anonymize.data.table import PARTS
from attacks.knowledge.set_release import Released
from attacks.measuring.release_figures import SetFigures


def set_figures(released: Released, rows: np.ndarray, part: str) -> SetFigures | None:
    """Of the release of a part, whose images are ``rows``; None where everybody stands alone."""
    if released.contributors is None:
        return None
    found = [released.parts[name] for name in PARTS if part in (name, "all")]
    people = released.contributors.image[released.of(rows)]
    counts = (people >= 0).sum(axis=1)
    promised = [one.outputs * one.bound for one in found if one.bound is not None]
    outputs = sum(one.outputs for one in found)
    return SetFigures(
        outputs=outputs,
        shown=outputs,  # each has a row
        images=len(rows),
        withheld=int((~released.there[rows]).sum()),
        contributors=int(counts.min()) if len(counts) else 0,
        groups=sum(one.groups for one in found),
        bound=sum(promised) / outputs if len(promised) == len(found) else None,
    )
