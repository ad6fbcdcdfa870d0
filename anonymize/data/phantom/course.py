"""The course of a patient over the follow-ups: sex, age, view and the findings of each visit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from anonymize.data.phantom.labels import LABELS
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
    "Cardiomegaly": (0.125, 1.0),
    "Effusion": (0.14, 0.55),
    "Infiltration": (0.135, 0.45),
    "Mass": (0.115, 0.65),
    "Nodule": (0.12, 0.65),
    "Pneumonia": (0.11, 0.4),
    "Pneumothorax": (0.11, 0.45),
    "Consolidation": (0.11, 0.45),
    "Edema": (0.11, 0.4),
    "Emphysema": (0.115, 1.0),
    "Fibrosis": (0.115, 1.0),
    "Pleural_Thickening": (0.115, 0.7),
    "Hernia": (0.115, 1.0),
}
_SHARE = np.array([_COURSE[name][0] for name in LABELS])
_KEEP = np.array([_COURSE[name][1] for name in LABELS])
_ONSET_OF_LASTING = 0.008
_HEALTHY, _HEALTHY_FACTOR, _FRAIL_FACTOR = 0.31, 0.2, 1.36


@lru_cache(maxsize=4096)
def draw_visit(seed: int, patient: int, follow_up: int) -> Visit:
    """Sex, age, view and findings of one image; a pure function of its arguments."""
    first = low_discrepancy(seed, patient, len(LABELS) + 2, COURSE)
    female, frailty = bool(first[0] < 0.46), first[1]
    steady = stream(seed, patient, COURSE)
    start_age = float(np.clip(steady.normal(48.0, 16.0), 18.0, 88.0))
    portable = float(steady.beta(1.2, 2.2))
    # one row a visit, so that earlier visits do not depend on later ones
    rows = stream(seed, patient, VISIT).random((follow_up + 1, len(LABELS) + 2))
    age = start_age + float(np.sum(-0.6 * np.log1p(-rows[1:, 0]) + 0.02))
    view = "AP" if rows[follow_up, 1] < portable else "PA"

    share = np.minimum(_SHARE * (_HEALTHY_FACTOR if frailty < _HEALTHY else _FRAIL_FACTOR), 0.9)
    onset = np.where(_KEEP < 1.0, share * (1.0 - _KEEP) / (1.0 - share), _ONSET_OF_LASTING)
    present = first[2:] < share
    since = np.zeros(len(LABELS), dtype=int)
    for visit in range(1, follow_up + 1):
        chance = rows[visit, 2:]
        began = ~present & (chance < onset)
        present = (present & (chance < _KEEP)) | began
        since[began] = visit
    findings = tuple(
        _episode(seed, patient, int(k), int(since[k]), follow_up) for k in np.flatnonzero(present)
    )
    return Visit(female=female, age=round(age, 2), view=view, findings=findings)


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
