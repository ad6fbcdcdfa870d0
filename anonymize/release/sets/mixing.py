"""Images and their patients → outputs, by a method whose random numbers follow from the secret."""

import hashlib
import hmac
import json
from dataclasses import dataclass, replace

import numpy as np

from anonymize.inference import one_thread
from anonymize.release.preparation import Release
from anonymize.release.sets.spool import Spool, Spooled, SpooledImages
from anonymize.release.sets.whose import targets
from anonymize.release.uniform import of_gray
from anonymize.set_anonymizer import Radiographs, SetAnonymizer

PURPOSE = b"anonymize set release, version 1"


@dataclass(frozen=True)
class Output:
    """One output: its name under OUT, its place among the method's, the images that went into it
    (rows of ``Mixed.images``) and the group of patients that it was made within."""

    name: str
    place: int
    rows: np.ndarray
    group: int


@dataclass(frozen=True)
class Mixed:
    """What a method made of a set: ``outputs`` in the order of their names, ``gray`` (M, H, W) in
    [0, 1] and their ``labels`` (M, L) by their place; ``patients`` (N,) are codes, ``targets``
    (N, L) what is known."""

    images: list[Spooled]
    patients: np.ndarray
    targets: np.ndarray
    gray: np.ndarray
    labels: np.ndarray
    outputs: list[Output]
    plan: str


def mixed(
    images: list[Spooled], who: dict[str, str], spool: Spool, model: SetAnonymizer, release: Release
) -> Mixed:
    """The outputs of ``images``, whose patients are ``who`` by path; the same for the same secret.
    Raises ModelError: the method breaks the contract of :meth:`SetAnonymizer.released`."""
    options, secret = release.options, release.naming.secret
    assert options.uniform is not None
    assert secret is not None  # this release is open
    paths = [image.path for image in images]
    patients = np.unique([who[path] for path in paths], return_inverse=True)[1].astype(np.int64)
    known = targets(paths, options.people)
    given = Radiographs(SpooledImages(spool, paths, options.uniform.size), patients, known)
    keyed = model.keyed(hmac.digest(secret, PURPOSE, "sha256"))
    with one_thread():
        made = keyed.released(given)
        gray = made.images.batch(np.arange(len(made)))[:, 0].cpu().numpy()
    digest, plain = hashlib.sha256(), replace(options.uniform, format="png")
    groups = np.asarray(made.groups).tolist()
    for shown, rows, group in zip(gray, made.contributors, groups, strict=True):
        whose = [(paths[row], images[row].digest, who[paths[row]]) for row in rows.tolist()]
        digest.update(json.dumps([whose, group]).encode() + b"\n")
        digest.update(of_gray(shown, plain, "", None).pixels.tobytes())
    labels = made.targets(known)
    if made.labels is not None:
        digest.update(labels.tobytes())
    plan = digest.hexdigest()
    format = "DICOM" if options.uniform.format == "dicom" else "PNG"
    outputs = [
        Output(release.naming.name(f"{plan} {place}", format), place, np.asarray(rows), group)
        for place, (rows, group) in enumerate(zip(made.contributors, groups, strict=True))
    ]
    outputs.sort(key=lambda output: output.name)
    return Mixed(images, patients, known, gray, labels, outputs, plan)
