"""The journal of a release: append-only, private, what became of every input.

It holds one JSON object a line: first what the release is, then one entry a
file and attempt; the last entry of a path counts. An entry is on the disk before its output gets
its name, so that nothing under OUT is ever unaccounted for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Container
from contextlib import suppress
from dataclasses import asdict
from io import FileIO
from pathlib import Path
from typing import Any

from anonymize import whole_file
from anonymize.errors import UsageError, counted
from anonymize.fingerprint import sha256_file
from anonymize.release import storage
from anonymize.release.entries import Entries, Entry
from anonymize.release.labels import account
from anonymize.release.listing import output_files
from anonymize.release.places import KEY, MANIFEST, SET_FILES, SIGNATURE, Places
from anonymize.release.reasons import TELLING_FOLDER, Reason
from anonymize.release.signature import PUBLIC
from anonymize.whole_file import TEMPORARY

JOURNAL = "journal.jsonl"
BEFORE = {JOURNAL, KEY, KEY + PUBLIC}  # what may be in a private folder before a release
LONGEST_HEADER = 1 << 20
HEADER_WORDS = {
    "in": "another IN",
    "out": "another OUT",
    "names": "other --names",
    "key": "another --key-file",
    "labels": "other --labels",
    "spare": "another --spare",
    "text": "other --text, --text-fill or --side-markers",
    "dicom": "other --retain, --clean-descriptors or --dicom-transfer-syntax",
    "canonical": "another --canonical",
    "shard": "another --shard",
    "patients": "another --patients",
    "strict": "or without --strict",
    "method": "another method",
    "options": "other options of the method",
    "model_sha256": "another model",
}
ABSENT = {"strict": False, "patients": "", "shard": ""}  # what journals that do not say meant
BAD_JOURNAL = (
    "the journal in the private folder is damaged or of another version; choose another OUT"
)


def begun_names(places: Places) -> str:
    """How a release that was begun there names its outputs; "" where there is none to be read."""
    try:
        with (places.private / JOURNAL).open("rb") as stream:
            return str(json.loads(stream.readline(LONGEST_HEADER))["names"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""


def read_journal(path: Path) -> tuple[dict[str, Any] | None, Entries, int]:
    """The header of a journal, None where there is none, the last entry of each input, and how
    many bytes are complete lines.

    Raises:
        UsageError: it is damaged, or of another version.
    """
    header: dict[str, Any] | None = None
    entries = Entries()
    whole = 0
    if not path.exists():
        return header, entries, whole
    try:
        with path.open("rb") as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                content = json.loads(line)
                whole += len(line)
                if header is None:
                    header = content
                else:
                    entries.put(Entry(**content))
    except (ValueError, TypeError):
        raise UsageError(BAD_JOURNAL) from None
    return header, entries, whole


class Journal:
    """The journal of a release that is open (and locked by the caller)."""

    def __init__(self, places: Places, header: dict[str, Any]) -> None:
        """Reads the journal, without changing anything.

        Raises:
            UsageError: OUT or the private folder belongs to something else, or to a release with
                another model, IN or naming; or holds files that no release wrote.
        """
        self.places = places
        self.path = places.private / JOURNAL
        self.header = json.loads(json.dumps(header, default=str))
        self._stream: FileIO | None = None
        header_found, self.entries, self._whole = read_journal(self.path)
        if header_found is not None:
            self._check_header(header_found)
        elif places.private.exists() and _strangers(places.private):
            raise UsageError(
                "the private folder is not empty and holds no journal; choose another --private"
            )
        self._check_out()

    def _check_header(self, found: dict[str, Any]) -> None:
        other = [
            words
            for key, words in HEADER_WORDS.items()
            if found.get(key, ABSENT.get(key)) != self.header[key]
        ]
        if other:
            raise UsageError(
                f"this OUT and private folder belong to a release with {', '.join(other)}; "
                "choose another OUT"
            )

    def _check_out(self) -> None:
        known = {MANIFEST, SIGNATURE, *account.known_paths(self.header["labels"])}
        known |= set(SET_FILES) if self.header.get("set") else set()
        strange = sum(
            not (path in known or _is_temporary(path) or self.entries.source_of(path) is not None)
            for path in output_files(self.places.out)
        )
        if not strange:
            return
        if self._whole:
            raise UsageError(
                f"OUT holds {counted(strange, 'file')} that this release did not write; "
                "move what is not its own away"
            )
        raise UsageError("OUT is not empty and no release was begun there; choose another OUT")

    def open(self) -> None:
        """Starts writing: the header of a new journal, or behind the last whole line."""
        self.places.private.chmod(0o700)
        self._remove_temporary()
        if self.path.is_symlink():
            raise UsageError("the journal in the private folder is a link; put the file there")
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        self._stream = os.fdopen(descriptor, "r+b", buffering=0)
        self._stream.truncate(self._whole)
        self._stream.seek(self._whole)
        if not self._whole:
            self._append(self.header)
            whole_file.sync_folder(self.places.private)

    def close(self) -> None:
        """Removes what was not finished, as far as the disk allows."""
        if self._stream is not None:
            self._stream.close()
            with suppress(OSError):
                self._remove_temporary()

    def _remove_temporary(self) -> None:
        for folder in (self.places.out, self.places.private):
            for path in filter(_is_temporary, output_files(folder)):
                storage.remove(folder / path)

    def record(self, entry: Entry) -> None:
        """Appends an entry, durably."""
        if self.entries.get(entry.input) == entry:
            return
        self._append(asdict(entry))
        self.entries.put(entry)

    def _append(self, content: dict[str, Any]) -> None:
        line = json.dumps(content, sort_keys=True).encode() + b"\n"
        assert self._stream is not None  # open
        written = self._stream.write(line)
        if written != len(line):
            raise storage.StorageError("No space left on device")
        os.fsync(self._stream.fileno())

    def intact(self, entry: Entry | None) -> bool:
        """True where ``entry`` was released and its outputs are on the disk, bit for bit."""
        if entry is None or not entry.released:
            return False
        try:
            return all(sha256_file(self.places.out / p) == d for p, d in entry.outputs.items())
        except FileNotFoundError:
            return False

    def account_for_vanished(self, inputs: Container[str]) -> None:
        """Outputs whose input is gone stay; one that was removed too is noted as vanished.

        Raises:
            UsageError: an output was changed since, and could not be made again.
        """
        gone = [e for e in self.entries.released() if e.input not in inputs and not self.intact(e)]
        if changed := sum((self.places.out / e.output).exists() for e in gone):
            raise UsageError(
                f"OUT holds {counted(changed, 'file')} changed after the release, without an "
                "input to make it anew; move what was changed away"
            )
        for entry in gone:
            self._withdraw(entry, Reason.VANISHED)

    def withdraw_below_names(self) -> list[str]:
        """Withdraws what was released from a folder whose name told who another file there shows;
        the inputs."""
        folders = {
            "".join(f"{part}/" for part in entry.input.split("/")[: int(found[1])])
            for entry in self.entries.refused()
            if entry.reason == Reason.IDENTIFYING_NAME.value
            and (found := TELLING_FOLDER.fullmatch(entry.detail))
        }
        if not folders:
            return []
        below = [e for e in self.entries.released() if not folders.isdisjoint(_folders(e.input))]
        for entry in below:
            self._withdraw(
                entry, Reason.IDENTIFYING_NAME, "its folder's name, by another file there"
            )
        return [entry.input for entry in below]

    def _withdraw(self, entry: Entry, reason: Reason, detail: str = "") -> None:
        for path in entry.outputs:
            storage.remove(self.places.out / path)
        self.record(Entry(entry.input, reason.value, detail))


def _strangers(private: Path) -> set[str]:
    """What no release that is to begin leaves there."""
    return {name for name in os.listdir(private) if not _is_temporary(name)} - BEFORE


def _folders(path: str) -> list[str]:
    """Every folder above a path, with its slash."""
    return [path[: at + 1] for at, sign in enumerate(path) if sign == "/"]


def _is_temporary(path: str) -> bool:
    return path.rpartition("/")[2].startswith(TEMPORARY)
