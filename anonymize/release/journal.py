"""The journal of a release: append-only, private, what became of every input.

It holds one JSON object a line: first what the release is, then one entry a
file and attempt; the last entry of a path counts. An entry is on the disk before its output gets
its name, so that nothing under OUT is ever unaccounted for.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from anonymize import whole_file
from anonymize.errors import UsageError, counted
from anonymize.fingerprint import sha256_file
from anonymize.release import storage
from anonymize.release.json_lines import JsonLines
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
    "patients": "another --patients",
    "strict": "or without --strict",
    "method": "another method",
    "options": "other options of the method",
    "model_sha256": "another model",
}
ABSENT = {"strict": False, "patients": ""}  # what journals that do not say meant
BAD_JOURNAL = (
    "the journal in the private folder is damaged or of another version; choose another OUT"
)


@dataclass(frozen=True)
class Entry:
    """What became of one input. ``sha256`` etc. are "" or 0 where it was not read."""

    input: str
    reason: str = ""  # "" where it was released
    detail: str = ""
    size: int = 0
    mtime_ns: int = 0
    sha256: str = ""
    output: str = ""
    output_sha256: str = ""
    note: str = ""
    figures: dict[str, float | None] | None = None
    labels: dict[str, Any] | None = None  # of labels.account.share
    unfit: str = ""  # why the method's strength does not fit its size

    @property
    def released(self) -> bool:
        return not self.reason

    @property
    def outputs(self) -> dict[str, str]:
        """Paths under OUT and their sha256: the image and its masks; none where it is refused."""
        if not self.released:
            return {}
        return {self.output: self.output_sha256, **(self.labels or {}).get("files", {})}


def begun_names(places: Places) -> str:
    """How a release that was begun there names its outputs; "" where there is none to be read."""
    try:
        with (places.private / JOURNAL).open("rb") as stream:
            return str(json.loads(stream.readline(LONGEST_HEADER))["names"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""


class Journal(JsonLines):
    """The journal of a release that is open (and locked by the caller)."""

    def __init__(self, places: Places, header: dict[str, Any]) -> None:
        """Reads the journal, without changing anything.

        Raises:
            UsageError: OUT or the private folder belongs to something else, or to a release with
                another model, IN or naming; or holds files that no release wrote.
        """
        super().__init__(places.private / JOURNAL)
        self.places = places
        self.header = json.loads(json.dumps(header, default=str))
        try:
            lines = self._lines()
        except ValueError:
            raise UsageError(BAD_JOURNAL) from None
        if lines:
            self._check_header(lines[0])
        elif places.private.exists() and set(os.listdir(places.private)) - BEFORE:
            raise UsageError(
                "the private folder is not empty and holds no journal; choose another --private"
            )
        try:
            entries = [Entry(**line) for line in lines[1:]]
        except TypeError:
            raise UsageError(BAD_JOURNAL) from None
        self.entries = {entry.input: entry for entry in entries}
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
        known = {path for e in self.entries.values() for path in e.outputs}
        known |= {MANIFEST, SIGNATURE, *account.known_paths(self.header["labels"])}
        known |= set(SET_FILES) if self.header.get("set") else set()
        there = (path for path in output_files(self.places.out) if path not in known)
        strange = [path for path in there if not _is_temporary(path)]
        if not strange:
            return
        if self._whole:
            raise UsageError(
                f"OUT holds {counted(len(strange), 'file')} that this release did not write; "
                "move what is not its own away"
            )
        raise UsageError("OUT is not empty and no release was begun there; choose another OUT")

    def open(self) -> None:
        """Starts writing: the header of a new journal, or behind the last whole line."""
        self.places.private.chmod(0o700)
        self._remove_temporary()
        self._begin()
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
        self.entries[entry.input] = entry

    def intact(self, entry: Entry | None) -> bool:
        """True where ``entry`` was released and its outputs are on the disk, bit for bit."""
        if entry is None or not entry.released:
            return False
        try:
            return all(sha256_file(self.places.out / p) == d for p, d in entry.outputs.items())
        except FileNotFoundError:
            return False

    def account_for_vanished(self, inputs: set[str]) -> None:
        """Outputs whose input is gone stay; one that was removed too is noted as vanished.

        Raises:
            UsageError: an output was changed since, and could not be made again.
        """
        gone = [
            e
            for e in self.entries.values()
            if e.released and e.input not in inputs and not self.intact(e)
        ]
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
            for entry in self.entries.values()
            if entry.reason == Reason.IDENTIFYING_NAME.value
            and (found := TELLING_FOLDER.fullmatch(entry.detail))
        }
        released = [entry for entry in self.entries.values() if entry.released]
        below = [e for e in released if not folders.isdisjoint(_folders(e.input))]
        for entry in below:
            self._withdraw(
                entry, Reason.IDENTIFYING_NAME, "its folder's name, by another file there"
            )
        return [entry.input for entry in below]

    def _withdraw(self, entry: Entry, reason: Reason, detail: str = "") -> None:
        for path in entry.outputs:
            storage.remove(self.places.out / path)
        self.record(Entry(entry.input, reason.value, detail))


def _folders(path: str) -> list[str]:
    """Every folder above a path, with its slash."""
    return [path[: at + 1] for at, sign in enumerate(path) if sign == "/"]


def _is_temporary(path: str) -> bool:
    return path.rpartition("/")[2].startswith(TEMPORARY)
