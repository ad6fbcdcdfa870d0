"""The table of a phantom cohort: one row an image."""

from __future__ import annotations

import numpy as np
import pandas as pd

from anonymize.data.labels import CHESTXRAY14 as LABELS
from anonymize.data.phantom.course import draw_visit
from anonymize.data.phantom.streams import COHORT, stream, whole
from anonymize.errors import UsageError

MOST_FOLLOW_UPS = 12


def cohort(*, patients: int, images: int, seed: int) -> pd.DataFrame:
    """The table of `images` phantom radiographs of `patients` patients, by patient and follow-up.

    Columns: image_id ("00012_003"), patient_id ("00012"), follow_up (int from 0), view ("PA" or
    "AP"), age (years, float), sex ("F" or "M"), then one float column, 0.0 or 1.0, for each of
    `LABELS`. A patient has 1 to 12 images; many have a single one, as in ChestX-ray14.
    Patient k is the same person with the same visits in a cohort of any size.

    Raises UsageError (a ValueError) unless 1 <= patients <= images <= 12 * patients and seed >= 0.
    """
    patients = whole("patients", patients, 1)
    images = whole("images", images, 1)
    seed = whole("seed", seed, 0)
    if not patients <= images <= MOST_FOLLOW_UPS * patients:
        raise UsageError(
            f"images must lie between patients and {MOST_FOLLOW_UPS} x patients "
            f"({patients}..{MOST_FOLLOW_UPS * patients} for patients={patients}), not {images}"
        )
    rows = []
    for patient, count in enumerate(_images_of_each(patients, images, seed), start=1):
        for follow_up in range(count):
            visit = draw_visit(seed, patient, follow_up)
            present = {finding.label for finding in visit.findings}
            rows.append(
                {
                    "image_id": f"{patient:05d}_{follow_up:03d}",
                    "patient_id": f"{patient:05d}",
                    "follow_up": follow_up,
                    "view": visit.view,
                    "age": visit.age,
                    "sex": "F" if visit.female else "M",
                    **{label: float(label in present) for label in LABELS},
                }
            )
    return pd.DataFrame(rows)


def _images_of_each(patients: int, images: int, seed: int) -> np.ndarray:
    """How many images each patient has, (patients,), between 1 and 12, with a long tail."""
    rng = stream(seed, COHORT)
    appetite = rng.exponential(size=patients) * (rng.random(patients) > 0.3)
    counts = np.ones(patients, dtype=int)
    while (left := images - counts.sum()) > 0:
        room = MOST_FOLLOW_UPS - counts
        weight = appetite * (room > 0)
        if weight.sum() == 0.0:
            weight = (room > 0).astype(float)
        # systematic sampling: each patient gets its share, rounded up or down at random
        edges = np.floor(np.cumsum(weight) / weight.sum() * left + rng.random())
        edges[-1] = max(edges[-1], left)
        extra = np.diff(np.minimum(edges, left), prepend=0.0).astype(int)
        counts += np.minimum(extra, room)
    return counts
