"""The public tables of a set release, looked at by somebody who has nothing else."""

from collections.abc import Iterable, Mapping
from itertools import zip_longest

from anonymize.release.records.manifests import ManifestError, read_rows
from anonymize.release.records.tables import COUNTS, number
from anonymize.release.sets import page
from anonymize.release.sets.certificate import Certificate


def check_page(data: bytes, told: Certificate) -> None:
    """Raises ManifestError unless ``data`` is the page that belongs to ``told``."""
    if data != page.written(told):
        raise ManifestError(0, "another page than the certificate's")


def check_manifest(row: Mapping[str, str], outputs: int, told: Certificate) -> None:
    """Raises ManifestError where a manifest of so many ``outputs``, all like its first ``row`` in
    method and counts, and the certificate are of two releases."""
    refused = told.not_grouped + told.quarantined
    counts = (told.inputs, told.released, refused, told.left_out)
    if outputs != told.outputs or (row and row["method"] != told.method):
        raise ManifestError(0, "other outputs than the certificate says")
    if row and tuple(int(row[key]) for key in COUNTS) != counts:
        raise ManifestError(0, "other counts than the certificate says")


def check_labels(lines: Iterable[bytes], told: Certificate, outputs: Iterable[str]) -> None:
    """Raises ManifestError unless the table holds a mean in [0, 1] or nothing for each of
    ``outputs`` and each label of ``told``; where there are no labels, there is no table."""
    other = ManifestError(0, "other outputs than the manifest's")
    if not told.labels:
        raise other
    rows = read_rows(lines, ("output", *told.labels))
    for place, (row, output) in enumerate(zip_longest(rows, outputs), 1):
        if row is None or row[0] != output:
            raise other
        if not all(map(_is_mean, row[1:])):
            raise ManifestError(place, "a value that no release writes")


def _is_mean(value: str) -> bool:
    try:
        return not value or (0 <= float(value) <= 1 and number(float(value)) == value)
    except ValueError:
        return False
