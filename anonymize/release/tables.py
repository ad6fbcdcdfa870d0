"""The tables that are made from the journal: public manifest, private map, quarantine list."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path

from anonymize.release import signature, storage
from anonymize.release.csv_bytes import csv_lines
from anonymize.release.entries import Entry
from anonymize.release.journal import Journal
from anonymize.release.labels import account
from anonymize.release.labels.collect import FOLDER, Labels
from anonymize.release.labels.collect import MANIFEST as LABELS
from anonymize.release.places import MANIFEST, SET_FILES, SIGNATURE, Naming
from anonymize.release.reasons import Reason
from anonymize.release.shards import Method
from anonymize.release.transform import Figures

MAP, QUARANTINE, TEXT, SHEETS = "map.csv", "quarantine.csv", "text.csv", "text"
COMPARISONS = ("ssim", "text_regions")  # that no noise of a method covers
FIGURES = (*(figure.name for figure in fields(Figures)), *COMPARISONS)
# Of the whole release, the same in every row: inputs = ok + quarantined + skipped.
COUNTS = ("release_inputs", "release_ok", "release_quarantined", "release_skipped")
MANIFEST_COLUMNS = ("output", "sha256", "method", "model_sha256", "mu", *FIGURES, *COUNTS)


def write_tables(journal: Journal, inputs: Container[str], labels: Labels, method: Method) -> None:
    """The manifest, and map, quarantine list and tables of labels of ``inputs``.

    An older signature goes first.
    """
    out = journal.places.out
    storage.remove(out / SIGNATURE)
    entries, outcomes = journal.entries, Counter(e.reason for e in _counted(journal, inputs))
    released = outcomes.pop("", 0)
    skipped = sum(n for reason, n in outcomes.items() if Reason(reason).left_out)
    counts = (released + outcomes.total(), released, outcomes.total() - skipped, skipped)
    storage.write_whole(out / MANIFEST, manifest(entries.released(), counts, method))
    if labels.sources:
        shares = account.tables(labels, [(e.output, e.labels) for e in entries.released()])
        for path, data in shares.items():
            storage.write_whole(out / path, data)
    write_private(journal, inputs, labels)


def write_private(journal: Journal, inputs: Container[str], labels: Labels) -> None:
    """Map, quarantine list, and what became of text and labels, for the user alone."""
    entries, private = journal.entries, journal.places.private

    def write(name: str, columns: Sequence[str], rows: Iterable[Sequence]) -> None:
        storage.write_whole(private / name, csv_lines(columns, rows), mode=0o600)

    columns = ("input", "input_sha256", "output", "output_sha256", "note")
    rows = ((e.input, e.sha256, e.output, e.output_sha256, e.note) for e in entries if e.released)
    write(MAP, columns, rows)
    refused = (e for e in entries.refused() if counts_among(inputs, e))
    why = ((e.input, e.reason, e.detail, Reason(e.reason).meaning) for e in refused)
    write(QUARANTINE, ("input", "reason", "detail", "meaning"), why)
    touched = [
        (e.input, e.output, int(regions), sheet_of(e.input))
        for e in entries
        if e.released and (regions := (e.figures or {}).get("text_regions"))
    ]
    if touched:
        write(TEXT, ("input", "output", "regions", "sheet"), touched)
    if labels.sources:
        held = {e.input: e.reason for e in entries.refused()}
        listed = account.private_list(labels, held)
        storage.write_whole(private / account.PRIVATE, listed, mode=0o600)


def counts_among(inputs: Container[str], entry: Entry) -> bool:
    """Whether a release of ``inputs`` counts it: what an earlier call refused, and is no longer
    there, is forgotten; what it released stays, or has vanished."""
    return entry.released or entry.input in inputs or entry.reason == Reason.VANISHED.value


def _counted(journal: Journal, inputs: Container[str]) -> Iterator[Entry]:
    return (entry for entry in journal.entries if counts_among(inputs, entry))


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
    return f"{SHEETS}/{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.png"


def manifest(
    released: Iterable[Entry], counts: tuple[int, int, int, int], method: Method
) -> Iterator[bytes]:
    """The lines of OUT/manifest.csv of ``released``, in their order; ``counts`` are of COUNTS."""
    hidden = COMPARISONS if method.is_differentially_private else ()
    rows = (
        (
            *(e.output, e.output_sha256, method.name, method.fingerprint, number(method.mu)),
            *("" if k in hidden else number((e.figures or {}).get(k)) for k in FIGURES),
            *counts,
        )
        for e in released
    )
    return csv_lines(MANIFEST_COLUMNS, rows)


def number(value: float | None) -> str:
    """Six significant digits; "" for None."""
    return "" if value is None else f"{value:.6g}"
