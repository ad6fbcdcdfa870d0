"""The branching tree of the pulmonary vessels, grown once for a patient."""

from functools import lru_cache

import numpy as np

from anonymize.data.phantom.body import Body, sink, wall_x
from anonymize.data.phantom.geometry import Canvas, Projector
from anonymize.data.phantom.identity import Identity
from anonymize.data.phantom.streams import VESSELS, stream

_GENERATIONS = 6
_STEPS = 4


@lru_cache(maxsize=64)
def grow(seed: int, patient: int) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Branches of each generation: courses (2, n, 5, 3) in cm from the hila, right side first, and
    radii (2, n) in cm. Courses point away from the midline for both sides."""
    rng = stream(seed, patient, VESSELS)
    roots = np.deg2rad(np.array([-78.0, -52.0, -22.0, 8.0, 34.0, 56.0, 76.0]))
    angle = roots + rng.normal(0.0, 0.13, (2, len(roots)))
    start = np.zeros((2, len(roots), 3))
    start[..., 1] = np.linspace(-1.1, 2.4, len(roots))
    length = rng.uniform(3.0, 4.6, angle.shape) * (1.0 + 0.25 * np.abs(np.sin(angle)))
    radius = rng.uniform(0.34, 0.5, angle.shape)
    generations = []
    for _ in range(_GENERATIONS):
        bend = rng.normal(0.0, 0.11, (*angle.shape, _STEPS)).cumsum(-1)
        heading = angle[..., None] + bend
        depth = rng.normal(0.0, 0.22, (*angle.shape, 1)).repeat(_STEPS, -1)
        step = np.stack([np.cos(heading), np.sin(heading), depth], -1)
        course = start[..., None, :] + np.concatenate(
            [np.zeros((*angle.shape, 1, 3)), (step * length[..., None, None] / _STEPS).cumsum(-2)],
            -2,
        )
        generations.append((course, radius))
        fork = np.abs(rng.normal(0.5, 0.14, (*angle.shape, 2))) * (-1.0, 1.0)
        share = rng.uniform(0.35, 0.65, angle.shape)
        fork = fork * np.stack([1 - share, share], -1) * 2
        angle = (heading[..., -1:] + fork).reshape(2, -1)
        start = course[..., -1, :].repeat(2, axis=1)
        shrink = np.stack([share, 1 - share], -1) ** 0.42
        radius = (radius[..., None] * shrink * 0.98).reshape(2, -1)
        length = (length[..., None] * rng.uniform(0.62, 0.92, fork.shape)).reshape(2, -1)
    return tuple(generations)


def hilum(person: Identity, side: int, shift: float) -> np.ndarray:
    """Where the vessels of a lung come from, (2,) cm."""
    x = 0.5 + 0.95 * person.pedicle
    return np.array([side * x + shift, person.hilum_y - (person.hilum_gap if side > 0 else 0.0)])


def vessels(
    body: Body, project: Projector, size: int, trees: tuple[tuple[np.ndarray, np.ndarray], ...]
) -> np.ndarray:
    """Blood in the vessels along every ray before the lungs' borders, float32 (size, size), cm."""
    p = body.person
    canvas = Canvas(size, peak=3.0)
    for generation, (course, radius) in reversed(tuple(enumerate(trees))):
        for k, side in enumerate((-1, 1)):
            points = course[k] * (side, 1.0, 1.0)
            points[..., :2] += hilum(p, side, body.shift)
            points[..., 1] = sink(body, points[..., 1])
            widths = 2.0 * radius[k] * p.vessels
            if generation >= _GENERATIONS - 2:
                # both branches of a fork in one stroke
                pairs = points.reshape(-1, 2, *points.shape[1:])
                points = np.concatenate([pairs[:, 0, ::-1], pairs[:, 1, 1:]], axis=1)
                widths = widths.reshape(-1, 2).mean(axis=1)
            middle = points[:, points.shape[1] // 2]
            beyond = side * middle[:, 0] > wall_x(body, middle[:, 1], side)
            within = ~beyond & (middle[:, 1] < body.angles[k])
            for line, width in zip(project(points[within]), widths[within], strict=True):
                canvas.line(line, width / project.field, 2.4 * width)
    # the central arteries: a thick comma at each hilum
    thick = 1.0 * p.hilum
    for side in (-1, 1):
        x, y = hilum(p, side, body.shift)
        y = float(sink(body, np.array(y)))
        comma = np.array(
            [
                (x - side * 0.8, y - 1.5),
                (x + side * 0.5, y - 0.3),
                (x + side * 0.9, y + 1.6),
                (x + side * 0.7, y + 3.6),
            ]
        )
        points = project(np.concatenate([comma, np.zeros((4, 1))], -1))
        for lower, upper, width in ((0, 2, 1.3), (1, 3, 1.2), (2, 4, 0.8)):
            canvas.line(
                points[lower:upper], thick * width / project.field, min(1.7 * thick * width, 3.0)
            )
    return canvas.array()
