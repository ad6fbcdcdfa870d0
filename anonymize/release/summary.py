"""What became of a release, or would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from anonymize.release.burned_in.options import MUCH
from anonymize.release.labels.account import LabelSummary
from anonymize.release.metadata.written import MetadataSummary
from anonymize.release.reasons import Reason
from anonymize.release.records.entries import Entry


@dataclass(frozen=True, kw_only=True)
class Told:
    """What is said of any release beside its counts.

    ``evidence`` is what is known of the method's protection, ``unfit`` how many released images it
    does not fit and why (:meth:`Anonymizer.unfit`).
    ``text`` is what was done about burned-in text, ``cleaned`` counts images that lost some, and
    ``much_filled`` those of which more than ``MUCH`` was filled.
    """

    evidence: str = ""
    unfit: dict[str, int] = field(default_factory=dict)
    text: str = "keep"
    cleaned: int = 0
    much_filled: int = 0

    @classmethod
    def of(cls, entries: Iterable[Entry], *, evidence: str, text: str) -> Told:
        unfit: Counter[str] = Counter()
        cleaned = much = 0
        for entry in entries:
            unfit[entry.unfit] += entry.released
            figures = (entry.figures if entry.files else None) or {}
            cleaned += bool(figures.get("text_regions"))
            much += (figures.get("text_filled") or 0) > MUCH
        why = {why: number for why, number in unfit.most_common() if why and number}
        return cls(evidence=evidence, unfit=why, text=text, cleaned=cleaned, much_filled=much)


@dataclass(frozen=True)
class Summary(Told):
    """What became of the inputs: inputs = anonymized + already_done + quarantined + left_out.

    ``input_gone`` counts outputs of earlier calls whose input was removed since; they stay.
    ``names`` is "keep" or "hashed"; ``telling`` counts released files with a kept path in which
    stands what a DICOM header of the release says of somebody.
    ``shard`` is I/N where these are a share of the files, which `anonymize merge` puts together.
    ``together`` is the certificate of a release of a method that makes each output of several
    images, whose ``anonymized`` are the inputs that went into one.
    """

    inputs: int
    anonymized: int
    already_done: int
    quarantined: int
    left_out: int
    input_gone: int
    reasons: dict[str, int]
    out: str
    private: str
    method: str
    model_sha256: str
    mu: float | None
    names: str = "keep"
    telling: int = 0
    labels: LabelSummary = field(default_factory=LabelSummary)
    metadata: MetadataSummary | None = None
    shard: str = ""
    together: dict[str, Any] | None = None

    @property
    def complete(self) -> bool:
        """True where every radiograph is released, and there is at least one."""
        return not self.quarantined and self.anonymized + self.already_done > 0


def of_reasons(counts: Counter[str]) -> dict[str, Any]:
    """``quarantined``, ``left_out`` and ``reasons`` of a summary; ``counts`` by a reason's code."""
    reasons = {r.value: counts[r.value] for r in Reason if counts[r.value]}
    left_out = sum(counts[r.value] for r in Reason if r.left_out)
    return {
        "quarantined": sum(reasons.values()) - left_out,
        "left_out": left_out,
        "reasons": reasons,
    }


@dataclass(frozen=True)
class Planned:
    """What would happen to one file: "anonymize", "done", "quarantine" or "leave out"."""

    input: str
    action: str
    reason: str = ""
