"""What true findings alone link in the files of a release: no picture is looked at."""

from anonymize.options import TrainOptions
from attacks.evaluation.floors import FINDINGS, equal_findings, floor_of
from attacks.linkage.matching import MAX_SCORES
from attacks.linkage.release_results import FindingsFloor
from attacks.linkage.whose import Whose
from attacks.measuring.estimates import Floor
from attacks.measuring.metrics import Owners


def findings_floor(subject: Whose, options: TrainOptions) -> FindingsFloor | str:
    """The floor in both questions of an attack; why it is not known, where it is not."""
    if not subject.real.table.labels:
        return "no findings are known (--patients says them, or a source:root)"
    if len(subject.released) * len(subject.real) > MAX_SCORES:
        return f"more than {MAX_SCORES:,} pairs of files"
    whole = _linked(subject, subject.with_originals(), options)
    if whole is None:
        return "no two files of one person, or none of different ones"
    known = (subject.original >= 0).any()
    others = _linked(subject, subject.without_originals(), options) if known else None
    return FindingsFloor(with_originals=whole, others=others)


def _linked(subject: Whose, owners: tuple[Owners, Owners], options: TrainOptions) -> Floor | None:
    probes, gallery = owners
    if subject.foreign is not None:
        probes = probes[~subject.foreign]
    try:
        return floor_of(FINDINGS, equal_findings(probes, gallery), (probes, gallery), options)
    except ValueError:  # no genuine pairs, or nothing but them
        return None
