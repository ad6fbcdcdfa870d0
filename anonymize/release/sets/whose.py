"""Whose each image is: by a table of the user's, or by DICOM headers; never guessed.

Whoever counts as two people breaks what a method promises, so a contradiction makes all images that
it is about unknown: of one header, or of one film that was saved again, brighter, compressed or as
its negative. Two people who count as one break nothing: so do, in all other images, those whom a
contradiction joins.
"""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from anonymize.release.dicom.pseudonyms import Pseudonyms, normal
from anonymize.release.reasons import Reason, Refused
from anonymize.release.sets.people import People
from anonymize.release.sets.spool import Spooled

TABLE = "not in --patients"
HEADER = "no patient ID in its header, and no --patients"
DISPUTED = "its header names one patient, --patients several"
TWICE = "the same picture under several patients"
# Correlation of two sketches from which on they show one film: of 3,000 children's radiographs no
# two people's exceed 0.975, and a film as JPEG, brighter or of another gamma stays above 0.993.
ONE_FILM = 0.99  # of a negative as much below 0, where two people come to -0.25
BLOCK = 256  # sketches that are compared with all others at a time


def known(
    images: Iterable[Spooled], people: People | None, secret: bytes
) -> tuple[dict[str, str], dict[str, Refused]]:
    """The pseudonym of each image's patient, and the images of whom nobody knows, by path.

    A table, where there is one, decides alone: its ids and those of headers may be of two kinds.
    """
    pseudonyms, found = Pseudonyms(secret), dict[str, str]()
    unknown = dict[str, str]()
    of_header: dict[str, set[str]] = defaultdict(set)
    images = list(images)
    for image in images:
        if people is None:
            patient = image.patient
        else:
            own = normal(people.patients.get(image.path, ""))
            patient = own and pseudonyms.patient(own)
        if not patient:
            unknown[image.path] = HEADER if people is None else TABLE
            continue
        found[image.path] = patient
        of_header[image.patient or f"no header: {patient}"].add(patient)
    twice, same = _shown_twice([image for image in images if image.path in found], found)
    for image in images:
        if image.path in found and len(of_header.get(image.patient, ())) > 1:
            unknown[image.path] = DISPUTED
        elif image.path in twice:
            unknown[image.path] = TWICE
    for one, *others in map(sorted, of_header.values()):
        same |= {(one, other) for other in others}
    refused = {path: Refused(Reason.UNKNOWN_PATIENT, why) for path, why in unknown.items()}
    one_of = _together({*found.values()}, same)
    return {path: one_of[who] for path, who in found.items() if path not in unknown}, refused


def _together(patients: set[str], same: set[tuple[str, str]]) -> dict[str, str]:
    """For each patient the first of those with whom pairs of the ``same`` person join him."""
    from scipy.sparse import coo_array  # asked of releases of sets alone
    from scipy.sparse.csgraph import connected_components

    names = sorted(patients)
    place = {name: number for number, name in enumerate(names)}
    pairs = np.array([[place[a], place[b]] for a, b in same], int).reshape(-1, 2)
    edges = coo_array((np.ones(len(pairs)), pairs.T), (len(names), len(names)))
    part = connected_components(edges, directed=False)[1]
    first = np.unique(part, return_index=True)[1]
    return {name: names[first[number]] for name, number in zip(names, part, strict=True)}


def _shown_twice(
    images: list[Spooled], patients: dict[str, str]
) -> tuple[set[str], set[tuple[str, str]]]:
    """The paths of pictures that are also there as another patient's, and both patients."""
    sketches = np.array([np.frombuffer(i.sketch, np.float16) for i in images], np.float32)
    names, whose = np.unique([patients[image.path] for image in images], return_inverse=True)
    which = np.unique([image.digest for image in images], return_inverse=True)[1]
    found, people = set(), set[tuple[str, str]]()
    for start in range(0, len(images), BLOCK):
        rows = slice(start, start + BLOCK)
        same = np.abs(sketches[rows] @ sketches.T) >= ONE_FILM
        same |= which[rows, None] == which  # also of one gray level, which has no sketch
        same &= whose[rows, None] != whose
        row, other = np.nonzero(same)
        found |= {images[start + place].path for place in np.unique(row)}
        both = np.unique(np.stack([whose[start + row], whose[other]], axis=1), axis=0)
        people |= {(str(a), str(b)) for a, b in names[both]}
    return found, people


def targets(paths: Iterable[str], people: People | None) -> np.ndarray:
    """float32 (N, L): what is known of each image; L is 0 where there are no labels."""
    paths = list(paths)
    labels = () if people is None else people.labels
    unsaid = (float("nan"),) * len(labels)
    rows = [unsaid if people is None else people.targets.get(path, unsaid) for path in paths]
    return np.array(rows, np.float32).reshape(len(paths), len(labels))
