"""Findings: each name's painter; what changes the body's shape is in `body`."""

from collections.abc import Callable

import numpy as np

import anonymize.data.phantom.opacities as opacities
from anonymize.data.phantom.body import lung
from anonymize.data.phantom.course import Finding
from anonymize.data.phantom.geometry import Canvas, mask_of, ramp
from anonymize.data.phantom.scene import Scene


def show(scene: Scene, findings: tuple[Finding, ...]) -> None:
    """Change the scene's layers as the findings do."""
    for finding in findings:
        if finding.label in _PAINTERS:  # the others are all in the shape of the body
            _PAINTERS[finding.label](scene, finding)


def effusion(scene: Scene, finding: Finding) -> None:
    """Fluid that blunts the costophrenic angle and climbs the wall in a meniscus."""
    _, y = scene.coordinates
    k = (finding.side + 1) // 2
    bottom = scene.body.angles[k]
    level = min(bottom - 1.6, scene.body.domes[k] + 1.0) + 0.5 - 6.6 * finding.size**1.3
    inwards = np.maximum(scene.to_wall(finding.side), 0.0)
    surface = level - 2.6 * np.exp(-inwards / 1.5) + 0.4 * ramp(inwards, 2.0, 7.0)
    depth = y - surface
    # behind and before the meniscus thinner layers of fluid veil the lung above it
    share = 0.93 * ramp(depth, -0.3, 0.7) + 0.07 * ramp(depth, -3.5, 0.0)
    scene.fill(share * scene.lungs[k])


def pneumothorax(scene: Scene, finding: Finding) -> None:
    """Air round a retracted lung: a thin pleural line with no vessels beyond it."""
    k = (finding.side + 1) // 2
    body = scene.body
    outline = lung(body, finding.side)
    # the lung shrinks towards its root and base, most from the apex and the side
    root = np.array([finding.side * 3.0, body.domes[k] + 0.5, 0.0])
    shrink = np.array([0.94 - 0.3 * finding.size, 0.94 - 0.24 * finding.size, 1.0])
    edge = scene.project(root + (outline - root) * shrink)
    inner = mask_of(scene.size, edge)
    gap = scene.lungs[k] * (1.0 - inner)
    # behind the dome the pleural space does not show
    _, y = scene.coordinates
    gap = gap * (1.0 - ramp(y, body.domes[k] - 1.0, body.domes[k] + 2.0))
    scene.bare = np.maximum(scene.bare, gap)
    scene.extra -= 1.1 * gap
    scene.fill((0.10 + 0.12 * finding.size) * inner * scene.lungs[k])
    canvas = Canvas(scene.size)
    canvas.line(edge, 0.2 / scene.project.field, 1.0)
    scene.haze += 1.3 * canvas.array() * scene.lungs[k] * (y < body.domes[k] + 1.0)


def pleural_thickening(scene: Scene, finding: Finding) -> None:
    """An uneven band of scar along the wall or over the apex, at times with calcium."""
    rng = np.random.default_rng(finding.texture)
    k = (finding.side + 1) // 2
    body = scene.body
    _, y = scene.coordinates
    inwards = scene.to_wall(finding.side)
    top, bottom = body.person.apex, body.angles[k]
    heights = np.linspace(top, bottom, 14)
    width = (0.9 + 0.9 * finding.size) * np.clip(1.0 + 0.3 * rng.standard_normal(14), 0.4, 1.7)
    band: np.ndarray | float = 0.0
    if finding.kind < 0.3:
        # an apical cap
        reach = 1.6 + 1.4 * finding.size
        band = 1.0 - ramp(y, top + 0.8 * reach, top + 1.2 * reach)
        width = width * 0.7
        along = 1.0 - ramp(heights, top + 5.0, top + 8.0)
    else:
        middle = top + (bottom - top) * (0.55 + 0.3 * finding.y)
        along = np.exp(-(((heights - middle) / (4.5 + 2.0 * finding.size)) ** 2))
    local = np.interp(y, heights, width * along).astype(np.float32)
    strip = (1.0 - ramp(inwards - local, -0.2, 0.25)) * (local > 0.12)
    share = np.maximum(strip, band) * scene.lungs[k]
    scene.fill(0.8 * share)
    scene.extra += 1.6 * share
    if finding.kind > 0.7:
        flake = np.exp(-(((inwards - 0.55 * local) / 0.22) ** 2)) * ramp(local, 0.4, 0.9)
        scene.extra += 2.4 * flake * scene.lungs[k]


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


_PAINTERS: dict[str, Callable[[Scene, Finding], None]] = {
    "Atelectasis": opacities.atelectasis,
    "Effusion": effusion,
    "Infiltration": opacities.infiltration,
    "Mass": opacities.mass,
    "Nodule": opacities.nodule,
    "Pneumonia": opacities.pneumonia,
    "Pneumothorax": pneumothorax,
    "Consolidation": opacities.consolidation,
    "Edema": opacities.edema,
    "Emphysema": emphysema,
    "Fibrosis": opacities.fibrosis,
    "Pleural_Thickening": pleural_thickening,
    "Hernia": hernia,
}
