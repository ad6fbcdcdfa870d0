"""The attack on a release from its folders to its results, for the command and for Python."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from anonymize.errors import UsageError
from anonymize.options import DataOptions, TrainOptions
from anonymize.release.places import private_beside
from attacks.evaluation.floors import FINDINGS, equal_findings, floor_of
from attacks.linkage.album import Album, changed, is_release, open_album, unlisted
from attacks.linkage.embeddings import Report, silent
from attacks.linkage.learnt import Prepared
from attacks.linkage.matching import MAX_SCORES
from attacks.linkage.named import refuse_no_release
from attacks.linkage.release_attack import Nearest, attack_files
from attacks.linkage.release_results import FindingsFloor, ReleaseResults, Unread
from attacks.linkage.whose import Whose, whose, with_headers, with_patients, without_foreign
from attacks.measuring.estimates import Floor
from attacks.measuring.metrics import Owners


@dataclass(frozen=True)
class Case:
    """What is attacked.

    Attributes:
        real, released: a folder, or ``source:root``; the folder of the release.
        private: the private folder of the release; None: there is none.
    """

    real: str
    released: Path
    private: Path | None = None
    patients: Path | None = None

    @classmethod
    def of(cls, real: str, released: Path, private: Path | None, patients: Path | None) -> Self:
        """With the private folder beside the release, where there is one and none is named."""
        beside = private_beside(released.resolve())
        return cls(real, released, private or (beside if beside.is_dir() else None), patients)

    @property
    def unlisted(self) -> int | None:
        """How many files of the release its manifest does not name; None where a release has none
        that can be read."""
        found = unlisted(self.released)
        return (None if is_release(self.released) else 0) if found is None else len(found)

    @property
    def changed(self) -> int:
        """How many files of the release are not those that its manifest names."""
        return changed(self.released)

    def opened(self, options: DataOptions, progress: Report = silent) -> Whose:
        """The images, and whom they show. Raises UsageError: nothing to read, or nothing known."""
        read = options.model_copy(update={"on_missing": "skip"})
        refuse_no_release(self.real, self.released)
        # With --files-from a release may lie among the real files.
        own = [self.released] if self.private is None else [self.released, self.private]
        opened = partial(open_album, options=read, progress=progress)
        real = with_headers(opened(self.real, argument="REAL", but=own))
        released = opened(str(self.released), argument="RELEASED")
        if self.patients is not None:
            real, found = with_patients(real, self.patients)
            released, also = with_patients(released, self.patients)
            if not found + also:
                raise UsageError(
                    "--patients lists no file of REAL or RELEASED; its paths are below these"
                )
        beside = unlisted(self.released) or ()
        names = [path.relative_to(self.released).as_posix() for path in beside]
        return without_foreign(whose(released, real, self.private), names)


@dataclass(frozen=True)
class Attacked:
    """What was found; it names files and patients but for ``results``."""

    subject: Whose
    results: ReleaseResults
    nearest: dict[str, Nearest]

    @property
    def shown(self) -> Nearest:
        """Of the strongest attacker."""
        return self.nearest[self.results.strongest.attacker]

    def lines(self) -> list[dict[str, object]]:
        """One a released file and attacker: what it was taken for, if it was for one of them."""
        subject = self.subject
        real, released = subject.real.names, subject.released.names
        return [
            {
                "released": released[row],
                "attacker": name,
                "taken_for": "" if found.tied[row] else real[column],
                "score": float(found.scores[row]),
                "found": "" if found.hits[row] != found.hits[row] else float(found.hits[row]),
                **subject.named(row),
                "patient_taken_for": "" if found.tied[row] else subject.real.patients[column],
            }
            for name, found in self.nearest.items()
            for row, column in enumerate(found.columns.tolist())
        ]

    def unread(self) -> list[dict[str, str]]:
        """The files that could not be read, and why."""
        albums = (("released", self.subject.released), ("real", self.subject.real))
        return [
            {"folder": kind, "file": name, "reason": reason}
            for kind, album in albums
            for name, reason in album.table.skipped
        ]


def attack_release(
    subject: Whose,
    attackers: Sequence[str],
    prepare: Callable[[str], Prepared],
    *,
    options: TrainOptions,
    **said: Any,
) -> Attacked:
    """Every attacker against the files of a release."""
    nearest, not_tried = attack_files(subject, attackers, prepare, options=options)
    findings = _findings_floor(subject, options)
    if isinstance(findings, str):
        not_tried[f"{FINDINGS} (floor)"] = findings
    released, real = subject.released, subject.real
    hits = nearest[0].hits
    results = ReleaseResults(
        released=len(released) + len(released.table.skipped),
        real=len(real) + len(real.table.skipped),
        nobodys=int((~real.identified).sum()),
        without_real=int((hits != hits).sum()),
        untouched=subject.untouched,
        foreign=0 if subject.foreign is None else int(subject.foreign.sum()),
        originals_known=bool((subject.original >= 0).any()),
        made_of=1 if subject.made_of is None else subject.made_of.shape[1],
        unread=Unread(released=_reasons(released), real=_reasons(real)),
        not_tried=not_tried,
        matched_by=subject.matched_by,
        attacks=[found.attack for found in nearest],
        findings=None if isinstance(findings, str) else findings,
        **said,
    )
    return Attacked(subject, results, {found.attack.attacker: found for found in nearest})


def _reasons(album: Album) -> dict[str, int]:
    return dict(Counter(reason for _, reason in album.table.skipped))


def _findings_floor(subject: Whose, options: TrainOptions) -> FindingsFloor | str:
    """What true findings alone link, in both questions of an attack; why it is not known, where it
    is not."""
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
