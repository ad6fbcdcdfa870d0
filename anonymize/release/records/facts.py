"""What a release's tables need beside its journal, kept in the private folder: so they are written
anew when a person sends an output to quarantine, without the inputs, the labels or the model.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from anonymize.fingerprint import sha256_file
from anonymize.release import storage
from anonymize.release.labels import account
from anonymize.release.labels.collect import FOLDER
from anonymize.release.labels.collect import MANIFEST as LABELS
from anonymize.release.listing import empty_folders
from anonymize.release.places import MANIFEST, SET_FILES, SIGNATURE, Naming, Places
from anonymize.release.records import signature
from anonymize.release.records.entries import Entry
from anonymize.release.records.journal import Journal
from anonymize.release.workers import plain
from anonymize.whole_file import Data

FILE = "facts.bin"  # in the private folder


class Tables(Protocol):
    """What can make the tables of a release; plain values."""

    def made(self, journal: Journal) -> tuple[Mapping[str, Data], Mapping[str, Data]]:
        """The tables of OUT, and of the private folder, by their path there; what is
        in pieces is read from the journal as it is written."""

    def inputs(self, entry: Entry) -> list[tuple[str, str]]:
        """Paths and sha256 of what an output was made of."""


@dataclass(frozen=True)
class Facts:
    """A release as it stands. ``key_file`` holds its secret; ``finished`` is False from when
    `anonymize apply` begins to change it until it is done."""

    tables: Tables
    key_file: str
    signed: bool
    finished: bool = True

    def write(self, private: Path) -> None:
        storage.write_whole(private / FILE, plain.written(self), mode=0o600)

    def publish(self, journal: Journal, naming: Naming | None) -> None:
        """Keeps them, and writes the tables, the manifest last, and a signature with the secret in
        ``naming``.

        OUT has none of them while an output waits for somebody to look at it.
        """
        out = journal.places.out
        withdraw(out)  # before anything says that it is finished: it may be an earlier call's
        self.write(journal.places.private)
        tables, lists = self.tables.made(journal)
        write_lists(journal.places, lists)
        if journal.unreviewed:
            for path in (*SET_FILES, *account.known_paths(journal.header["labels"])):
                storage.remove(out / path)
            return
        for path in sorted(tables, key=lambda path: path == MANIFEST):
            storage.write_whole(out / path, tables[path])
        if self.signed and naming is not None:
            write_signature(out, naming)


def write_lists(places: Places, lists: Mapping[str, Data]) -> None:
    """Writes private tables; folders of OUT that hold nothing go, since their names may tell."""
    for path, data in lists.items():
        storage.write_whole(places.private / path, data, mode=0o600)
    for folder in empty_folders(places.out):
        folder.rmdir()


def read(private: Path) -> Facts | None:
    """What was kept there; None where nothing can be read."""
    try:
        found = plain.read((private / FILE).read_bytes())
    except (FileNotFoundError, plain.PlainError):
        return None
    return found if isinstance(found, Facts) else None


def begin(places: Places) -> bool:
    """Notes that a release is being changed; whether it is signed, and stays so."""
    found = read(places.private)
    if found is not None and found.finished:
        replace(found, finished=False).write(places.private)
    return is_signed(places)


def is_signed(places: Places) -> bool:
    """Whether a release is signed, or was before it was changed."""
    found = read(places.private)
    return (places.out / SIGNATURE).is_file() or (found is not None and found.signed)


def sign(places: Places, naming: Naming) -> None:
    """Signs a finished release."""
    found = read(places.private)
    if found is not None:
        replace(found, signed=True).write(places.private)
    write_signature(places.out, naming)


def withdraw(out: Path) -> None:
    """Takes signature and manifest away: without them nobody takes OUT for a release."""
    storage.remove(out / SIGNATURE)
    storage.remove(out / MANIFEST)


def write_signature(out: Path, naming: Naming) -> None:
    """Signs the manifests in ``out``; the key to check it with is written beside the secret's."""
    assert naming.secret is not None  # the release is open
    paths = (MANIFEST, f"{FOLDER}/{LABELS}", *SET_FILES)
    tables = {path: sha256_file(out / path) for path in paths if (out / path).is_file()}
    public = naming.file.with_name(naming.file.name + signature.PUBLIC)
    storage.write_whole(public, signature.public_key(naming.secret))
    storage.write_whole(out / SIGNATURE, signature.sign(tables, naming.secret))
