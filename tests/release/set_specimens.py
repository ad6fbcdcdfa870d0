"""Radiographs of a few people, who is who, and releases in which each output is of several."""

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from dicom_specimens import dx, file, with_pixels
from release_specimens import fill, png, scene

import anonymize
from anonymize.release import pipeline
from anonymize.release.options import ReleaseOptions
from anonymize.release.sets.people import People
from anonymize.release.uniform import Uniform

SIZE = 32
TABLES = {
    "manifest.csv",
    "labels.csv",
    "certificate.json",
    "certificate.md",
}  # of a release, beside its outputs
SPECS = ("k-same:k=3", "mosaic:g=2,m=2")
BENT = "mosaic:g=2,m=4,uses=2,warp=0.1,read=1,band=coarse"  # of 24 people or more readers learn
KEY = bytes(range(32))


def gray(seed, top=255, kind=np.uint8):
    """(40, 52), another picture for each seed."""
    rng = np.random.default_rng(seed)
    there = scene().astype(float) * rng.uniform(0.4, 0.9) + rng.uniform(0, 60, scene().shape)
    return np.round(there.clip(0, 255) * (top / 255)).astype(kind)


def folder(people=8):
    """{path: (content, patient, finding)}; every second patient has two images, and a finding."""
    return {
        f"ward/Smith{patient}_{image}.png": (
            png(gray(10 * patient + image), 8, 0),
            f"MRN00{patient}77",
            patient % 2,
        )
        for patient in range(people)
        for image in range(1 + patient % 2)
    }


def chest(seed, patient):
    """A DICOM file of ``patient``."""
    made = with_pixels(dx(), gray(seed, 4095, np.uint16), bits=12)
    made.PatientID, made.SOPInstanceUID = patient, f"1.2.826.0.1.3680043.8.498.{seed + 1}"
    return file(made)


def people(files, leave_out=()):
    """Who is who in ``files``, as :func:`folder` has them."""
    there = {path: values for path, values in files.items() if path not in leave_out}
    return People(
        {path: patient for path, (_, patient, _) in there.items()},
        {path: (float(finding),) for path, (_, _, finding) in there.items()},
        ("Pneumonia",),
        "0" * 64,
    )


def table(files):
    """The CSV of ``files`` for --patients."""
    text = io.StringIO()
    rows = [(path, patient, finding) for path, (_, patient, finding) in files.items()]
    csv.writer(text).writerows([("path", "patient_id", "Pneumonia"), *rows])
    return text.getvalue().encode()


@dataclass
class Case:
    """A folder of images below ``base``, and releases of it."""

    base: Path
    spec: str = SPECS[0]
    files: dict = field(default_factory=folder)

    @property
    def source(self):
        return self.base / "in"

    def begin(self):
        """Writes the inputs and the key."""
        fill(self.source, {path: content for path, (content, *_) in self.files.items()})
        (self.base / "key").write_bytes(KEY)
        return self

    def apply(self, out="out", **options):
        options = {"people": people(self.files), "uniform": Uniform(SIZE), **options}
        wanted = ReleaseOptions(names="hashed", key_file=self.base / "key", **options)
        return pipeline.apply(self.source, self.base / out, anonymize.load(self.spec), wanted)
