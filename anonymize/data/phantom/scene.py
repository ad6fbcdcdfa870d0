"""The layers of one exposure: where air and tissue lie, before and after disease.

All layers are float32 (size, size); lengths along the ray in cm, shares in [0, 1].
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from anonymize.data.phantom.body import Body, aorta, heart, lung, mediastinum, wall_x
from anonymize.data.phantom.geometry import (
    COARSE,
    Canvas,
    Projector,
    flat,
    mask_of,
    resize,
    smooth_curve,
    soften,
    strip,
)
from anonymize.data.phantom.skeleton import arm


@dataclass
class Scene:
    """What the findings change."""

    body: Body
    project: Projector
    size: int
    lungs: tuple[np.ndarray, np.ndarray]  # coverage, right and left
    air: np.ndarray  # cm of tissue that the lungs' air replaces
    solid: np.ndarray  # share of that air that heart and mediastinum take up
    filled: np.ndarray = field(init=False)  # share of the rest that fluid, consolidation take up
    haze: np.ndarray = field(init=False)  # cm of tissue or fluid added within the lungs
    bare: np.ndarray = field(init=False)  # share of the vessels that is not seen
    extra: np.ndarray = field(init=False)  # cm of tissue added anywhere (negative: air)

    def __post_init__(self) -> None:
        nothing = np.zeros((4, self.size, self.size), dtype=np.float32)
        self.filled, self.haze, self.bare, self.extra = nothing

    @cached_property
    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """x and y of every pixel in the plane of the patient's middle, cm."""
        return self.project.plane(self.size)

    def to_wall(self, side: int) -> np.ndarray:
        """Distance of every pixel from the lateral border of a lung, inwards positive, cm."""
        x, y = self.coordinates
        heights = np.linspace(self.body.person.apex, 22.0, 48)
        wall = wall_x(self.body, heights, side)
        return np.interp(y, heights, wall).astype(np.float32) - side * x

    def either(self) -> np.ndarray:
        """Coverage of both lungs."""
        return np.maximum(*self.lungs)

    def fill(self, share: np.ndarray) -> None:
        """Let fluid or consolidation take up a further share of the lungs' air."""
        self.filled = 1.0 - (1.0 - self.filled) * (1.0 - share)


def build(body: Body, project: Projector, size: int) -> Scene:
    """The layers of a body without lung disease."""
    right, left = (mask_of(size, project(lung(body, side))) for side in (-1, 1))
    either = np.maximum(right, left)
    depth = 2.0 * body.person.depth
    rounded = np.sqrt(np.clip(2.1 * soften(either, 1.9 / project.field) - 0.75, 0.12, 1.0))
    air = either * rounded * np.float32(0.64 * depth * body.person.lung_air)
    return Scene(body, project, size, (right, left), air, _solid(body, project, size))


def _solid(body: Body, project: Projector, size: int) -> np.ndarray:
    """Share of the lungs' depth that heart, great vessels and mediastinum take up."""
    heart_mask = mask_of(size, project(heart(body)))
    thick = np.clip(2.0 * soften(heart_mask, 1.6 / project.field) - 0.7, 0.0, 1.0)
    heart_share = heart_mask * (0.34 + 0.44 * thick)
    column = mask_of(size, project(mediastinum(body)))
    column_share = 0.62 * column
    curve, half = aorta(body)
    vessel = mask_of(size, strip(project(curve), half / project.field))
    return 1.0 - (1.0 - heart_share) * (1.0 - column_share) * (1.0 - 0.28 * vessel)


