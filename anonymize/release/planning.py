"""What a release would do with each file, before it does anything."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from anonymize.anonymizer import Anonymizer
from anonymize.key_files import SECRET_BYTES
from anonymize.release.ahead import Progress, ahead
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.crew import Crew, hands
from anonymize.release.dicom.deidentify import Deidentifier
from anonymize.release.intake import Specimen, take
from anonymize.release.labels.carry import carry
from anonymize.release.listing import Found
from anonymize.release.options import ReleaseOptions
from anonymize.release.preparation import Prepared, prepare
from anonymize.release.reasons import Refused


@dataclass(frozen=True)
class Planned:
    """What would happen to one file: "anonymize", "done", "quarantine" or "leave out"."""

    input: str
    action: str
    reason: str = ""


def plan(
    source: Path,
    out: Path,
    model: Anonymizer,
    options: ReleaseOptions | None = None,
    *,
    progress: Progress = lambda done, total: None,
) -> list[Planned]:
    """What :func:`pipeline.apply` would do. Every file is decoded, nothing is written.

    Only what the method and the encoders do is not tried: an image may still be refused as
    "unchanged", "invalid-result", "verification", or for text that is left in it.

    Raises:
        UsageError, CrewError: as ``apply``.
    """
    options = options or ReleaseOptions()
    workers, text = options.workers, options.text
    with hands(workers, options.limits) as (crew, threads):
        begun = prepare(source, out, model, options, crew)
        secret = begun.naming.secret or os.urandom(SECRET_BYTES)  # nothing that it makes is kept
        rules = Deidentifier(secret, options.dicom, names_kept=not begun.naming.hashed)
        reads = (
            partial(threads.submit, _looked_at, f, begun, crew, rules, text) for f in begun.files
        )
        planned = []
        for specimen in ahead(reads, window=workers):
            action, reason = "anonymize", ""
            if specimen.done:
                action = "done"
            elif specimen.refusal:
                reason = specimen.refusal.reason.value
                action = "leave out" if specimen.refusal.reason.left_out else "quarantine"
            planned.append(Planned(specimen.path, action, reason))
            progress(len(planned), len(begun.files))
    return planned


def _looked_at(
    found: Found, begun: Prepared, crew: Crew, rules: Deidentifier, text: TextOptions
) -> Specimen:
    """A specimen whose labels can be carried over, as far as that can be said without a warp."""
    specimen = take(found, begun.places, begun.ledger, crew, rules, text, begun.labels)
    if specimen.radiograph is None or specimen.labels is None:
        return specimen
    height, width = specimen.radiograph.pixels.shape[:2]
    try:
        crew.call(carry, specimen.labels, None, (width, height), specimen.radiograph.turned)
    except Refused as refusal:
        return replace(specimen, radiograph=None, refusal=refusal)
    return specimen
