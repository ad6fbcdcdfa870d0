"""What became of a release, or would."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from anonymize.release.labels.account import LabelSummary


@dataclass(frozen=True)
class Summary:
    """What became of the inputs: inputs = anonymized + already_done + quarantined + left_out.

    ``input_gone`` counts outputs of earlier calls whose input was removed since; they stay.
    ``names`` is "keep" or "hashed"; ``telling`` counts released files with a kept path in which
    stands what a DICOM header of the release says of somebody.
    ``evidence`` is what is known of the method's protection, ``unfit`` how many released images it
    does not fit and why (:meth:`Anonymizer.unfit`).
    ``shard`` is I/N where these are a share of the files, which `anonymize merge` puts together.
    ``together`` is the certificate of a release of a method that makes each output of several
    images, whose ``anonymized`` are the inputs that went into one.
    ``text`` is what was done about burned-in text, ``cleaned`` counts images that lost some.
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
    evidence: str = ""
    unfit: dict[str, int] = field(default_factory=dict)
    text: str = "keep"
    cleaned: int = 0
    labels: LabelSummary = field(default_factory=LabelSummary)
    shard: str = ""
    together: dict[str, Any] | None = None

    @property
    def complete(self) -> bool:
        """True where every radiograph is released, and there is at least one."""
        return not self.quarantined and self.anonymized + self.already_done > 0


@dataclass(frozen=True)
class Planned:
    """What would happen to one file: "anonymize", "done", "quarantine" or "leave out"."""

    input: str
    action: str
    reason: str = ""
