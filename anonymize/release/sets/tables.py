"""The tables of a set release: public manifest, labels and certificate; private map and lists."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence

import numpy as np

from anonymize.anonymizer import Anonymizer
from anonymize.release import storage
from anonymize.release.csv_bytes import csv_bytes
from anonymize.release.entries import Entry
from anonymize.release.places import MANIFEST, SET_FILES, SIGNATURE, Places
from anonymize.release.reasons import Refused
from anonymize.release.sets import page
from anonymize.release.sets.certificate import CERTIFICATE, Certificate
from anonymize.release.sets.mixing import Mixed, Output
from anonymize.release.sets.spool import Spooled
from anonymize.release.shards import Method
from anonymize.release.tables import MAP, QUARANTINE, TEXT, manifest, number, sheet_of

LABELS = "labels.csv"
assert {CERTIFICATE, page.PAGE, LABELS} == set(SET_FILES)


def write(
    places: Places,
    mixed: Mixed,
    published: Sequence[tuple[Output, Entry]],
    refused: Mapping[str, Refused],
    certificate: Certificate,
    model: Anonymizer,
) -> dict[str, str]:
    """Writes them all, an older signature removed first; the sha256 of the public ones."""
    storage.remove(places.out / SIGNATURE)
    entries = [entry for _, entry in published]
    c = certificate
    counts = (c.inputs, c.released, c.not_grouped + c.quarantined, c.left_out)
    public = {
        MANIFEST: b"".join(manifest(entries, counts, Method.of(model))),
        CERTIFICATE: certificate.written(),
        page.PAGE: page.written(certificate),
    }
    if certificate.labels:
        public[LABELS] = _labels(mixed, published, certificate.labels)
    private = {
        MAP: _map(mixed, published),
        QUARANTINE: csv_bytes(
            ("input", "reason", "detail", "meaning"),
            sorted((p, r.reason.value, r.detail, r.reason.meaning) for p, r in refused.items()),
        ),
    }
    if rows := touched(mixed, published):
        private[TEXT] = csv_bytes(("input", "output", "regions", "sheet"), rows)
    for path, data in private.items():
        storage.write_whole(places.private / path, data, mode=0o600)
    for path, data in public.items():
        storage.write_whole(places.out / path, data)
    return {path: hashlib.sha256(data).hexdigest() for path, data in public.items()}


def _labels(
    mixed: Mixed, published: Sequence[tuple[Output, Entry]], labels: Sequence[str]
) -> bytes:
    rows = []
    for output, _ in published:
        known = mixed.targets[output.rows].astype(np.float64)
        counts = (~np.isnan(known)).sum(axis=0)
        means = np.nansum(known, axis=0) / np.maximum(counts, 1)
        values = [number(m) if c else "" for m, c in zip(means.tolist(), counts, strict=True)]
        rows.append((output.name, *values))
    return csv_bytes(("output", *labels), rows)


def _map(mixed: Mixed, published: Sequence[tuple[Output, Entry]]) -> bytes:
    rows = [
        (image.path, image.sha256, entry.output, entry.output_sha256, "")
        for output, entry in published
        for image in _members(mixed, output)
    ]
    columns = ("input", "input_sha256", "output", "output_sha256", "note")
    return csv_bytes(columns, sorted(rows, key=lambda row: (os.fsencode(row[0]), row[2])))


def touched(
    mixed: Mixed, published: Sequence[tuple[Output, Entry]]
) -> list[tuple[str, str, int, str]]:
    """Images that lost text, and the outputs that show them."""
    return sorted(
        (image.path, output.name, image.text.regions, sheet_of(image.path))
        for output, _ in published
        for image in _members(mixed, output)
        if image.text is not None and image.text.regions
    )


def _members(mixed: Mixed, output: Output) -> list[Spooled]:
    return [mixed.images[row] for row in output.rows.tolist()]
