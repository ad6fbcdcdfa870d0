"""The tables that are made from the journal: public manifest, private map, quarantine list."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields

from anonymize.anonymizer import Anonymizer
from anonymize.release.csv_bytes import csv_bytes
from anonymize.release.entry import Entry
from anonymize.release.journal import Journal
from anonymize.release.labels import account
from anonymize.release.labels.account import Written
from anonymize.release.labels.collect import Labels
from anonymize.release.method import Method
from anonymize.release.places import MANIFEST
from anonymize.release.reasons import Reason
from anonymize.release.transform import Figures

MAP, QUARANTINE, TEXT = "map.csv", "quarantine.csv", "text.csv"
COMPARISONS = ("ssim", "text_regions")  # that no noise of a method covers
FIGURES = (*(figure.name for figure in fields(Figures)), *COMPARISONS)
# Of the whole release, the same in every row: inputs = ok + quarantined + skipped.
COUNTS = ("release_inputs", "release_ok", "release_quarantined", "release_skipped")
MANIFEST_COLUMNS = ("output", "sha256", "method", "model_sha256", "mu", *FIGURES, *COUNTS)


@dataclass(frozen=True)
class Tables:
    """What the tables of a release say beside its journal. ``gone``: refused inputs that are no
    longer under IN."""

    method: Method
    gone: frozenset[str]
    labels: Written

    @classmethod
    def of(cls, journal: Journal, inputs: set[str], labels: Labels, model: Anonymizer) -> Tables:
        """Those of a release of ``inputs``."""
        gone = frozenset(
            entry.input
            for entry in journal.entries.values()
            if not entry.files and entry.input not in inputs
            if entry.reason != Reason.VANISHED.value
        )
        return cls(Method.of(model), gone, Written.of(labels))

    @staticmethod
    def inputs(entry: Entry) -> list[tuple[str, str]]:
        """Path and sha256 of the input of an output."""
        return [(entry.input, entry.sha256)]

    def made(self, journal: Journal) -> tuple[dict[str, bytes], dict[str, bytes]]:
        """The manifest and the labels' tables; map, quarantine list and other private ones."""
        entries = [e for e in journal.entries.values() if e.released or e.input not in self.gone]
        released = sorted((e for e in entries if e.released), key=lambda e: os.fsencode(e.output))
        refused = [e for e in entries if not e.released]
        skipped = sum(Reason(e.reason).left_out for e in refused)
        counts = (len(entries), len(released), len(refused) - skipped, skipped)
        public = {MANIFEST: manifest(released, counts, self.method)}
        rows = [(e.input, e.sha256, e.output, e.output_sha256, e.note) for e in released]
        columns = ("input", "input_sha256", "output", "output_sha256", "note")
        why = sorted((e.input, e.reason, e.detail, Reason(e.reason).meaning) for e in refused)
        private = {
            MAP: csv_bytes(columns, sorted(rows)),
            QUARANTINE: csv_bytes(("input", "reason", "detail", "meaning"), why),
        }
        touched = sorted(
            (e.input, e.output, int(regions), sheet_of(e.input))
            for e in entries
            if e.files
            if (regions := (e.figures or {}).get("text_regions"))
        )
        if touched:
            private[TEXT] = csv_bytes(("input", "output", "regions", "sheet"), touched)
        if self.labels.names:
            public |= account.tables(self.labels, [(e.output, e.labels) for e in released])
            held = {e.input: e.reason for e in entries if not e.released}
            private[account.PRIVATE] = account.private_list(self.labels, held)
        return public, private


def sheet_of(path: str) -> str:
    """Where, in the private folder, an input is shown before and after its text was removed."""
    return f"text/{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.png"


def manifest(released: Sequence[Entry], counts: tuple[int, int, int, int], method: Method) -> bytes:
    """OUT/manifest.csv of ``released``, in their order; ``counts`` are those of COUNTS."""
    hidden = COMPARISONS if method.is_differentially_private else ()
    rows = [
        (
            *(e.output, e.output_sha256, method.name, method.fingerprint, number(method.mu)),
            *("" if k in hidden else number((e.figures or {}).get(k)) for k in FIGURES),
            *counts,
        )
        for e in released
    ]
    return csv_bytes(MANIFEST_COLUMNS, rows)


def number(value: float | None) -> str:
    """Six significant digits; "" for None."""
    return "" if value is None else f"{value:.6g}"
