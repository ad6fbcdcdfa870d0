"""Whose each image is: by a table of the user's, or by DICOM headers; never guessed.

Whoever counts as two people breaks what a method promises, so a contradiction makes all images that
it is about unknown. Two people who count as one break nothing.
"""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from anonymize.release.dicom.pseudonyms import Pseudonyms
from anonymize.release.reasons import Reason, Refused
from anonymize.release.sets.people import People
from anonymize.release.sets.spool import Spooled

TABLE = "not in --patients"
HEADER = "no patient ID in its header, and no --patients"
DISPUTED = "its header names one patient, --patients several"
TWICE = "the same picture under several patients"


def known(
    images: Iterable[Spooled], people: People | None, secret: bytes
) -> tuple[dict[str, str], dict[str, Refused]]:
    """The pseudonym of each image's patient, and the images of whom nobody knows, by path.

    A table, where there is one, decides alone: its ids and those of headers may be of two kinds.
    """
    pseudonyms, found = Pseudonyms(secret), dict[str, str]()
    unknown = dict[str, str]()
    of_header: dict[str, set[str]] = defaultdict(set)
    of_picture: dict[str, set[str]] = defaultdict(set)
    images = list(images)
    for image in images:
        if people is None:
            patient = image.patient
        else:
            own = people.patients.get(image.path, "")
            patient = own and pseudonyms.patient(own)
        if not patient:
            unknown[image.path] = HEADER if people is None else TABLE
            continue
        found[image.path] = patient
        of_header[image.patient or f"no header: {patient}"].add(patient)
        of_picture[image.digest].add(patient)
    for image in images:
        if image.path in found and len(of_header.get(image.patient, ())) > 1:
            unknown[image.path] = DISPUTED
        elif image.path in found and len(of_picture[image.digest]) > 1:
            unknown[image.path] = TWICE
    refused = {path: Refused(Reason.UNKNOWN_PATIENT, why) for path, why in unknown.items()}
    return {path: who for path, who in found.items() if path not in unknown}, refused


def targets(paths: Iterable[str], people: People | None) -> np.ndarray:
    """float32 (N, L): what is known of each image; L is 0 where there are no labels."""
    paths = list(paths)
    labels = () if people is None else people.labels
    unsaid = (float("nan"),) * len(labels)
    rows = [unsaid if people is None else people.targets.get(path, unsaid) for path in paths]
    return np.array(rows, np.float32).reshape(len(paths), len(labels))
