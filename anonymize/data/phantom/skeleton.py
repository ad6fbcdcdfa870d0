"""Ribs, clavicles, scapulae and spine as projected bone, in cm of bone along the ray."""

import numpy as np

from anonymize.data.phantom.body import Body, shoulder_y, wall_x
from anonymize.data.phantom.geometry import Canvas, Projector, flat, smooth_curve, strip
from anonymize.data.phantom.identity import RIBS

# nested bands of a tube: share of the half width, cm of bone; the cortex is brighter than the core
_TUBE = ((1.0, 0.42), (0.84, 0.66), (0.58, 0.47))
_BOTH = np.array([-1.0, 1.0])


def bones(body: Body, project: Projector, size: int) -> np.ndarray:
    """Bone along every ray, float32 (size, size), cm."""
    # what may overlap is drawn on canvases of its own and added
    layers = [Canvas(size, peak=2.0) for _ in range(4)]
    _ribs(body, project, layers[0], layers[1])
    for side in (-1, 1):
        _scapula(body, project, side, layers[2])
        _clavicle(body, project, side, layers[3])
        _humerus(body, project, side, layers[3])
    column = Canvas(size, peak=2.0)
    _spine(body, project, column)
    total = layers[0].array() + layers[1].array() + layers[2].array() + layers[3].array()
    return (total + column.array()) * np.float32(body.person.bone)


def _tubes(
    canvas: Canvas, curves: np.ndarray, half: np.ndarray, gains: np.ndarray | float = 1.0
) -> None:
    """Tubes around (m, n, 2) curves."""
    gains = np.broadcast_to(gains, len(curves))
    for share, value in _TUBE:
        for outline, gain in zip(strip(curves, share * half), gains, strict=True):
            canvas.polygon(outline, value * gain)


def _ribs(body: Body, project: Projector, back: Canvas, front: Canvas) -> None:
    p = body.person
    rib = np.arange(RIBS)
    head = p.rib_top + p.rib_step * rib + p.rib_offsets + 0.5 * p.rib_skew * (_BOTH[:, None] > 0)
    drop = p.rib_drop * np.interp(rib, (0, 3, 7, 10), (0.42, 0.78, 1.0, 0.95)) + p.rib_tilts
    lateral = head + 0.5 * drop
    width = np.stack([wall_x(body, lateral[k], side) for k, side in enumerate((-1, 1))]) + 0.25
    width = np.maximum(width, 5.0 - 0.2 * rib)
    inner = 2.0
    start = np.arcsin(np.minimum(inner / width, 0.9))
    reach = np.interp(rib, (0, 1, 4, 7, 10), (0.6, 0.42, 0.46, 0.68, 0.9))
    end = np.pi - np.arcsin(reach)
    count, turn = 30, 15
    angle = start[..., None] + (end - start)[..., None] * np.linspace(0.0, 1.0, count)
    depth = 1.02 * p.depth * np.interp(rib, (0, 4), (0.6, 1.0))
    lean = np.interp(rib, (0, 5, 10), (0.3, 0.0, -0.5))
    sine, cosine = np.sin(angle), np.cos(angle)
    x = width[..., None] * sine
    y = head[..., None] + drop[..., None] * 0.5 * (1.0 - cosine) - lean[:, None] * sine
    # a rib first rises a little from its head: the neck of the rib
    y = y - 0.35 * np.exp(-(((x - inner - 1.6) / 1.2) ** 2)) * (angle < np.pi / 2)
    middle = spine_x(body, head)[..., None]
    shape = np.stack([_BOTH[:, None, None] * x + middle, y, -depth[:, None] * cosine], -1)
    curves = project(shape.reshape(2 * RIBS, count, 3))
    half = p.rib_width / project.field
    gains = np.where(np.arange(2 * RIBS) % RIBS == 0, 0.75, 1.0)
    _tubes(back, curves[:, : turn + 2], half * np.linspace(0.85, 1.0, turn + 2), gains)
    _tubes(front, curves[:, turn:], half * np.linspace(0.95, 1.22, count - turn), 0.72 * gains)


