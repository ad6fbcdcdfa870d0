"""How one exposure is taken: view, position, breath, exposure, detector, side marker."""

from dataclasses import dataclass

import numpy as np

from anonymize.data.phantom.streams import ACQUISITION, stream

_CAREFUL, _HURRIED, _CAREFUL_SHARE = 0.25, 2.0, 0.66


@dataclass(frozen=True)
class Acquisition:
    """One exposure. Lengths in cm, angles in radians."""

    view: str  # "PA" or "AP"
    field: float  # side of the square that the image shows, in the plane of the patient's middle
    shift_x: float
    shift_y: float
    roll: float  # rotation in the plane of the image
    yaw: float  # rotation about the patient's long axis
    pitch: float  # the patient leans back: structures in front project higher
    breath: float  # 0 is a deep breath in, 1 a quiet breath out
    arms: float  # 0 arms at the sides, 1 raised with the scapulae out of the lungs
    centre: float  # window centre, optical depth relative to the automatic exposure
    width: float  # window width, optical depth
    scatter: float  # scattered share of the detected intensity
    shading: float  # heel effect: optical depth across the image, top to bottom
    blur: float  # detector blur, cm
    noise: float  # standard deviation of the optical depth at unit transmission, 256 px
    marker: str  # "L", "R" or ""
    marker_x: float
    marker_y: float
    marker_size: float  # share of the image
    meal: float  # relative size of the gastric bubble
    fat: float  # drift of the soft tissue since the first visit


def draw_acquisition(seed: int, patient: int, follow_up: int, *, view: str) -> Acquisition:
    """Parameters of one exposure; a pure function of its arguments."""
    rng = stream(seed, patient, ACQUISITION, follow_up)
    portable = view == "AP"
    z = np.clip(rng.standard_normal(14), -2.3, 2.3)
    u = rng.random(7)

    # most exposures of a patient are positioned alike, some are far off: bed, pain, haste
    z[:8] *= _CAREFUL if rng.random() < _CAREFUL_SHARE else _HURRIED

    def pick(pa: tuple[float, float], ap: tuple[float, float], k: int) -> float:
        mean, sd = ap if portable else pa
        return float(mean + sd * z[k])

    side = "L" if u[0] < 0.5 else "R"
    edge = 0.06 + 0.10 * u[1]
    return Acquisition(
        view=view,
        field=pick((37.0, 1.7), (38.2, 2.1), 0),
        shift_x=pick((0.0, 0.6), (0.0, 1.0), 1),
        shift_y=pick((-0.6, 1.0), (-0.6, 1.35), 2),
        roll=pick((0.0, 0.018), (0.0, 0.035), 3),
        yaw=pick((0.0, 0.035), (0.0, 0.065), 4),
        pitch=pick((0.0, 0.03), (0.06, 0.055), 5),
        breath=float(np.clip(pick((0.15, 0.2), (0.75, 0.3), 6), -0.2, 1.6)),
        arms=float(np.clip(pick((0.8, 0.2), (0.15, 0.2), 7), 0.0, 1.0)),
        centre=pick((-0.15, 0.22), (-0.25, 0.3), 8),
        width=float(pick((1.0, 0.16), (1.1, 0.18), 9)),
        scatter=float(np.clip(pick((0.10, 0.04), (0.25, 0.08), 10), 0.02, 0.5)),
        shading=pick((0.0, 0.15), (0.0, 0.25), 11),
        blur=float(0.05 + 0.06 * u[4]),
        noise=float(0.002 + 0.004 * u[5]),
        marker=side if u[2] < 0.85 else "",
        marker_x=float(1.0 - edge if side == "L" else edge),
        marker_y=float(0.04 + 0.16 * u[3] if u[6] < 0.8 else 0.80 + 0.14 * u[3]),
        marker_size=float(0.03 + 0.025 * u[6]),
        meal=float(np.clip(1.0 + 0.55 * z[13], 0.0, 1.6)),
        fat=0.25 * float(z[12]),
    )
