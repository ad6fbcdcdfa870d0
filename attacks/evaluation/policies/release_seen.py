"""A finished release, seen without its inputs: by `anonymize verify`, and its manifest."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from anonymize.errors import counted
from anonymize.release.places import MANIFEST
from anonymize.release.verify import verify


@dataclass(frozen=True)
class ReleaseSeen:
    """A release.

    Attributes:
        files: how many images the manifest names.
        findings: how many things `anonymize verify` found, by code.
        method: as the manifest names it; "" where it is damaged.
        model: sha256 of the model file; "" without one.
        searched: images in which burned-in text was looked for.
        min_jacobian: the smallest of all files; None where none is given.
        moves: the manifest names a displacement.
        groups: whom its metadata set apart, in words; "" without them.
    """

    files: int
    findings: dict[str, int]
    method: str = ""
    model: str = ""
    searched: int = 0
    min_jacobian: float | None = None
    moves: bool = True
    groups: str = ""

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Looks at every file of it. Raises UsageError: no release is there."""
        report = verify(folder)
        if not report.sound:
            return cls(report.files - report.labels, report.counts)
        text = (folder / MANIFEST).read_text(encoding="utf-8", errors="surrogateescape")
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        folds = [float(row["min_jacobian"]) for row in rows if row["min_jacobian"]]
        return cls(
            len(rows),
            report.counts,
            rows[0]["method"] if rows else "",
            rows[0]["model_sha256"] if rows else "",
            sum(row["text_regions"] != "" for row in rows),
            min(folds, default=None),
            any(row["displacement_max_px"] for row in rows),
            "" if report.groups is None else str(report.groups),
        )

    @property
    def sound(self) -> bool:
        """There are files, and nothing is wrong with them."""
        return self.files > 0 and not self.findings

    def in_words(self) -> str:
        """What `anonymize verify` found."""
        if not self.files:
            return "no image is in it"
        found = ", ".join(f"{count} × {code}" for code, count in self.findings.items())
        return f"{counted(self.files, 'image')}, {found or 'nothing found'}"