def _clavicle(body: Body, project: Projector, side: int, canvas: Canvas) -> None:
    p = body.person
    y, rise, bow = p.clavicle_y, p.clavicle_rise + 0.8 * body.arms, p.clavicle_bow
    knots = np.array(
        [
            (1.7, y + 0.5, 5.2),
            (3.0, y - 0.15 * rise, 5.8),
            (6.0, y - 0.35 * rise + 0.45 * bow, 5.6),
            (9.5, y - 0.7 * rise + 0.1 * bow, 3.5),
            (13.0, y - 1.0 * rise - 0.5 * bow, 0.5),
            (16.0, y - 1.0 * rise - 0.2 * bow, -1.5),
        ]
    )
    # the outer end stays under the skin of the shoulder
    knots[:, 1] = np.maximum(knots[:, 1], shoulder_y(body, knots[:, 0]) + 1.1)
    knots[:, 0] *= side
    curve = project(smooth_curve(knots))
    along = np.linspace(0, 1, len(curve))
    spread = np.interp(along, (0, 0.15, 0.5, 0.9, 1), (1.5, 1.1, 0.9, 1.1, 1.2))
    _tubes(canvas, curve[None], p.clavicle_width * spread / project.field, 1.7)


_BLADE = np.array(
    [(0.0, 0.0), (-0.3, 5.0), (1.2, 13.0), (2.3, 12.6), (4.6, 4.6), (5.4, 2.6), (3.0, 0.2)]
)


def _scapula(body: Body, project: Projector, side: int, canvas: Canvas) -> None:
    p = body.person
    x = p.scapula + 3.4 * body.arms - 1.2
    corner = np.array([x, p.shoulder + p.slope + 1.4])
    # the blade's lower end swings outwards as the arm is raised
    tilt = p.scapula_tilt + 0.22 * body.arms
    cos, sin = np.cos(tilt), np.sin(tilt)
    blade = _BLADE @ np.array([[cos, -sin], [sin, cos]])
    outline = corner + smooth_curve(np.concatenate([blade, blade[:1]]), 5)
    points = project(flat(outline * (side, 1.0), -5.5))
    canvas.polygon(points, 0.34)
    canvas.line(points, 0.42 / project.field, 0.8)
    ridge = corner + np.array([(0.6, 2.4), (3.2, 0.9), (6.0, -1.0), (7.2, -1.3)])
    curve = project(flat(smooth_curve(ridge) * (side, 1.0), -6.0))
    _tubes(canvas, curve[None], np.full(len(curve), 0.5 / project.field), 1.4)


def _humerus(body: Body, project: Projector, side: int, canvas: Canvas) -> None:
    shoulder, direction = arm(body)
    t = np.linspace(0.0, 1.0, 14)[:, None]
    curve = shoulder + np.array([0.6, -0.6]) + direction * (t * 40.0)
    half = np.interp(t[:, 0], (0.0, 0.08, 0.2, 1.0), (1.9, 2.1, 1.2, 1.1))
    points = project(flat(curve * (side, 1.0), -1.0))
    _tubes(canvas, points[None], half / project.field, 2.0)


def arm(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Where the left arm begins and which way it points, cm."""
    p = body.person
    start = np.array([p.width + 0.7 * p.fat + 4.2, p.shoulder + p.slope + 3.2])
    angle = np.deg2rad(80.0 - 50.0 * body.arms)
    return start, np.array([np.cos(angle), np.sin(angle)])


_BOX = np.array([(-1.0, -0.44), (-0.88, 0.0), (-1.0, 0.44), (1.0, 0.44), (0.88, 0.0), (1.0, -0.44)])


def _spine(body: Body, project: Projector, canvas: Canvas) -> None:
    p = body.person
    height = 2.3
    y = np.arange(-28.0, 32.0, height) + 0.6 * (p.rib_top + 13.0)
    centre = np.stack([spine_x(body, y), y], -1)[:, None]
    wide = p.spine_width * np.interp(y, (-22, -14, 0, 14), (0.75, 0.9, 1.0, 1.25))
    scale = np.stack([wide, np.full(len(y), height)], -1)[:, None]
    aside = np.stack([0.62 * wide, np.full(len(y), -0.2)], -1)[:, None]
    layers = (
        (centre + _BOX * scale, -5.0, 0.95),
        (centre + _BOX * scale * (0.84, 0.8), -5.0, 0.8),
        (centre + _BOX * (0.34, 0.75) - aside * (1.0, -1.0), -6.0, 1.15),
        (centre + _BOX * (0.34, 0.75) + aside, -6.0, 1.15),
        (centre + _BOX * (0.3, 1.3) + (0.0, 0.75), -8.5, 1.25),
    )
    for outlines, z, value in layers:
        for outline in project(flat(outlines, z)):
            canvas.polygon(outline, value)


def spine_x(body: Body, y: np.ndarray) -> np.ndarray:
    """The spine's distance from the midline at height y."""
    p = body.person
    return p.spine_bend * np.sin(np.asarray(y) / 7.0 + p.spine_phase)
