"""One person of the phantom data set, for the tests of what is drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anonymize.data.phantom.acquisition import draw_acquisition
from anonymize.data.phantom.body import heart, lung, pose
from anonymize.data.phantom.course import Finding, draw_visit
from anonymize.data.phantom.draw import render
from anonymize.data.phantom.geometry import Projector, mask_of
from anonymize.data.phantom.identity import draw_identity
from anonymize.data.phantom.streams import stream
from anonymize.data.phantom.vessels import grow

SIZE = 128
SIDED = (
    *("Atelectasis", "Effusion", "Mass", "Nodule", "Pneumonia", "Pneumothorax", "Consolidation"),
    "Pleural_Thickening",
)


class Subject:
    """A person exposed once, straight and without a marker, with the findings that a test asks."""

    def __init__(self, patient: int, size: int = SIZE) -> None:
        self.visit = replace(draw_visit(3, patient, 0), findings=(), view="PA")
        self.person = draw_identity(3, patient, female=self.visit.female)
        taken = draw_acquisition(3, patient, 0, view="PA")
        self.acquisition = replace(taken, roll=0.0, yaw=0.0, shift_x=0.0, marker="")
        self.trees = grow(3, patient)
        self.size = size

    def image(self, *findings: Finding) -> np.ndarray:
        return render(
            person=self.person,
            acquisition=self.acquisition,
            visit=replace(self.visit, findings=findings),
            trees=self.trees,
            noise=stream(0, 1),
            size=self.size,
        )

    def body(self, *findings: Finding):
        return pose(self.person, self.acquisition, replace(self.visit, findings=findings))

    def mask(self, side: int, *findings: Finding) -> np.ndarray:
        project = Projector(self.acquisition)
        body = self.body(*findings)
        away = mask_of(self.size, project(heart(body)))
        return mask_of(self.size, project(lung(body, side))) * (1 - away) > 0.9


def finding(label: str, side: int = 1, **changes: float) -> Finding:
    given = {"x": 0.6, "y": 0.6, "size": 0.7, "kind": 0.1, "texture": 5} | changes
    return Finding(label=label, side=side, **given)
