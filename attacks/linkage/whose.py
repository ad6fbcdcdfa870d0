"""Whom the files of a release show: by the map of its private folder, by names or headers, or by a
CSV."""

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from anonymize.csv_cells import undone
from anonymize.data.sources import columns
from anonymize.data.sources.folder import entries_of
from anonymize.errors import UsageError, counted
from anonymize.fingerprint import sha256_file
from anonymize.release.dicom.elements import DicomError, read_file
from anonymize.release.dicom.header import Header
from anonymize.release.formats import recognise
from anonymize.release.reasons import Refused
from anonymize.release.records.tables import MAP
from anonymize.release.sets.people import check_rows
from attacks.linkage.album import FILES, Album
from attacks.linkage.duplicates import duplicates
from attacks.measuring.covariates import covariates_of, matched_by
from attacks.measuring.metrics import Contributors, Owners

FACTS = ("patient_id", "identified", "follow_up", "view", "age", "sex")
IN_HEADERS = ("PatientID", "ViewPosition", "PatientAge", "PatientSex")


@dataclass(frozen=True)
class Whose:
    """A release, the real images, and what is known of whom they show.

    Attributes:
        original: int64 (P,), row of the real image that each released one was made from, or of one
            of them; −1 where that is not known, or not there.
        made_of: int64 (P, C), rows of all real images that went into each; −1 where there are
            fewer. None: of one each.
        untouched: how many released files have the pixels of a real one.
        foreign: bool (P,), released files that the manifest does not name, and nobody says of whom
            they are; they count in no figure. None: there are none.
    """

    released: Album
    real: Album
    original: np.ndarray
    made_of: np.ndarray | None = None
    untouched: int = 0
    foreign: np.ndarray | None = None

    @cached_property
    def matched_by(self) -> tuple[str, ...]:
        """What impostors can be matched by: of "findings", "sex", "age" and "view"."""
        return matched_by(self.real.table)

    def with_originals(self) -> tuple[Owners, Owners]:
        """Probes and gallery of an adversary who may hold the very files that were released: every
        real image of a released one's patient is genuine, its own original among them."""
        probes, gallery = len(self.released), len(self.real)
        return self._owners(np.arange(probes), probes + np.arange(gallery), known=True)

    def without_originals(self) -> tuple[Owners, Owners]:
        """The same of one who holds other images of the patients: an image is never compared with
        its own original, and an image of nobody known makes no genuine pair."""
        probes, gallery = len(self.released), len(self.real)
        own = np.where(self.original >= 0, self.original, gallery + np.arange(probes))
        return self._owners(own, np.arange(gallery), known=False)

    def named(self, row: int) -> dict[str, str]:
        """The real images that a released one was made from, and of which patients, where that is
        known; several stand behind each other."""
        rows = self.original[[row]] if self.made_of is None else self.made_of[row]
        rows = rows[rows >= 0]
        patients = self.real.patients[rows] if len(rows) else self.released.patients[[row]]
        return {"original": " | ".join(self.real.names[rows]), "patient": " | ".join(patients)}

    def _owners(
        self, probes: np.ndarray, gallery: np.ndarray, *, known: bool
    ) -> tuple[Owners, Owners]:
        released, real, has = self.released, self.real, self.original >= 0
        people = np.char.add("r", real.people.astype(str))
        named = np.where(real.identified, np.char.add("id/", real.patients), people)
        strangers = np.char.add("s", np.arange(len(released)).astype(str))
        own = np.where(released.identified, np.char.add("id/", released.patients), strangers)
        who = np.where(has, named[self.original], own)
        patient = np.unique(np.concatenate([who, named]), return_inverse=True)[1]
        of_real = np.ones(len(real), bool) if known else real.identified
        of_released = np.where(has, of_real[self.original], released.identified)
        both = Owners(
            np.concatenate([probes, gallery]),
            patient,
            np.concatenate([of_released, of_real]),
            covariates_of(real.table.with_frame(self._facts())),
            contributors=self._contributors(patient[len(released) :], of_real, known=known),
        )
        return both[np.arange(len(released))], both[len(released) + np.arange(len(real))]

    def _contributors(
        self, patient: np.ndarray, identified: np.ndarray, *, known: bool
    ) -> Contributors | None:
        """Of released images, and of the real ones, which nobody but their patient went into.

        Args:
            patient, identified: of the real images.
            known: the very images that went in count as others do.
        """
        if self.made_of is None:
            return None
        made_of = np.concatenate(
            [self.made_of, np.full((len(self.real), self.made_of.shape[1]), -1)]
        )
        there = made_of >= 0
        whose = np.where(there, patient[made_of], -1)
        of_known = identified[made_of]
        return Contributors(
            image=np.full_like(made_of, -1) if known else made_of,
            patient=np.where(of_known, whose, -1),
            unknown=np.where(of_known, -1, whose),
        )

    def _facts(self) -> pd.DataFrame:
        """Rows of the released images, then of the real ones, with the columns of the latter."""
        real = self.real.table.frame
        own = self.released.table.frame.reindex(columns=real.columns)
        known = self.original >= 0
        rows = real.iloc[np.where(known, self.original, 0)].reset_index(drop=True)
        both = pd.concat([rows.where(pd.Series(known), own), real], ignore_index=True)
        return both.assign(image_id=both.index.astype(str))  # the same one may stand in both


