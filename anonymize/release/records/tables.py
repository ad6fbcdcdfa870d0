"""The tables that are made from the journal: public manifest, private map, quarantine list."""

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Self

from anonymize.release.figures import Figures
from anonymize.release.labels import account
from anonymize.release.labels.account import Written
from anonymize.release.labels.collect import Labels
from anonymize.release.metadata import written as metadata
from anonymize.release.method import Method
from anonymize.release.places import MANIFEST
from anonymize.release.reasons import Reason
from anonymize.release.records.csv_bytes import csv_lines
from anonymize.release.records.entries import Entry
from anonymize.release.records.journal import Journal
from anonymize.whole_file import Data

MAP, QUARANTINE, TEXT, SHEETS = "map.csv", "quarantine.csv", "text.csv", "text"
MAPPED = ("input", "input_sha256", "output", "output_sha256", "note")  # columns of MAP
REFUSED = ("input", "reason", "detail", "meaning")  # of QUARANTINE
TOUCHED = ("input", "output", "regions", "filled", "sheet")  # of TEXT
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
    def of(cls, journal: Journal, inputs: Container[str], labels: Labels, method: Method) -> Self:
        gone = frozenset(
            entry.input
            for entry in journal.entries.refused()
            if not entry.files and entry.input not in inputs
            if entry.reason != Reason.VANISHED.value
            if not os.path.lexists(journal.places.root / entry.input)  # of an earlier file list
        )
        return cls(method, gone, Written.of(labels))

    @staticmethod
    def inputs(entry: Entry) -> list[tuple[str, str]]:
        """Path and sha256 of the input of an output."""
        return [(entry.input, entry.sha256)]

    def made(self, journal: Journal) -> tuple[Mapping[str, Data], Mapping[str, Data]]:
        """The manifest and the labels' tables; map, quarantine list and other private ones. Those
        with a row a file are read from the journal line by line, as they are written."""
        entries, labels = journal.entries, self.labels
        public: dict[str, Data] = {
            MANIFEST: manifest(
                entries.released(), self._counts(journal), self.method, self._hidden(journal)
            )
        }
        found = (e for e in entries if e.released)
        rows = ((e.input, e.sha256, e.output, e.output_sha256, e.note) for e in found)
        refused = (e for e in entries.refused() if self._counted(e))
        why = ((e.input, e.reason, e.detail, Reason(e.reason).meaning) for e in refused)
        private: dict[str, Data] = {
            MAP: csv_lines(MAPPED, rows),
            QUARANTINE: csv_lines(REFUSED, why),
        }
        touched = [
            (e.input, e.output, int(regions), share(f.get("text_filled")), sheet_of(e.input))
            for e in entries
            if (f := e.files and e.figures) and (regions := f.get("text_regions"))
        ]
        if touched:
            private[TEXT] = csv_lines(TOUCHED, touched)
        beside = {}
        if (told := journal.header.get("table")) is not None:
            data, count = metadata.table(told["columns"], entries.released())
            beside[metadata.PATH] = data, metadata.KIND, count
        if labels.names or beside:
            shares = [(e.output, e.labels) for e in entries.released()]
            public |= account.tables(labels, shares, beside)
        if labels.names:
            held = {e.input: e.reason for e in entries.refused() if self._counted(e)}
            private[account.PRIVATE] = account.private_list(labels, held)
        return public, private

    def _hidden(self, journal: Journal) -> Collection[str]:
        """Figures that are not public: where files are all alike, they would tell them apart."""
        alike = self.method.is_differentially_private or journal.header.get("canonical")
        return COMPARISONS if alike else ()

    def _counts(self, journal: Journal) -> tuple[int, int, int, int]:
        """Those of COUNTS."""
        outcomes = Counter(e.reason for e in journal.entries if self._counted(e))
        skipped = sum(n for reason, n in outcomes.items() if reason and Reason(reason).left_out)
        total, released = outcomes.total(), outcomes[""]
        return total, released, total - released - skipped, skipped

    def _counted(self, entry: Entry) -> bool:
        return entry.released or entry.input not in self.gone


def sheet_of(path: str) -> str:
    """Where, in the private folder, an input is shown before and after its text was removed."""
    return f"{SHEETS}/{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.png"


def manifest(
    released: Iterable[Entry],
    counts: tuple[int, int, int, int],
    method: Method,
    hidden: Collection[str] = (),
) -> Iterator[bytes]:
    """The lines of OUT/manifest.csv of ``released``, in their order, without the figures
    ``hidden``; ``counts`` are of COUNTS."""
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


def share(part: float | None) -> str:
    """Four digits behind the point; "" for None, as releases of earlier versions have it."""
    return "" if part is None else f"{part:.4f}"
