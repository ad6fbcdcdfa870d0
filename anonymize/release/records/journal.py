"""The journal of a release: append-only, private, what became of every input.

It holds one JSON object a line: first what the release is, then one entry a
file and attempt; the last entry of a path counts. An entry is on the disk before its output gets
its name, so that nothing under OUT is ever unaccounted for.
"""

import hashlib
import json
import os
from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from anonymize import whole_file
from anonymize.errors import UsageError, counted
from anonymize.fingerprint import sha256_file
from anonymize.release import storage
from anonymize.release.labels import account
from anonymize.release.listing import output_files
from anonymize.release.places import KEY, MANIFEST, SET_FILES, SIGNATURE, Places
from anonymize.release.radiograph import MAX_BYTES
from anonymize.release.reasons import TELLING_FOLDER, Reason
from anonymize.release.records.entries import Entries, Entry
from anonymize.release.records.json_lines import JsonLines
from anonymize.release.records.signature import PUBLIC
from anonymize.whole_file import TEMPORARY

JOURNAL = "journal.jsonl"
WAITING = "waiting"  # in the private folder: outputs that nobody accepted
BEFORE = {JOURNAL, KEY, KEY + PUBLIC}  # what may be in a private folder before a release
LONGEST_HEADER = 1 << 20
PRECISION = "precision"  # journals of earlier versions do not say it, and go on with any
HEADER_WORDS = {
    "in": "another IN",
    "out": "another OUT",
    "names": "other --names",
    "key": "another --key-file",
    "labels": "other --labels",
    "spare": "another --spare",
    "table": "another --table or other --columns",
    "text": "other --text (left out, it is as the extra ocr is installed or not), --text-fill or "
    "--side-markers",
    "dicom": "other --retain, --clean-descriptors or --dicom-transfer-syntax",
    "canonical": "another --canonical",
    "shard": "another --shard",
    "patients": "another --patients",
    "strict": "or without --strict",
    "review": "or without --require-review",
    "method": "another method",
    "options": "other options of the method",
    "model_sha256": "another model",
    PRECISION: "another precision",
}
# What journals that do not say meant.
ABSENT = {"strict": False, "review": False, "patients": "", "shard": "", "table": None}
BAD_JOURNAL = (
    "the journal in the private folder is damaged or of another version; choose another OUT"
)
OTHER_PRECISION = (
    "this OUT was begun in another precision (bfloat16 or float32) than its method has here; go on "
    "on a machine as it was begun on (for bfloat16: AVX512-BF16 or AMX), or choose another OUT"
)


def begun(private: Path) -> dict[str, Any]:
    """What a release that was begun there is (the journal's header); {} where none can be read."""
    try:
        with (private / JOURNAL).open("rb") as stream:
            return dict(json.loads(stream.readline(LONGEST_HEADER)))
    except (OSError, ValueError, TypeError, RecursionError):
        return {}


def read_journal(journal: JsonLines) -> tuple[dict[str, Any] | None, Entries]:
    """The header of a journal, None where there is none, and the last entry of each input. Raises
    UsageError: it is damaged, or of another version."""
    entries = Entries()
    try:
        lines = journal.lines()
        header = next(lines, None)
        for line in lines:
            entries.put(Entry(**line))
    except (ValueError, TypeError):
        raise UsageError(BAD_JOURNAL) from None
    return header, entries