def torso(body: Body, project: Projector, size: int) -> np.ndarray:
    """Thickness of the body along every ray, lungs counted as tissue, cm."""
    p = body.person
    edge = p.width + p.fat
    shoulder = p.shoulder
    half = np.array(
        [
            (p.neck, -40.0),
            (p.neck, shoulder - 5.0),
            (p.neck + 0.7, shoulder - 2.3),
            (p.neck + 4.0, shoulder),
            (edge - 3.0, shoulder + 0.5 * p.slope),
            (edge + 1.5, shoulder + p.slope),
            (edge + 3.6, shoulder + p.slope + 2.2),
            (edge + 2.4, -5.0),
            (edge + 0.3, -1.0),
            (edge - 0.1, 5.0),
            (edge - 0.2 - 0.4 * p.female, 12.0),
            (edge - 0.1, 19.0),
            (edge + 0.8, 40.0),
        ]
    )
    right = smooth_curve(half)
    outline = np.concatenate([right, right[::-1] * (-1.0, 1.0)])
    trunk = mask_of(size, project(flat(outline)))
    start, direction = arm(body)
    t = np.array([-4.6, -4.2, -3.0, -1.0, 2.0, 12.0, 24.0, 40.0])
    axis = start + direction * t[:, None]
    # rounded where it leaves the shoulder
    rounded = np.interp(t, (-4.6, -4.2, -3.0, -1.0, 2.0), (0.1, 0.4, 0.75, 0.95, 1.0))
    girth = (4.0 + 0.35 * p.fat) / project.field * rounded
    limbs = [strip(project(flat(axis * (side, 1.0))), girth) for side in (-1, 1)]
    limb = mask_of(size, *limbs)

    coarse = min(size, COARSE)
    _, y = project.plane(coarse)
    thickness = np.interp(
        y, (-24.0, -17.0, -11.0, -4.0, 4.0, 14.0, 20.0), (11.5, 13.0, 15.5, 17.5, 18.8, 20.5, 21.5)
    )
    thickness = thickness * (p.depth / 7.5) + 1.1 * (p.fat - 4.4)
    rounded = np.sqrt(
        np.clip(2.0 * soften(resize(trunk, coarse), 2.6 / project.field) - 0.8, 0.12, 1.0)
    )
    limb_round = np.sqrt(
        np.clip(2.0 * soften(resize(limb, coarse), 2.0 / project.field) - 0.8, 0.1, 1.0)
    )
    body_depth = trunk * resize((thickness * rounded).astype(np.float32), size)
    limb_depth = limb * resize((10.0 * limb_round).astype(np.float32), size)
    return np.maximum(body_depth, limb_depth) + 0.25 * np.minimum(body_depth, limb_depth)


def breasts(body: Body, project: Projector, size: int) -> np.ndarray | np.float32:
    """Thickness of the breasts (or the pectoral folds), cm."""
    p = body.person
    if p.breast < 0.05:
        return np.float32(0.0)
    coarse = min(size, 2 * COARSE)
    x, y = project.plane(coarse)
    # full below, fading upwards
    down = y - np.float32(p.breast_y)
    down = np.where(down > 0, down / np.float32(5.2), down / np.float32(13.0)) ** 2
    total = np.zeros_like(x)
    for side in (-1, 1):
        across = (x - np.float32(side * p.breast_x)) / np.float32(6.2)
        total += np.sqrt(np.maximum(1.0 - across * across - down, 0.0))
    return resize(np.float32(p.breast) * total, size)


def airways(body: Body, project: Projector, size: int) -> np.ndarray:
    """Air in trachea and main bronchi, cm."""
    carina = -5.0
    s = body.shift
    courses = [
        (
            np.array([(0.0, -26.0), (0.1, -16.0), (0.25 + 0.6 * s, -9.0), (0.3 + s, carina)]),
            0.85,
            1.35,
        ),
        (np.array([(0.2 + s, carina), (-1.4 + s, -3.0), (-2.7 + s, -1.4)]), 0.6, 0.8),
        (np.array([(0.3 + s, carina), (2.0 + s, -3.3), (4.0 + s, -2.2)]), 0.5, 0.7),
    ]
    canvas = Canvas(size, peak=1.35)
    for knots, half, depth in courses:
        curve = project(flat(smooth_curve(knots), -1.0))
        canvas.polygon(strip(curve, half / project.field), depth)
    return canvas.array()


def bubble(body: Body, project: Projector, size: int) -> np.ndarray | np.float32:
    """Air in the stomach under the left dome, cm; standing, with a fluid level."""
    r = body.person.bubble * body.meal
    if r < 0.7:
        return np.float32(0.0)
    x, y = project.plane(min(size, 2 * COARSE))
    top = body.domes[1] + 0.9
    across = (x - np.float32(body.person.bubble_x)) / np.float32(1.45 * r)
    down = (y - np.float32(top + r)) / np.float32(r)
    inside = np.maximum(1.0 - across * across - down * down, 0.0)
    level = np.clip((np.float32(top + 1.45 * r) - y) / np.float32(0.25), 0.0, 1.0)
    return resize(np.float32(2.6 * r) * np.sqrt(inside) * level, size)
