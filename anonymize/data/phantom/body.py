"""The body as it is exposed: the person of that age, breath, view and disease. Centimetres.

Side -1 is the patient's right (image left), +1 the left; pairs are (right, left).
"""

from dataclasses import dataclass, replace

import numpy as np

from anonymize.data.phantom.acquisition import Acquisition
from anonymize.data.phantom.course import Finding, Visit
from anonymize.data.phantom.geometry import flat, smooth_curve
from anonymize.data.phantom.identity import Identity, aged


@dataclass(frozen=True)
class Body:
    """Anatomy in one exposure."""

    person: Identity
    domes: tuple[float, float]  # y of the diaphragm's top
    angles: tuple[float, float]  # y of the costophrenic angle
    shift: float  # of the mediastinum, to the patient's left
    squeeze: float  # how far the lung bases lie above those of a deep breath in
    arms: float  # see Acquisition
    meal: float  # relative size of the gastric bubble


def pose(person: Identity, acquisition: Acquisition, visit: Visit) -> Body:
    """The body for one exposure: age, weight, breath and view first, then disease."""
    p = aged(person, visit.age)
    breath = acquisition.breath
    portable = acquisition.view == "AP"
    rise = 1.9 * breath + (0.4 if portable else 0.0)
    widen = 1.0 + 0.05 * breath + (0.05 if portable else 0.0)
    p = replace(
        p,
        fat=max(p.fat + acquisition.fat, 1.4),
        width=p.width * (1.0 - 0.025 * breath),
        rib_drop=p.rib_drop * (1.0 + 0.06 * breath),
        heart=p.heart * widen,
        heart_apex=p.heart_apex - 0.7 * rise,
        pedicle=p.pedicle * (1.0 + 0.08 * portable),
    )
    body = Body(
        person=p,
        domes=(p.dome - rise, p.dome - rise + p.dome_gap),
        angles=(p.dome - 0.6 * rise + p.recess, p.dome - 0.6 * rise + p.recess + 0.4),
        shift=0.0,
        squeeze=rise,
        arms=acquisition.arms,
        meal=acquisition.meal,
    )
    for finding in visit.findings:
        body = _diseased(body, finding)
    return body


def _diseased(body: Body, finding: Finding) -> Body:
    """The body with the change of shape that a finding brings."""
    p, size, side = body.person, finding.size, finding.side
    if finding.label == "Cardiomegaly":
        person = replace(
            p,
            heart=p.heart * (1.26 + 0.22 * size),
            heart_right=p.heart_right * (0.92 + 0.1 * size),
            heart_apex=p.heart_apex + 0.4,
            vessels=p.vessels * 1.08,
        )
        return replace(body, person=person)
    if finding.label == "Emphysema":
        down = 0.9 + 2.2 * size
        person = replace(
            p,
            heart=p.heart * (0.95 - 0.12 * size),
            heart_apex=p.heart_apex + 0.8,
            lung_air=p.lung_air * (1.02 + 0.08 * size),
            vessels=p.vessels * (0.85 - 0.3 * size),
            depth=p.depth * (1.04 + 0.13 * size),
            taper=p.taper * 1.05,
            rib_drop=p.rib_drop * (0.95 - 0.12 * size),
        )
        domes = (body.domes[0] + down, body.domes[1] + down)
        # the domes sink more than the angles: flat diaphragms
        angles = (
            max(body.angles[0] + 0.25 * down, domes[0] + 1.3),
            max(body.angles[1] + 0.25 * down, domes[1] + 1.3),
        )
        return replace(
            body, person=person, domes=domes, angles=angles, squeeze=body.squeeze - 0.6 * down
        )
    if finding.label == "Fibrosis":
        up = 0.8 + 1.7 * size
        return replace(
            body,
            domes=(body.domes[0] - up, body.domes[1] - up),
            angles=(body.angles[0] - 0.6 * up, body.angles[1] - 0.6 * up),
            squeeze=body.squeeze + up,
        )
    if finding.label == "Atelectasis":
        up = 1.2 + 1.0 * size
        right, left = body.domes
        domes = (right - up, left) if side < 0 else (right, left - up)
        return replace(body, domes=domes, shift=body.shift + side * (0.5 + 0.6 * size))
    if finding.label == "Effusion":
        return replace(body, shift=body.shift - side * 0.8 * max(size - 0.6, 0.0))
    if finding.label == "Pneumothorax":
        return replace(body, shift=body.shift - side * 0.9 * size)
    return body


