"""One phantom radiograph from its parameters."""

import numpy as np

from anonymize.data.phantom.acquisition import Acquisition, draw_acquisition
from anonymize.data.phantom.body import pose
from anonymize.data.phantom.course import Visit, draw_visit
from anonymize.data.phantom.findings import show
from anonymize.data.phantom.geometry import COARSE, Projector, resize, texture
from anonymize.data.phantom.identity import Identity, draw_identity
from anonymize.data.phantom.projection import detected, marked, optical_depth, scattered, windowed
from anonymize.data.phantom.scene import airways, breasts, bubble, build, torso
from anonymize.data.phantom.skeleton import bones
from anonymize.data.phantom.streams import NOISE, stream, whole
from anonymize.data.phantom.vessels import grow, vessels
from anonymize.errors import UsageError


def draw(*, seed: int, patient_id: str, follow_up: int, size: int) -> np.ndarray:
    """The image of one row of `cohort(seed=seed, ...)`, float32 (size, size) in [0, 1].

    A frontal chest radiograph as it is shown: dense tissue bright (MONOCHROME2), the patient's left
    on the image's right. A pure function of its arguments; at another size it is the same picture
    with another grain.

    Raises UsageError (a ValueError) unless seed >= 0, patient_id is one of the cohort's, follow_up
    is 0 to 999 and size 64 to 1024 pixels.
    """
    seed = whole("seed", seed, 0)
    if not (isinstance(patient_id, str) and patient_id.isascii() and patient_id.isdecimal()):
        raise UsageError(
            "patient_id must be a string of digits as in the table of cohort(), "
            f"not a {type(patient_id).__name__} of another form"
        )
    follow_up = whole("follow_up", follow_up, 0, 999)
    size = whole("size", size, 64, 1024)
    patient = int(patient_id)
    visit = draw_visit(seed, patient, follow_up)
    return render(
        person=draw_identity(seed, patient, female=visit.female),
        acquisition=draw_acquisition(seed, patient, follow_up, view=visit.view),
        visit=visit,
        trees=grow(seed, patient),
        noise=stream(seed, patient, NOISE, follow_up),
        size=size,
    )


def render(
    *,
    person: Identity,
    acquisition: Acquisition,
    visit: Visit,
    trees: tuple[tuple[np.ndarray, np.ndarray], ...],
    noise: np.random.Generator,
    size: int,
) -> np.ndarray:
    """The image of given parameters, float32 (size, size) in [0, 1]."""
    body = pose(person, acquisition, visit)
    project = Projector(acquisition)
    scene = build(body, project, size)
    blood = vessels(body, project, size, trees)
    show(scene, visit.findings)

    open_air = scene.air * (1.0 - scene.solid) * (1.0 - scene.filled)
    seen = np.sqrt(np.clip(scene.air / (1.5 * person.depth), 0.0, 1.0))
    inside = np.minimum(
        scene.haze + blood * seen * (1.0 - scene.solid) * (1.0 - scene.bare) * (1.0 - scene.filled),
        open_air,
    )
    tissue = (
        torso(body, project, size)
        + breasts(body, project, size)
        - open_air
        + inside
        - airways(body, project, size)
        - bubble(body, project, size)
        + scene.extra
    )
    # fat, muscle and bowel are never even
    coarse = min(size, COARSE)
    mottle = texture(project, coarse, seed=person.mottle, cell=3.1)
    mottle = mottle + 0.5 * texture(project, coarse, seed=person.mottle + 1, cell=1.1)
    tissue *= resize(1.0 + np.float32(0.012) * mottle, size)
    depth = optical_depth(tissue, bones(body, project, size))
    depth = detected(scattered(depth, acquisition.scatter), acquisition, noise)
    image = marked(windowed(depth, acquisition), acquisition)
    return np.clip(image, 0.0, 1.0, dtype=np.float32)
