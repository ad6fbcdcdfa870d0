"""The course of a patient over the follow-ups: sex, age, view, findings; and the table of many."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from anonymize.data.labels import CHESTXRAY14 as LABELS
from anonymize.data.phantom.streams import (
    COHORT,
    COURSE,
    EPISODE,
    SEVERITY,
    VISIT,
    low_discrepancy,
    stream,
    whole,
)
from anonymize.errors import UsageError

MOST_FOLLOW_UPS = 12


@dataclass(frozen=True)
class Finding:
    """One episode of one finding as it stands at a visit."""

    label: str
    side: int  # -1 the patient's right lung (image left), +1 the left one
    x: float  # place across, [0, 1] from the mediastinum to the wall
    y: float  # place along, [0, 1] from the top of where it occurs to the bottom
    size: float  # [0, 1]
    kind: float  # [0, 1), chooses between forms
    texture: int  # seed of its texture


@dataclass(frozen=True)
class Visit:
    """What is known of one image besides its pixels."""

    female: bool
    age: float  # years
    view: str  # "PA" or "AP"
    findings: tuple[Finding, ...]


# share of images with the finding before a patient's frailty, chance that it is still there at the
# next follow-up
_COURSE: dict[str, tuple[float, float]] = {
    "Atelectasis": (0.12, 0.5),
    "Cardiomegaly": (0.11, 1.0),
    "Effusion": (0.14, 0.55),
    "Infiltration": (0.135, 0.45),
    "Mass": (0.115, 0.65),
    "Nodule": (0.12, 0.65),
    "Pneumonia": (0.11, 0.4),
    "Pneumothorax": (0.11, 0.45),
    "Consolidation": (0.11, 0.45),
    "Edema": (0.11, 0.4),
    "Emphysema": (0.105, 1.0),
    "Fibrosis": (0.105, 1.0),
    "Pleural_Thickening": (0.115, 0.7),
    "Hernia": (0.105, 1.0),
}
_SHARE = np.array([_COURSE[name][0] for name in LABELS])
_KEEP = np.array([_COURSE[name][1] for name in LABELS])
_ONSET_OF_LASTING = 0.006
_HEALTHY, _HEALTHY_FACTOR, _FRAIL_FACTOR = 0.33, 0.15, 1.33


def draw_visit(seed: int, patient: int, follow_up: int) -> Visit:
    """Sex, age, view and findings of one image; a pure function of its arguments."""
    visits = max(follow_up + 1, MOST_FOLLOW_UPS)
    female, ages, portable, present, since = _course(seed, patient, visits)
    findings = tuple(
        _episode(seed, patient, int(k), int(since[follow_up, k]), follow_up)
        for k in np.flatnonzero(present[follow_up])
    )
    view = "AP" if portable[follow_up] else "PA"
    return Visit(female, round(float(ages[follow_up]), 2), view, findings)


@lru_cache(maxsize=1024)
def _course(
    seed: int, patient: int, visits: int
) -> tuple[bool, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Whether the patient is a woman; then of each visit from the first: the age, whether portable
    (visits,), what is present, and the visit at which its episode began (visits, labels)."""
    first = low_discrepancy(seed, patient, len(LABELS) + 2, COURSE)
    steady = stream(seed, patient, COURSE)
    start_age = np.clip(steady.normal(48.0, 16.0), 18.0, 88.0)
    portable = steady.beta(1.0, 1.8)
    # row by row, so that earlier visits do not depend on how many follow
    rows = stream(seed, patient, VISIT).random((visits, len(LABELS) + 2))
    gaps = 0.02 - 0.6 * np.log1p(-rows[:, 0])
    gaps[0] = 0.0

    share = _SHARE * (_HEALTHY_FACTOR if first[1] < _HEALTHY else _FRAIL_FACTOR)
    onset = np.where(_KEEP < 1.0, share * (1.0 - _KEEP) / (1.0 - share), _ONSET_OF_LASTING)
    present = np.zeros((visits, len(LABELS)), dtype=bool)
    since = np.zeros((visits, len(LABELS)), dtype=int)
    present[0] = first[2:] < share
    for visit in range(1, visits):
        before = present[visit - 1]
        present[visit] = rows[visit, 2:] < np.where(before, _KEEP, onset)
        since[visit] = np.where(before, since[visit - 1], visit)
    ages = start_age + np.cumsum(gaps)
    return bool(first[0] < 0.46), ages, rows[:, 1] < portable, present, since


def _episode(seed: int, patient: int, label: int, since: int, follow_up: int) -> Finding:
    rng = stream(seed, patient, EPISODE, label, since)
    side, x, y, size, kind = rng.random(5)
    texture = int(rng.integers(2**31))
    change = stream(seed, patient, SEVERITY, label, follow_up).normal(0.0, 0.12)
    return Finding(
        label=LABELS[label],
        side=1 if side < 0.5 else -1,
        x=float(x),
        y=float(y),
        size=float(np.clip(size + (change if follow_up > since else 0.0), 0.0, 1.0)),
        kind=float(kind),
        texture=texture,
    )


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
