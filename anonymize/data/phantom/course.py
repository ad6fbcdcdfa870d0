"""The course of a patient over the follow-ups: sex, age, view and the findings of each visit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from anonymize.data.labels import CHESTXRAY14 as LABELS
from anonymize.data.phantom.streams import COURSE, EPISODE, SEVERITY, VISIT, low_discrepancy, stream


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
_VISITS_AHEAD = 12
_ONSET_OF_LASTING = 0.006
_HEALTHY, _HEALTHY_FACTOR, _FRAIL_FACTOR = 0.33, 0.15, 1.33


def draw_visit(seed: int, patient: int, follow_up: int) -> Visit:
    """Sex, age, view and findings of one image; a pure function of its arguments."""
    course = _course(seed, patient, max(follow_up + 1, _VISITS_AHEAD))
    findings = tuple(
        _episode(seed, patient, int(k), int(course.since[follow_up, k]), follow_up)
        for k in np.flatnonzero(course.present[follow_up])
    )
    return Visit(
        female=course.female,
        age=round(float(course.ages[follow_up]), 2),
        view="AP" if course.portable[follow_up] else "PA",
        findings=findings,
    )


@dataclass(frozen=True)
class _Course:
    """A patient's visits from the first, one row each."""

    female: bool
    ages: np.ndarray  # (visits,)
    portable: np.ndarray  # (visits,) bool
    present: np.ndarray  # (visits, labels) bool
    since: np.ndarray  # (visits, labels), the visit at which the episode began


@lru_cache(maxsize=1024)
def _course(seed: int, patient: int, visits: int) -> _Course:
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
    return _Course(
        female=bool(first[0] < 0.46),
        ages=start_age + np.cumsum(gaps),
        portable=rows[:, 1] < portable,
        present=present,
        since=since,
    )


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
