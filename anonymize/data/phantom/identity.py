"""What makes a person: the shape of one thorax, in centimetres.

Axes: x to the patient's left (image right), y downwards, z forwards; the origin is on the midline,
about at the sixth thoracic vertebra. Values are for a deep breath in, standing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from anonymize.data.phantom.streams import IDENTITY, stream

RIBS = 11


@dataclass(frozen=True)
class Identity:
    """One patient's anatomy. Lengths in cm, angles in radians, the rest relative to 1."""

    female: bool
    width: float  # half of the inner thorax at its widest
    apex: float  # y of the lung apices
    dome: float  # y of the right diaphragm dome
    dome_gap: float  # the left dome is lower by
    recess: float  # the costophrenic angle lies below the dome by
    dome_peak: float  # x of the dome's top, share of the half width
    depth: float  # half of the inner thorax from front to back
    taper: float  # width of the upper third, share of the half width
    flare: float  # width at the costophrenic angle, share of the half width
    lopsided: float  # left lung wider than the right, share
    fat: float  # soft tissue outside the ribs
    shoulder: float  # y of the shoulder over the neck's foot
    slope: float  # how much the shoulder falls to the side
    neck: float  # half width of the neck
    breast: float  # thickness of the breast shadow
    breast_x: float
    breast_y: float
    rib_drop: float  # how far a rib descends from back to front
    rib_step: float  # distance from rib to rib at the spine
    rib_top: float  # y of the first rib's head
    rib_width: float
    rib_skew: float  # ribs of the left side lower by
    clavicle_rise: float
    clavicle_bow: float
    clavicle_y: float
    clavicle_width: float
    scapula: float  # x of the medial border with the arms rolled forward
    scapula_tilt: float
    heart: float  # relative width of the heart
    heart_length: float
    heart_apex: float  # y of the cardiac apex
    heart_right: float  # bulge of the right atrium
    heart_shift: float
    knob: float  # radius of the aortic knob
    knob_y: float
    pedicle: float  # half width of the upper mediastinum
    unfolding: float  # how far the descending aorta bows to the left
    trunk: float  # bulge of the pulmonary trunk
    hilum_y: float
    hilum_gap: float  # the left hilum is higher by
    hilum: float  # relative size of the hila
    spine_bend: float  # amplitude of the scoliosis
    spine_phase: float
    spine_width: float
    bone: float  # relative mineral density
    vessels: float  # relative calibre of the vessels
    bubble: float  # size of the gastric bubble
    bubble_x: float
    lung_air: float  # relative aeration
    rib_offsets: np.ndarray  # (2, RIBS) cm, right side first
    rib_tilts: np.ndarray  # (2, RIBS) cm
    mottle: int  # seed of the soft tissue's texture
    wall: np.ndarray  # (2, 4) cm, individual waviness of the chest wall, right side first


# mean of women, mean of men, standard deviation
_NORMS: dict[str, tuple[float, float, float]] = {
    "width": (12.2, 13.4, 0.9),
    "apex": (-13.0, -13.9, 0.85),
    "dome": (8.4, 9.3, 1.1),
    "dome_gap": (1.1, 1.1, 0.6),
    "recess": (3.4, 3.7, 0.7),
    "dome_peak": (0.48, 0.48, 0.06),
    "depth": (7.0, 7.9, 0.6),
    "taper": (0.80, 0.81, 0.03),
    "flare": (1.0, 1.0, 0.035),
    "lopsided": (0.0, 0.0, 0.025),
    "fat": (4.5, 4.3, 1.5),
    "shoulder": (-15.6, -16.2, 1.0),
    "slope": (3.6, 3.2, 1.2),
    "neck": (5.0, 5.9, 0.6),
    "breast": (2.2, 0.3, 0.9),
    "breast_x": (7.8, 8.0, 0.9),
    "breast_y": (7.0, 5.0, 1.8),
    "rib_drop": (8.2, 8.0, 1.6),
    "rib_step": (2.12, 2.26, 0.11),
    "rib_top": (-12.4, -13.2, 0.6),
    "rib_width": (0.50, 0.58, 0.06),
    "rib_skew": (0.0, 0.0, 0.35),
    "clavicle_rise": (1.6, 2.0, 1.5),
    "clavicle_bow": (1.0, 1.1, 0.45),
    "clavicle_y": (-11.2, -11.8, 0.7),
    "clavicle_width": (0.52, 0.62, 0.07),
    "scapula": (11.6, 12.4, 0.9),
    "scapula_tilt": (0.24, 0.24, 0.07),
    "heart": (1.0, 1.0, 0.09),
    "heart_length": (1.0, 1.0, 0.07),
    "heart_apex": (7.4, 7.8, 0.8),
    "heart_right": (3.7, 3.8, 0.45),
    "heart_shift": (0.0, 0.0, 0.35),
    "knob": (1.5, 1.65, 0.25),
    "knob_y": (-6.6, -6.9, 0.6),
    "pedicle": (2.7, 2.9, 0.3),
    "unfolding": (0.3, 0.3, 0.3),
    "trunk": (0.0, 0.0, 0.35),
    "hilum_y": (-1.6, -1.8, 0.6),
    "hilum_gap": (0.9, 0.9, 0.35),
    "hilum": (1.0, 1.0, 0.15),
    "spine_bend": (0.0, 0.0, 0.5),
    "spine_phase": (0.0, 0.0, 1.2),
    "spine_width": (1.75, 1.95, 0.13),
    "bone": (0.95, 1.05, 0.12),
    "vessels": (1.0, 1.0, 0.12),
    "bubble": (1.6, 1.6, 0.7),
    "bubble_x": (6.0, 6.0, 1.3),
    "lung_air": (1.0, 1.0, 0.05),
}


def draw_identity(seed: int, patient: int, *, female: bool) -> Identity:
    """Anatomy of a patient; a pure function of its arguments."""
    rng = stream(seed, patient, IDENTITY)
    z = np.clip(rng.standard_normal(len(_NORMS)), -2.2, 2.2)
    values = {
        name: (norms[0] if female else norms[1]) + norms[2] * z[i]
        for i, (name, norms) in enumerate(_NORMS.items())
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