def whose(released: Album, real: Album, private: Path | None) -> Whose:
    """By the map in the private folder of the release, where the real file is the very one that was
    released; without a map, files of one name are taken to be the same image. A file of which
    nobody says so, and that has the pixels of a real one, was made from it.

    Raises UsageError: a map that cannot be read; nothing is known of any released file; all files
    show one patient."""
    names = released.names.tolist()
    if private is None:
        found = Whose(released, real, rows_named(real, names))
    else:
        inputs = _map(private)
        found = _made_from(released, real, [inputs.get(name, []) for name in names])
    found = _with_copies(found)
    probes, gallery = found.with_originals()
    shared = np.isin(probes.patient, gallery.patient)
    if not shared.any():
        raise UsageError(
            "nobody says which real file, or patient, any released file shows: name the private "
            "folder of the release with --private DIR, or patients with --patients CSV; and give "
            "the folder of the files that were released, unchanged, as REAL"
        )
    if (np.concatenate([probes.patient, gallery.patient]) == gallery.patient[0]).all():
        copies = counted(found.untouched, "released file")
        raise UsageError(
            f"{f'of {copies} a real one has the pixels; ' if found.untouched else ''}"
            "REAL and RELEASED show one patient alone, who cannot be mistaken for anybody; give "
            "files of two or more, or say with --patients CSV who is who"
        )
    return found


def without_foreign(found: Whose, names: Sequence[str]) -> Whose:
    """The same, where released files of these ``names`` count only as far as somebody says whose
    they are."""
    foreign = np.isin(found.released.names, list(names)) & (found.original < 0)
    foreign &= ~found.released.identified
    return replace(found, foreign=foreign) if foreign.any() else found


def _made_from(released: Album, real: Album, inputs: Sequence[Sequence[tuple[str, str]]]) -> Whose:
    """By the inputs of each released file, and their sha256: another file of that name is none."""
    each = max(map(len, inputs), default=0)
    rows = np.full((len(inputs), max(each, 1)), -1)
    paths = real.table.frame["path"].tolist()
    digest = cache(lambda row: sha256_file(Path(paths[row])))
    there = iter(_rows_by_name(real, [name for own in inputs for name, _ in own]).tolist())
    for found, made_from in zip(rows, inputs, strict=True):
        named = [(next(there), sha256) for _, sha256 in made_from]
        own = [r for r, sha256 in named if r >= 0 and (not paths[r] or digest(r) == sha256)]
        found[: len(own)] = own
    return Whose(released, real, rows[:, 0], rows if each > 1 else None)


def _with_copies(found: Whose) -> Whose:
    """What has the pixels of a real file was made from that, where nothing else is known."""
    copies = list(duplicates(found.released, found.real))
    original = found.original.copy()
    made_of = None if found.made_of is None else found.made_of.copy()
    for row, column in copies:
        if original[row] < 0:
            original[row] = column
            if made_of is not None:
                made_of[row, 0] = column
    untouched = len({row for row, _ in copies})
    return replace(found, original=original, made_of=made_of, untouched=untouched)