def wall_x(body: Body, y: np.ndarray | float, side: int) -> np.ndarray:
    """Distance of the lateral lung border from the midline at height y."""
    p = body.person
    low = 6.0
    share = np.clip((low - np.asarray(y, dtype=np.float64)) / (low - p.apex), 0.0, 1.0)
    exponent = 2.75 + 9.0 * (p.taper - 0.75)
    width = p.width * (1.0 + side * p.lopsided)
    x = width * (1.0 - share**exponent) ** 0.5
    x = np.where(np.asarray(y) > low, x * (1.0 + (p.flare - 1.0) * (np.asarray(y) - low) / 7), x)
    bumps = p.wall[(side + 1) // 2]
    return x + np.interp(y, (p.apex + 2, -5.0, 0.0, 5.0, 10.0, 14.0), (0.0, *bumps, 0.0))


def shoulder_y(body: Body, x: np.ndarray) -> np.ndarray:
    """Height of the shoulder's surface at a distance from the midline."""
    p = body.person
    edge = p.width + p.fat
    points = (p.neck + 0.7, p.neck + 4.0, edge - 3.0, edge + 1.5)
    heights = (p.shoulder - 2.3, p.shoulder, p.shoulder + 0.5 * p.slope, p.shoulder + p.slope)
    return np.interp(x, points, heights)


def lung(body: Body, side: int) -> np.ndarray:
    """The outline of a lung down to the diaphragm, closed, (n, 3) cm."""
    p = body.person
    k = (side + 1) // 2
    dome, angle, shift = body.domes[k], body.angles[k], side * body.shift
    height = angle - p.apex
    y = p.apex + height * np.array([0.11, 0.18, 0.28, 0.45, 0.62, 0.78, 0.9, 1.0])
    wall = wall_x(body, y, side)
    wall[-1] -= 0.25
    top = np.array(
        [
            (1.6 + shift, -3.0),
            (1.7 + 0.7 * shift, p.apex + 4.0),
            (2.6, p.apex + 1.7),
            (3.9, p.apex + 0.3),
            (5.2, p.apex + 0.0),
            (6.5, p.apex + 0.5),
        ]
    )
    side_wall = smooth_curve(np.concatenate([top, np.stack([wall, y], -1)]))
    outer, peak = wall[-1], p.dome_peak * wall[-1]
    inner = 1.4 + shift
    t = np.linspace(0.0, 1.0, 9)[1:]
    # a quarter of an ellipse to the top of the dome, then a gentle fall to the heart
    lateral = np.stack(
        [
            peak + (outer - peak) * (1 - t**1.15),
            angle + (dome - angle) * (1 - (1 - t) ** 2.0) ** 0.7,
        ],
        -1,
    )
    medial = np.stack([peak + (inner - peak) * t, dome + 2.0 * t**2 * (1 + 0.3 * k)], -1)
    points = np.concatenate([side_wall, lateral, medial])
    # apices and recesses lie at the back, the top of the dome in front
    depth = np.interp(points[:, 1], (p.apex, p.apex + 6, dome), (-3.0, 0.0, 1.0))
    depth[len(side_wall) :] = np.interp(points[len(side_wall) :, 1], (dome, angle), (1.5, -2.0))
    points[:, 0] *= side
    return np.concatenate([points, depth[:, None]], -1)


def heart(body: Body) -> np.ndarray:
    """The cardiac silhouette, closed, (n, 3) cm."""
    p = body.person
    w, apex, right = p.heart, p.heart_apex, p.heart_right
    tip, long = 8.3 * w, p.heart_length
    top = apex - 13.6 * long
    floor = max(body.domes) + 2.5
    knots = np.array(
        [
            (-0.75 * p.pedicle, top),
            (-0.95 * p.pedicle, top + 3.0),
            (-0.92 * right * (0.4 + 0.6 * w), apex - 6.2 * long),
            (-right * (0.4 + 0.6 * w), apex - 3.2 * long),
            (-0.86 * right * w, apex + 0.6),
            (-1.5, floor),
            (3.0, floor),
            (0.86 * tip, apex + 2.4),
            (tip, apex + 0.2),
            (0.95 * tip, apex - 2.2),
            (0.78 * tip, apex - 5.2 * long),
            (0.58 * tip + 0.5 * p.trunk, apex - 8.0 * long),
            (0.46 * tip + p.trunk, apex - 10.4 * long),
            (0.8 * p.pedicle, top),
        ]
    )
    knots[:, 0] += p.heart_shift + body.shift
    return flat(smooth_curve(knots), 3.5)


def mediastinum(body: Body) -> np.ndarray:
    """The vascular pedicle with trachea and oesophagus, closed, (n, 3) cm."""
    p = body.person
    half = p.pedicle
    knots = np.array(
        [
            (-0.85 * half, -24.0),
            (-0.9 * half, p.apex),
            (-1.0 * half, p.apex + 3.5),
            (-0.97 * half, -4.5),
            (-0.8 * half, 3.0),
            (-0.7 * half, 16.0),
            (0.7 * half, 16.0),
            (0.75 * half, 3.0),
            (0.8 * half, -4.5),
            (0.85 * half, p.knob_y - 2.2),
            (1.05 * half, p.apex + 2.0),
            (0.9 * half, -24.0),
        ]
    )
    knots[:, 0] += body.shift * np.clip((knots[:, 1] + 14) / 8, 0, 1)
    return flat(smooth_curve(knots), 0.5)


def aorta(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Arch and descending aorta as a centre line, (n, 3), and its half widths, (n,) cm."""
    p = body.person
    out = 0.75 * p.pedicle - 0.25
    knots = np.array(
        [
            (0.2, p.knob_y + 0.6),
            (out - 0.9, p.knob_y - 0.35),
            (out + 0.15, p.knob_y + 0.5),
            (out + 0.05 + 0.5 * p.unfolding, p.knob_y + 4.0),
            (0.6 * out + 1.0 * p.unfolding, 2.0),
            (0.3 * out + 0.6 * p.unfolding, 8.0),
            (0.4, 16.0),
        ]
    )
    knots[:, 0] += body.shift
    curve = smooth_curve(knots)
    half = np.interp(curve[:, 1], (p.knob_y, p.knob_y + 4.0, 12.0), (p.knob, 1.35, 1.1))
    return flat(curve, -3.0), half


def sink(body: Body, y: np.ndarray) -> np.ndarray:
    """Heights within the lung after the bases have moved with the diaphragm."""
    p = body.person
    return y - body.squeeze * np.clip((y - p.apex) / (p.dome - p.apex), 0.0, 1.3)
