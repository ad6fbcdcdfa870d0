"""Disease of the pleura: fluid, air and scars between the lung and the chest wall."""

from __future__ import annotations

import numpy as np

from anonymize.data.phantom.body import lung, wall_x
from anonymize.data.phantom.course import Finding
from anonymize.data.phantom.geometry import Canvas, mask_of, ramp
from anonymize.data.phantom.scene import Scene


def to_wall(scene: Scene, side: int) -> np.ndarray:
    """Distance of every pixel from the lateral border of a lung, inwards positive, cm."""
    x, y = scene.coordinates
    heights = np.linspace(scene.body.person.apex, 22.0, 48)
    wall = wall_x(scene.body, heights, side)
    return np.interp(y, heights, wall).astype(np.float32) - side * x


def effusion(scene: Scene, finding: Finding) -> None:
    """Fluid that blunts the costophrenic angle and climbs the wall in a meniscus."""
    _, y = scene.coordinates
    k = (finding.side + 1) // 2
    bottom = scene.body.angles[k]
    level = min(bottom - 1.6, scene.body.domes[k] + 1.0) + 0.5 - 6.6 * finding.size**1.3
    inwards = np.maximum(to_wall(scene, finding.side), 0.0)
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
    inwards = to_wall(scene, finding.side)
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
