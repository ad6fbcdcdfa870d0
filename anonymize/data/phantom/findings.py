"""Findings: each name's painter; what changes the body's shape is in `body`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from anonymize.data.phantom.course import Finding
from anonymize.data.phantom.geometry import ramp
from anonymize.data.phantom.opacities import (
    atelectasis,
    consolidation,
    edema,
    fibrosis,
    infiltration,
    mass,
    nodule,
    pneumonia,
)
from anonymize.data.phantom.pleura import effusion, pleural_thickening, pneumothorax
from anonymize.data.phantom.scene import Scene


def show(scene: Scene, findings: tuple[Finding, ...]) -> None:
    """Change the scene's layers as the findings do."""
    for finding in findings:
        _PAINTERS[finding.label](scene, finding)


def emphysema(scene: Scene, finding: Finding) -> None:
    """Bullae: thin-walled air in the upper zones; the rest is a change of shape."""
    rng = np.random.default_rng(finding.texture)
    x, y = scene.coordinates
    body = scene.body
    for _ in range(2 + int(3 * finding.size)):
        side = -1 if rng.random() < 0.5 else 1
        r = rng.uniform(1.2, 1.6 + 1.4 * finding.size)
        cx = side * rng.uniform(4.5, 0.72 * body.person.width)
        cy = body.person.apex + rng.uniform(2.5, 9.0)
        away = np.sqrt((x - cx) ** 2 + (y - cy) ** 2) / np.float32(r)
        within = 1.0 - ramp(away, 0.9, 1.0)
        wall = np.exp(-(((away - 1.0) * np.float32(r / 0.14)) ** 2))
        lungs = scene.either()
        scene.bare = np.maximum(scene.bare, within)
        scene.haze += 0.55 * wall * lungs
        scene.extra -= 0.5 * within * lungs


def hernia(scene: Scene, finding: Finding) -> None:
    """A hiatal hernia: a bubble behind the heart with a wall and an air-fluid level."""
    x, y = scene.coordinates
    body = scene.body
    r = 1.9 + 2.3 * finding.size
    cx = body.shift + (0.7 + 1.2 * finding.x) * (1 if finding.kind < 0.75 else -0.6)
    cy = min(body.domes) + 0.6 - 0.5 * r
    squash = 0.86
    away = np.sqrt((x - cx) ** 2 + ((y - cy) / squash) ** 2) / np.float32(r)
    depth = np.sqrt(np.clip(1.0 - away * away, 0.0, None))
    below = ramp(y, cy + 0.05 * r, cy + 0.05 * r + 0.25)
    wall = np.exp(-(((away - 1.0) * np.float32(r / 0.28)) ** 2))
    strength = 0.4 + 0.6 * finding.size
    scene.extra += strength * (1.5 * wall + depth * (2.4 * below - 4.2 * (1.0 - below)))


def unseen(scene: Scene, finding: Finding) -> None:
    """A finding that is all in the shape of the body."""


_PAINTERS: dict[str, Callable[[Scene, Finding], None]] = {
    "Atelectasis": atelectasis,
    "Cardiomegaly": unseen,
    "Effusion": effusion,
    "Infiltration": infiltration,
    "Mass": mass,
    "Nodule": nodule,
    "Pneumonia": pneumonia,
    "Pneumothorax": pneumothorax,
    "Consolidation": consolidation,
    "Edema": edema,
    "Emphysema": emphysema,
    "Fibrosis": fibrosis,
    "Pleural_Thickening": pleural_thickening,
    "Hernia": hernia,
}
