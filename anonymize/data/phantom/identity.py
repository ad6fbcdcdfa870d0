"""What makes a person: the shape of one thorax, in centimetres.

Axes: x to the patient's left (image right), y downwards, z forwards; the origin is on the midline,
about at the sixth thoracic vertebra. Values are for a deep breath in, standing.
"""

from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from anonymize.data.phantom.streams import IDENTITY, stream

RIBS = 11


def norm(women: float, men: float, deviation: float) -> Any:
    """A measure of the population: means and standard deviation."""
    return field(metadata={"norm": (women, men, deviation)})


@dataclass(frozen=True, kw_only=True)
class Identity:
    """One patient's anatomy. Lengths in cm, angles in radians, the rest relative to 1."""

    female: bool
    width: float = norm(12.2, 13.4, 0.9)  # half of the inner thorax at its widest
    apex: float = norm(-13.0, -13.9, 0.85)  # y of the lung apices
    dome: float = norm(8.4, 9.3, 1.1)  # y of the right diaphragm dome
    dome_gap: float = norm(1.1, 1.1, 0.6)  # the left dome is lower by
    recess: float = norm(3.4, 3.7, 0.7)  # the costophrenic angle lies below the dome by
    dome_peak: float = norm(0.48, 0.48, 0.06)  # x of the dome's top, share of the half width
    depth: float = norm(7.0, 7.9, 0.6)  # half of the inner thorax from front to back
    taper: float = norm(0.80, 0.81, 0.03)  # width of the upper third, share of the half width
    flare: float = norm(1.0, 1.0, 0.035)  # width at the costophrenic angle, share of the half width
    lopsided: float = norm(0.0, 0.0, 0.025)  # left lung wider than the right, share
    fat: float = norm(4.5, 4.3, 1.5)  # soft tissue outside the ribs
    shoulder: float = norm(-15.6, -16.2, 1.0)  # y of the shoulder over the neck's foot
    slope: float = norm(3.6, 3.2, 1.2)  # how much the shoulder falls to the side
    neck: float = norm(5.0, 5.9, 0.6)  # half width of the neck
    breast: float = norm(2.2, 0.3, 0.9)  # thickness of the breast shadow
    breast_x: float = norm(7.8, 8.0, 0.9)
    breast_y: float = norm(7.0, 5.0, 1.8)
    rib_drop: float = norm(8.2, 8.0, 1.6)  # how far a rib descends from back to front
    rib_step: float = norm(2.12, 2.26, 0.11)  # distance from rib to rib at the spine
    rib_top: float = norm(-12.4, -13.2, 0.6)  # y of the first rib's head
    rib_width: float = norm(0.50, 0.58, 0.06)
    rib_skew: float = norm(0.0, 0.0, 0.35)  # ribs of the left side lower by
    clavicle_rise: float = norm(1.6, 2.0, 1.5)
    clavicle_bow: float = norm(1.0, 1.1, 0.45)
    clavicle_y: float = norm(-11.2, -11.8, 0.7)
    clavicle_width: float = norm(0.52, 0.62, 0.07)
    scapula: float = norm(11.6, 12.4, 0.9)  # x of the medial border with the arms rolled forward
    scapula_tilt: float = norm(0.24, 0.24, 0.07)
    heart: float = norm(1.0, 1.0, 0.09)  # relative width of the heart
    heart_length: float = norm(1.0, 1.0, 0.07)
    heart_apex: float = norm(7.4, 7.8, 0.8)  # y of the cardiac apex
    heart_right: float = norm(3.7, 3.8, 0.45)  # bulge of the right atrium
    heart_shift: float = norm(0.0, 0.0, 0.35)
    knob: float = norm(1.5, 1.65, 0.25)  # radius of the aortic knob
    knob_y: float = norm(-6.6, -6.9, 0.6)
    pedicle: float = norm(2.7, 2.9, 0.3)  # half width of the upper mediastinum
    unfolding: float = norm(0.3, 0.3, 0.3)  # how far the descending aorta bows to the left
    trunk: float = norm(0.0, 0.0, 0.35)  # bulge of the pulmonary trunk
    hilum_y: float = norm(-1.6, -1.8, 0.6)
    hilum_gap: float = norm(0.9, 0.9, 0.35)  # the left hilum is higher by
    hilum: float = norm(1.0, 1.0, 0.15)  # relative size of the hila
    spine_bend: float = norm(0.0, 0.0, 0.5)  # amplitude of the scoliosis
    spine_phase: float = norm(0.0, 0.0, 1.2)
    spine_width: float = norm(1.75, 1.95, 0.13)
    bone: float = norm(0.95, 1.05, 0.12)  # relative mineral density
    vessels: float = norm(1.0, 1.0, 0.12)  # relative calibre of the vessels
    bubble: float = norm(1.6, 1.6, 0.7)  # size of the gastric bubble
    bubble_x: float = norm(6.0, 6.0, 1.3)
    lung_air: float = norm(1.0, 1.0, 0.05)  # relative aeration
    rib_offsets: np.ndarray  # (2, RIBS) cm, right side first
    rib_tilts: np.ndarray  # (2, RIBS) cm
    mottle: int  # seed of the soft tissue's texture
    wall: np.ndarray  # (2, 4) cm, individual waviness of the chest wall, right side first


@lru_cache(maxsize=256)
def draw_identity(seed: int, patient: int, *, female: bool) -> Identity:
    """Anatomy of a patient; a pure function of its arguments."""
    rng = stream(seed, patient, IDENTITY)
    norms = {f.name: f.metadata["norm"] for f in fields(Identity) if f.metadata}
    z = np.clip(rng.standard_normal(len(norms)), -2.2, 2.2)
    values = {
        name: (women if female else men) + deviation * z[i]
        for i, (name, (women, men, deviation)) in enumerate(norms.items())
    }
    values["breast"] = max(values["breast"] if female else values["breast"] * 0.3, 0.0)
    return Identity(
        female=female,
        **values,
        rib_offsets=0.2 * rng.standard_normal((2, RIBS)),
        rib_tilts=0.45 * rng.standard_normal((2, RIBS)),
        mottle=int(rng.integers(2**31)),
        wall=0.28 * rng.standard_normal((2, 4)),
    )


def aged(identity: Identity, age: float) -> Identity:
    """The same person at `age` years: bone thins, the aorta unfolds, the thorax deepens."""
    late = max(age - 45.0, 0.0) / 10.0
    return replace(
        identity,
        bone=identity.bone * (1.0 - (0.07 if identity.female else 0.045) * late),
        knob=identity.knob + 0.11 * late,
        knob_y=identity.knob_y - 0.1 * late,
        unfolding=identity.unfolding + 0.3 * late,
        heart=identity.heart * (1.0 + 0.012 * late),
        depth=identity.depth * (1.0 + 0.015 * late),
        breast=identity.breast * (1.0 - 0.04 * late),
        breast_y=identity.breast_y + 0.3 * late,
    )
