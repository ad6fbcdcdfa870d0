"""Regions of a radiograph that its labels outline, and that a method is to leave as they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anonymize.release.labels.carry import Job
from anonymize.release.labels.motion import Size
from anonymize.release.labels.outlines import drawn
from anonymize.release.reasons import Reason, Refused

TOLD = "what labels outline was spared, and is the real picture"


@dataclass(frozen=True)
class Spared:
    """Boxes (left, top, right, bottom) in pixels, and the margin around them in pixels."""

    boxes: list[tuple[float, float, float, float]]
    margin: float


def spared(job: Job | None, size: Size, margin: float | None) -> Spared | None:
    """The boxes around all shapes of ``job`` in an image of ``size`` (W, H); None: there are none.

    Args:
        margin: share of the shorter side; None spares nothing.

    Raises:
        Refused: masks, of which it is not known where they lie.
    """
    if margin is None or job is None:
        return None
    annotations = (a for part in job.parts.values() for a in part.get("annotations", ()))
    runs = any(isinstance(a.get("segmentation"), dict) and "bbox" not in a for a in annotations)
    if job.masks or job.refusal or runs:
        raise Refused(Reason.LABELS, "--spare needs boxes, polygons or points, and these are masks")
    boxes = []
    for part in job.parts.values():
        for shape in drawn(part, size)[1]:
            outline = shape * np.asarray(size)
            left, top = outline.min(0).tolist()
            right, bottom = outline.max(0).tolist()
            boxes.append((left, top, right, bottom))
    return Spared(boxes, margin * min(size)) if boxes else None