def with_patients(album: Album, table: Path) -> tuple[Album, int]:
    """The album with the patients, labels and facts of a CSV of its files; and how many of them it
    lists. Raises DataError: it is no such CSV, or has rows that cannot be used."""
    listing, labels = entries_of(table, Path(), "--patients")
    check_rows("--patients", listing["problem"], listing["image_id"])
    rows = rows_named(album, listing["image_id"].tolist())
    listing, there = listing.assign(identified=True)[rows >= 0], rows[rows >= 0]
    frame = album.table.frame.drop(columns=list(album.table.labels))
    frame = _told(frame.assign(**dict.fromkeys(labels, np.nan)), there, listing[[*FACTS, *labels]])
    told = replace(album.table, frame=frame, labels=tuple(labels))
    return replace(album, table=told), int((rows >= 0).sum())


def with_headers(album: Album) -> Album:
    """The album with the patients and facts that the headers of its DICOM files name; a data set
    knows its own."""
    if album.table.source != FILES:
        return album
    said = [_in_header(Path(path)) for path in album.table.frame["path"]]
    there = np.flatnonzero(list(map(bool, said)))
    if not len(there):
        return album
    texts = pd.DataFrame([said[row] for row in there])
    listing = pd.DataFrame(
        {
            "patient_id": texts["PatientID"],
            "identified": True,
            "view": columns.views(texts["ViewPosition"]),
            "age": columns.ages(texts["PatientAge"]),
            "sex": columns.sexes(texts["PatientSex"]),
        }
    )
    table = album.table.with_frame(_told(album.table.frame, there, listing))
    return replace(album, table=table)


def _in_header(path: Path) -> dict[str, str]:
    """Whom a DICOM file shows; empty where it does not say, or is none."""
    try:
        data = path.read_bytes()
        if recognise(path.name, data) != "DICOM":
            return {}
        file = read_file(data)
    except (OSError, DicomError, Refused):
        return {}
    header = Header(file.elements, file.syntax.order)
    words = {key: header.text(key) for key in IN_HEADERS}
    return words if words["PatientID"] else {}


def _told(frame: pd.DataFrame, there: np.ndarray, listing: pd.DataFrame) -> pd.DataFrame:
    """The rows ``there`` of an album, with what ``listing`` says of each."""
    made = {}
    for column, said in listing.items():
        values = frame[column].to_numpy(object, copy=True)
        values[there] = said.to_numpy(object)
        made[column] = pd.Series(values, index=frame.index).astype(frame[column].dtype)
    return frame.assign(**made)


def rows_named(album: Album, names: Sequence[str]) -> np.ndarray:
    """int64 (n,) rows of the images of these different paths; −1 where none is. A path that is in
    another folder than here is known by its last part, where that is one image's alone, and no
    other of the paths is that image."""
    rows = _rows_by_name(album, names)
    alone = np.bincount(rows[rows >= 0], minlength=len(album))[rows] == 1
    return np.where(alone | (album.names[rows] == np.asarray(names, str)), rows, -1)


def _rows_by_name(album: Album, names: Sequence[str]) -> np.ndarray:
    """The same where several paths may be taken for one image."""
    row_of = {name: row for row, name in enumerate(album.names.tolist())}
    last = [PurePosixPath(name).name for name in row_of]
    alone = {name for name, count in Counter(last).items() if count == 1}
    by_last = {name: row for name, row in zip(last, row_of.values(), strict=True) if name in alone}
    found = [row_of.get(name, by_last.get(PurePosixPath(name).name, -1)) for name in names]
    return np.array(found, np.int64)


def _map(private: Path) -> dict[str, list[tuple[str, str]]]:
    """Inputs and their sha256, by output of a release."""
    made_from: dict[str, list[tuple[str, str]]] = {}
    try:
        with (private / MAP).open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            for row in csv.DictReader(file):
                one = undone(row["input"]), row["input_sha256"]
                made_from.setdefault(row["output"], []).append(one)
    except (OSError, KeyError, csv.Error):
        raise UsageError(
            f"--private must be the private folder of the release, which holds {MAP}; it has none "
            "that can be read"
        ) from None
    return made_from
