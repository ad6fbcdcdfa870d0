"""Disease within the lungs: what fills, collapses, scars or grows in them."""

import numpy as np

from anonymize.data.phantom.body import sink
from anonymize.data.phantom.course import Finding
from anonymize.data.phantom.geometry import Canvas, flat, ramp, texture
from anonymize.data.phantom.scene import Scene


def _place(scene: Scene, side: int, across: float, along: float) -> tuple[float, float]:
    """A point of a lung, cm: across from the hilum to the wall, along from apex to dome."""
    p = scene.body.person
    top, bottom = p.apex, scene.body.domes[(side + 1) // 2]
    return side * (3.4 + (0.86 * p.width - 3.4) * across), top + (bottom - top) * along


def _blob(
    scene: Scene, centre: tuple[float, float], radii: tuple[float, float], turn: float = 0.0
) -> np.ndarray:
    """Squared distance from a centre in units of the radii."""
    x, y = scene.coordinates
    dx, dy = x - np.float32(centre[0]), y - np.float32(centre[1])
    c, s = np.float32(np.cos(turn)), np.float32(np.sin(turn))
    return ((c * dx + s * dy) / np.float32(radii[0])) ** 2 + (
        (c * dy - s * dx) / np.float32(radii[1])
    ) ** 2


def atelectasis(scene: Scene, finding: Finding) -> None:
    """Collapse with loss of volume: plates over the base, or a whole lobe drawn in."""
    rng = np.random.default_rng(finding.texture)
    side, k = finding.side, (finding.side + 1) // 2
    x, y = scene.coordinates
    dome = scene.body.domes[k]
    if finding.kind < 0.55:
        for plate in range(2 + int(2 * finding.size)):
            centre = _place(scene, side, rng.uniform(0.25, 0.6), 0.0)[0], dome - 1.4 - 1.7 * plate
            half = rng.uniform(2.6, 4.4), rng.uniform(0.34, 0.5) + 0.2 * finding.size
            tilt = side * rng.normal(-0.12, 0.16)
            scene.haze += 3.6 * np.exp(-(_blob(scene, centre, half, tilt) ** 2)) * scene.lungs[k]
        share = 0.22 * ramp(y, dome - 5.0, dome)
    elif finding.kind < 0.78:
        # an upper lobe drawn up against the mediastinum: its fissure bows upwards
        fissure = sink(scene.body, np.array(scene.body.person.apex + 5.5 + 2.0 * finding.size))
        bow = 0.05 * (side * x - 2.0) ** 2
        share = 0.72 * (1.0 - ramp(y + bow, float(fissure) - 0.3, float(fissure) + 0.5))
    else:
        # a lower lobe: a triangle beside the spine
        reach = 0.75 + 0.25 * finding.size
        slope = (y - (dome - 8.5)) * np.float32(0.62 * reach)
        share = (
            0.75 * (1.0 - ramp(side * x - 2.2 - slope, -0.3, 0.6)) * ramp(y, dome - 8.5, dome - 7)
        )
    scene.fill(share * scene.lungs[k])


def infiltration(scene: Scene, finding: Finding) -> None:
    """Ill-defined patches with streaks, mostly on both sides."""
    rng = np.random.default_rng(finding.texture)
    grain = texture(scene.project, scene.size, seed=finding.texture, cell=1.1)
    share = np.zeros_like(grain)
    for side in (-1, 1) if finding.kind < 0.7 else (finding.side,):
        for _ in range(2):
            centre = _place(scene, side, rng.uniform(0.15, 0.75), rng.uniform(0.35, 0.9))
            radii = rng.uniform(2.4, 3.8), rng.uniform(2.0, 3.4)
            share += np.exp(-_blob(scene, centre, radii, rng.uniform(-0.8, 0.8)))
    strength = 0.34 + 0.2 * finding.size
    patches = np.clip(0.85 + 0.26 * grain, 0.3, 1.5)
    scene.fill(np.clip(strength * share * patches, 0.0, 0.7) * scene.either())


def pneumonia(scene: Scene, finding: Finding) -> None:
    """One segment with coarse confluent clouds that fade at the border."""
    k = (finding.side + 1) // 2
    centre = _place(scene, finding.side, 0.15 + 0.6 * finding.x, 0.4 + 0.48 * finding.y)
    reach = 3.2 + 1.8 * finding.size
    grain = texture(scene.project, scene.size, seed=finding.texture, cell=2.4)
    fine = texture(scene.project, scene.size, seed=finding.texture + 1, cell=0.7)
    away = _blob(scene, centre, (reach, 0.8 * reach), 0.5 * finding.side)
    edge = ramp(1.45 - away + 0.3 * grain, 0.0, 1.3)
    share = np.clip((0.66 + 0.05 * fine) * edge, 0.0, 0.85)
    scene.fill(share * scene.lungs[k])


def consolidation(scene: Scene, finding: Finding) -> None:
    """A lobe filled evenly up to its fissure, with air left in its bronchi."""
    rng = np.random.default_rng(finding.texture)
    side, k = finding.side, (finding.side + 1) // 2
    x, y = scene.coordinates
    p = scene.body.person
    out = side * x
    fissure = float(sink(scene.body, np.array(p.hilum_y + 1.2 + 2.0 * (finding.x - 0.5))))
    # the fissure is never quite straight, nor is the lobe quite full
    y = y + 0.3 * texture(scene.project, scene.size, seed=finding.texture, cell=2.6)
    bowl = 0.03 * (out - 7.0) ** 2
    if finding.kind < 0.4:
        border = y - fissure + bowl - 0.06 * (out - 6.0)
        share = 1.0 - ramp(border, -0.15, 0.35)
        share = share * (0.75 + 0.25 * ramp(y, p.apex, p.apex + 5.0))
        aim, height = (-75.0, 5.0), 0.34
    elif finding.kind < 0.7 and side < 0:
        border = y - fissure + 0.5 * bowl
        share = ramp(border, -0.35, 0.15) * (1.0 - ramp(border - 0.3 * out, 3.2, 6.0))
        aim, height = (10.0, 55.0), 0.66
    else:
        border = y - fissure - 2.6 - bowl + 0.36 * (out - 4.0)
        share = ramp(border, -0.2, 1.2)
        aim, height = (25.0, 80.0), 0.84
    # often only a part of the lobe
    reach = 3.6 + 4.0 * finding.size
    part = np.exp(-(_blob(scene, _place(scene, side, 0.4, height), (reach, reach)) ** 2))
    share = share * np.maximum(part, 0.25)
    share = (0.48 + 0.36 * finding.size) * share * scene.lungs[k]
    scene.fill(share)
    canvas = Canvas(scene.size)
    root = np.array([side * (p.pedicle + 0.6), p.hilum_y + 0.5])
    for angle in np.deg2rad(rng.uniform(*aim, 6)):
        away = np.array([side * np.cos(angle), np.sin(angle)])
        bend = np.array([-away[1], away[0]]) * rng.normal(0.0, 0.5)
        points = np.stack([root + away * 1.5, root + away * 3.6 + bend, root + away * 6.0])
        canvas.line(scene.project(flat(points)), 0.34 / scene.project.field, 1.0)
    scene.extra -= 1.5 * canvas.array() * share


def edema(scene: Scene, finding: Finding) -> None:
    """Bat wings about both hila, a general veil, and Kerley B lines at the lateral bases."""
    rng = np.random.default_rng(finding.texture)
    p = scene.body.person
    grain = texture(scene.project, scene.size, seed=finding.texture, cell=1.3)
    share = np.zeros_like(grain)
    canvas = Canvas(scene.size)
    for side in (-1, 1):
        centre = side * (p.pedicle + 2.6), float(sink(scene.body, np.array(p.hilum_y + 1.2)))
        radii = 3.7 + 1.2 * finding.size, 5.2 + 1.4 * finding.size
        share = np.maximum(share, np.exp(-(_blob(scene, centre, radii, -0.25 * side) ** 1.3)))
        bottom = scene.body.domes[(side + 1) // 2]
        for step in range(7):
            y = bottom - 0.2 - 0.72 * step + rng.normal(0.0, 0.1)
            wall = np.interp(y, (-10.0, 6.0), (0.8 * p.width, p.width)) - 0.3
            ends = np.array([(side * wall, y), (side * (wall - rng.uniform(1.4, 2.2)), y + 0.1)])
            canvas.line(scene.project(flat(ends)), 0.16 / scene.project.field, 1.0)
    strength = 0.17 + 0.44 * finding.size
    clouds = np.clip(strength * share * (1.0 + 0.13 * grain) + 0.06, 0.0, 0.8)
    scene.fill(clouds * scene.either())
    scene.haze += (0.5 + 0.8 * finding.size) * canvas.array() * scene.either()


def fibrosis(scene: Scene, finding: Finding) -> None:
    """A net of scars at the bases and under the pleura, over lungs that have shrunk."""
    net = texture(scene.project, scene.size, seed=finding.texture, cell=0.75)
    coarse = texture(scene.project, scene.size, seed=finding.texture + 1, cell=1.3)
    ridges = np.exp(-((net / 0.38) ** 2)) + 0.8 * np.exp(-((coarse / 0.3) ** 2))
    _, y = scene.coordinates
    top, low = scene.body.person.apex, min(scene.body.domes)
    basal = ramp(y, top + 0.42 * (low - top), low - 0.5)
    rim = np.zeros_like(net)
    for k, side in enumerate((-1, 1)):
        rim = np.maximum(rim, np.exp(-np.abs(scene.to_wall(side)) / 2.2) * scene.lungs[k])
    weight = np.clip(basal * 0.85 + 0.55 * rim, 0.0, 1.0) * scene.either()
    scene.haze += (0.7 + 1.3 * finding.size) * ridges * weight
    scene.fill((0.06 + 0.12 * finding.size) * weight)


def _growth(scene: Scene, centre: tuple[float, float], r: float, rng: np.random.Generator) -> None:
    """A rounded growth of radius r with an uneven border, cm."""
    x, y = scene.coordinates
    dx, dy = x - np.float32(centre[0]), y - np.float32(centre[1])
    turn = np.arctan2(dy, dx)
    phases = rng.uniform(0.0, 2 * np.pi, 3)
    border = 1.0 + 0.08 * np.sin(2 * turn + phases[0]) + 0.06 * np.sin(3 * turn + phases[1])
    border += 0.03 * np.sin(9 * turn + phases[2])
    away = (dx * dx + dy * dy) / (r * border) ** 2
    body = np.sqrt(np.clip(1.0 - away, 0.0, None))
    scene.haze += (1.5 * r + 1.6) * body.astype(np.float32) * scene.either()


def mass(scene: Scene, finding: Finding) -> None:
    """One growth of more than 3 cm across."""
    rng = np.random.default_rng(finding.texture)
    centre = _place(scene, finding.side, 0.12 + 0.68 * finding.x, 0.2 + 0.65 * finding.y)
    _growth(scene, centre, 2.1 + 1.5 * finding.size, rng)


def nodule(scene: Scene, finding: Finding) -> None:
    """One to three growths of up to 3 cm across."""
    rng = np.random.default_rng(finding.texture)
    for k in range(1 + int(2.99 * finding.kind**1.5)):
        across, along, side = finding.x, finding.y, finding.side
        if k:
            across, along, side = *rng.random(2), (1 if rng.random() < 0.5 else -1)
        centre = _place(scene, side, 0.12 + 0.75 * across, 0.14 + 0.74 * along)
        _growth(scene, centre, (1.0 + 0.45 * finding.size) * rng.uniform(0.92, 1.05), rng)
