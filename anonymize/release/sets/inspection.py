"""The public tables of a set release, looked at by somebody who has nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from anonymize.release.csv_bytes import csv_bytes
from anonymize.release.manifests import ManifestError, Row, read_rows
from anonymize.release.places import SET_FILES
from anonymize.release.sets import certificate, page
from anonymize.release.sets.certificate import Certificate
from anonymize.release.tables import COUNTS, number

CERTIFICATE, PAGE, LABELS = SET_FILES


def read(data: bytes) -> Certificate:
    """The certificate; ManifestError where it is none."""
    try:
        return certificate.read(data)
    except ValueError as error:
        raise ManifestError(0, str(error)) from None


def check_page(data: bytes, told: Certificate) -> None:
    """Raises ManifestError unless ``data`` is the page that belongs to ``told``."""
    if data != page.written(told):
        raise ManifestError(0, "another page than the certificate's")


def check_manifest(rows: Sequence[dict[str, str]], told: Certificate) -> None:
    """Raises ManifestError where manifest and certificate are of two releases."""
    refused = told.not_grouped + told.quarantined
    counts = (told.inputs, told.released, refused, told.left_out)
    if len(rows) != told.outputs or any(row["method"] != told.method for row in rows):
        raise ManifestError(0, "other outputs than the certificate says")
    if any(tuple(int(row[key]) for key in COUNTS) != counts for row in rows):
        raise ManifestError(0, "other counts than the certificate says")


def check_labels(data: bytes | None, told: Certificate, outputs: Sequence[Row]) -> None:
    """Raises ManifestError unless ``data`` holds a mean in [0, 1] or nothing for each of
    ``outputs`` and each label of ``told``; there is none (None) where there are no labels."""
    if data is None:
        if told.labels:
            raise ManifestError(0, "it is missing")
        return
    columns = ("output", *told.labels)
    rows = read_rows(data, columns)
    if not told.labels or [row[0] for row in rows] != [row.output for row in outputs]:
        raise ManifestError(0, "other outputs than the manifest's")
    for place, row in enumerate(rows, 1):
        if not all(map(_is_mean, row[1:])):
            raise ManifestError(place, "a value that no release writes")
    if csv_bytes(columns, rows) != data:
        raise ManifestError(0, "not as a release writes its tables")


def _is_mean(value: str) -> bool:
    try:
        return not value or (0 <= float(value) <= 1 and number(float(value)) == value)
    except ValueError:
        return False