class Journal(JsonLines):
    """The journal of a release that is open (and locked by the caller)."""

    def __init__(self, places: Places, header: dict[str, Any]) -> None:
        """Reads the journal, without changing anything.

        Raises UsageError: OUT or the private folder belongs to something else, or to a release with
        another model, IN or naming; or holds files that no release wrote."""
        super().__init__(places.private / JOURNAL)
        self.places = places
        self.header = json.loads(json.dumps(header, default=str))
        found, self.entries = read_journal(self)
        if found is not None:
            self._check_header(found)
            if PRECISION not in found:
                self.header.pop(PRECISION, None)
        elif places.private.exists() and _strangers(places.private):
            raise UsageError(
                "the private folder is not empty and holds no journal; choose another --private"
            )
        self._check_out()

    def _check_header(self, found: dict[str, Any]) -> None:
        asked = {PRECISION: None, **self.header}
        meant = ABSENT | {PRECISION: asked[PRECISION]}
        other = [
            words
            for key, words in HEADER_WORDS.items()
            if found.get(key, meant.get(key)) != asked[key]
        ]
        if other == [HEADER_WORDS[PRECISION]]:
            raise UsageError(OTHER_PRECISION)
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
        super().open()
        if not self._whole:
            self._append(self.header)
            whole_file.sync_folder(self.places.private)
        for entry in self.entries:
            self.settle(entry)

    def close(self) -> None:
        """Removes what was not finished, as far as the disk allows."""
        if self._stream is not None:
            super().close()
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

    def folder(self, entry: Entry) -> Path:
        """Where the files of an entry belong: OUT, or the private folder while nobody accepted
        them."""
        return self.places.out if entry.released else self.places.private / WAITING

    def settle(self, entry: Entry) -> None:
        """Moves the files of an entry to where they belong, whole; a second time it does nothing.

        What is not as the entry says is removed from where it does not belong, and goes nowhere.
        """
        home = self.folder(entry)
        away = self.places.private / WAITING if entry.released else self.places.out
        for path, digest in entry.files.items():
            if not os.path.lexists(away / path):
                continue
            if not _holds(home / path, digest):
                with suppress(storage.NotRegularError, FileNotFoundError):
                    data, _ = storage.read_regular(away / path, MAX_BYTES, away)
                    if hashlib.sha256(data).hexdigest() == digest:
                        storage.write_whole(home / path, data)
            storage.remove(away / path)

    def intact(self, entry: Entry | None) -> bool:
        """True where files were made for ``entry`` and are where they belong, bit for bit."""
        if entry is None or not entry.files:
            return False
        folder = self.folder(entry)
        return all(_holds(folder / path, digest) for path, digest in entry.files.items())

    @property
    def unreviewed(self) -> bool:
        """True while an output waits for somebody to look at it."""
        return self.entries.any_of(Reason.UNREVIEWED.value)

    def account_for_vanished(self, inputs: Container[str]) -> None:
        """Outputs whose input is gone stay; one that was removed too is noted as vanished. Raises
        UsageError: an output was changed since, and could not be made again."""
        gone = [e for e in self.entries if e.files and e.input not in inputs and not self.intact(e)]
        if changed := sum(e.released and (self.places.out / e.output).exists() for e in gone):
            raise UsageError(
                f"OUT holds {counted(changed, 'file')} changed after the release, without an "
                "input to make it anew; move what was changed away"
            )
        for entry in gone:
            self._withdraw(entry, Reason.VANISHED)

    def withdraw_telling(self, *, searched: bool) -> list[Entry]:
        """Withdraws what was made of files in a folder whose name told who another file there
        shows; of those whose labels say what any header of the release knows; where paths are
        ``searched``, also of those whose path does. The entries as they were."""
        folders = {
            "".join(f"{part}/" for part in entry.input.split("/")[: int(found[1])])
            for entry in self.entries.refused()
            if entry.reason == Reason.IDENTIFYING_NAME.value
            and (found := TELLING_FOLDER.fullmatch(entry.detail))
        }
        below: list[Entry] = []
        if folders:
            made = (entry for entry in self.entries if entry.files)
            below = [e for e in made if not folders.isdisjoint(_folders(e.input))]
        name, telling = Reason.IDENTIFYING_NAME, self.telling() if searched else ()
        gone: list[Entry] = []
        for entries, reason, why in (
            (below, name, "its folder's name, by another file there"),
            (telling, name, "a word of another header, or of --table"),
            (self._telling_labels(), Reason.LABELS, "a class or a mask's name that a header knows"),
        ):
            found_out = list(entries)  # among those that are left
            for entry in found_out:
                self._withdraw(entry, reason, why)
            gone += found_out
        return [e for e in gone if e.reason != Reason.REVIEW.value]

    def telling(self) -> Iterator[Entry]:
        """What was made of files whose path, which is kept, says what a header or a table knows."""
        if self.header["names"] == "keep" and self.entries.know_somebody:
            yield from (e for e in self.entries if e.files and self.entries.tell(e.input))

    def _telling_labels(self) -> Iterator[Entry]:
        """What was made of files whose labels say what a header of this release knows."""
        if self.header["labels"] and self.entries.know_somebody:
            yield from (e for e in self.entries if e.files and any(map(self.entries.tell, e.texts)))

    def _withdraw(self, entry: Entry, reason: Reason, detail: str = "") -> None:
        for path in entry.files:
            storage.remove(self.folder(entry) / path)
        if entry.reason == Reason.REVIEW.value:  # nobody takes that back by the way
            self.record(replace(entry, output="", output_sha256="", labels=None))
            return
        self.record(Entry(entry.input, reason.value, detail, known=entry.known))


def _strangers(private: Path) -> set[str]:
    """What no release that is to begin leaves there."""
    return {name for name in os.listdir(private) if not _is_temporary(name)} - BEFORE


def _holds(path: Path, digest: str) -> bool:
    """Whether a file is there, with this sha256."""
    try:
        return not path.is_symlink() and sha256_file(path) == digest
    except OSError as error:
        if error.errno in storage.DEVICE_ERRORS:
            raise
        return False


def _folders(path: str) -> list[str]:
    """Every folder above a path, with its slash."""
    return [path[: at + 1] for at, sign in enumerate(path) if sign == "/"]


def _is_temporary(path: str) -> bool:
    return path.rpartition("/")[2].startswith(TEMPORARY)
