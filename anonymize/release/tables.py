"""The tables that are made from the journal: public manifest, private map, quarantine list."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from anonymize.anonymizer import Anonymizer
from anonymize.release import signature, storage
from anonymize.release.csv_bytes import csv_bytes
from anonymize.release.journal import Entry, Journal
from anonymize.release.labels import account
from anonymize.release.labels.collect import FOLDER, Labels
from anonymize.release.labels.collect import MANIFEST as LABELS
from anonymize.release.places import MANIFEST, SET_FILES, SIGNATURE, Naming
from anonymize.release.reasons import Reason
from anonymize.release.transform import Figures

MAP, QUARANTINE, TEXT = "map.csv", "quarantine.csv", "text.csv"
COMPARISONS = ("ssim", "text_regions")  # that no noise of a method covers
FIGURES = (*(figure.name for figure in fields(Figures)), *COMPARISONS)
# Of the whole release, the same in every row: inputs = ok + quarantined + skipped.
COUNTS = ("release_inputs", "release_ok", "release_quarantined", "release_skipped")
MANIFEST_COLUMNS = ("output", "sha256", "method", "model_sha256", "mu", *FIGURES, *COUNTS)


def write_tables(journal: Journal, inputs: set[str], labels: Labels, model: Anonymizer) -> None:
    """The manifest, and map, quarantine list and tables of labels of ``inputs``.

    An older signature goes first.
    """
    storage.remove(journal.places.out / SIGNATURE)
    entries = journal.entries.values()
    released = sorted((e for e in entries if e.released), key=lambda e: os.fsencode(e.output))
    refused = [
        e
        for e in entries
        if not e.released and (e.input in inputs or e.reason == Reason.VANISHED.value)
    ]
    skipped = sum(Reason(e.reason).left_out for e in refused)
    counts = (len(released) + len(refused), len(released), len(refused) - skipped, skipped)
    public = {MANIFEST: manifest(released, counts, model)}
    rows = [(e.input, e.sha256, e.output, e.output_sha256, e.note) for e in released]
    columns = ("input", "input_sha256", "output", "output_sha256", "note")
    why = sorted((e.input, e.reason, e.detail, Reason(e.reason).meaning) for e in refused)
    private = {
        MAP: csv_bytes(columns, sorted(rows)),
        QUARANTINE: csv_bytes(("input", "reason", "detail", "meaning"), why),
    }
    touched = sorted(
        (e.input, e.output, int(regions), sheet_of(e.input))
        for e in released
        if (regions := (e.figures or {}).get("text_regions"))
    )
    if touched:
        private[TEXT] = csv_bytes(("input", "output", "regions", "sheet"), touched)
    if labels.sources:
        public |= account.tables(labels, [(e.output, e.labels) for e in released])
        held = {e.input: e.reason for e in entries if not e.released}
        private[account.PRIVATE] = account.private_list(labels, held)
    for path, data in public.items():
        storage.write_whole(journal.places.out / path, data)
    for path, data in private.items():
        storage.write_whole(journal.places.private / path, data, mode=0o600)


def write_signature(out: Path, naming: Naming) -> None:
    """Signs the manifests in ``out``; the key to check it with is written beside the secret's."""
    assert naming.secret is not None  # the release is open
    paths = (MANIFEST, f"{FOLDER}/{LABELS}", *SET_FILES)
    tables = {path: (out / path).read_bytes() for path in paths if (out / path).is_file()}
    public = naming.file.with_name(naming.file.name + signature.PUBLIC)
    storage.write_whole(public, signature.public_key(naming.secret))
    storage.write_whole(out / SIGNATURE, signature.sign(tables, naming.secret))


def sheet_of(path: str) -> str:
    """Where, in the private folder, an input is shown before and after its text was removed."""
    return f"text/{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.png"


def manifest(
    released: Sequence[Entry], counts: tuple[int, int, int, int], model: Anonymizer
) -> bytes:
    """OUT/manifest.csv of ``released``, in their order; ``counts`` are those of COUNTS."""
    hidden = COMPARISONS if model.is_differentially_private else ()
    rows = [
        (
            *(e.output, e.output_sha256, model.name, model.fingerprint, number(model.mu)),
            *("" if k in hidden else number((e.figures or {}).get(k)) for k in FIGURES),
            *counts,
        )
        for e in released
    ]
    return csv_bytes(MANIFEST_COLUMNS, rows)


def number(value: float | None) -> str:
    """Six significant digits; "" for None."""
    return "" if value is None else f"{value:.6g}"
