"""The decisions about a release: journalled first, then carried out, whatever interrupts them.

Before anything in OUT changes, its manifest goes; it comes back when OUT is as the journal says. So
at no moment does somebody who verifies OUT find a picture that was sent to quarantine.
"""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from anonymize.errors import UsageError
from anonymize.key_files import key_id, read_secret
from anonymize.release import storage
from anonymize.release.early import refuse_no_folder
from anonymize.release.machines.object_store import Objects
from anonymize.release.places import MANIFEST, SIGNATURE, Naming, Places, private_beside
from anonymize.release.reasons import Reason, Refused
from anonymize.release.records import facts
from anonymize.release.records.entries import Entry
from anonymize.release.records.facts import Facts
from anonymize.release.records.journal import ABSENT, Journal, begun

ACCEPTED, QUARANTINED, UNDECIDED = "accepted", "quarantined", "undecided"
REASONS = {ACCEPTED: "", QUARANTINED: Reason.REVIEW.value}
NO_RELEASE = (
    "the private folder holds no journal of a release to this OUT; name the OUT of `anonymize "
    "apply`, and its --private if it had one"
)


class Session:
    """A release that is open, and nobody else's, while somebody looks at it.

    Pictures have numbers, in the order of their outputs' names. Safe to be used by several threads.
    """

    def __init__(self, journal: Journal, told: Facts, naming: Naming | None) -> None:
        self.journal, self._facts, self._naming = journal, told, naming
        entries = (entry for entry in journal.entries if entry.files)
        made = sorted((os.fsencode(e.output), e.input, state(e)) for e in entries)
        self._inputs = [path for _, path, _ in made]
        self._states = [decided for *_, decided in made]
        self._lock = threading.Lock()
        self._behind = journal.unreviewed  # the tables may not be as the journal says

    def __len__(self) -> int:
        return len(self._inputs)

    @property
    def unsigned(self) -> bool:
        """True where the release was signed, and the key to do so again is not there."""
        return self._facts.signed and self._naming is None

    @property
    def entries(self) -> list[Entry]:
        return [self.entry(number) for number in range(len(self._inputs))]

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(self._states)
        return {name: found[name] for name in (ACCEPTED, QUARANTINED, UNDECIDED)}

    def entry(self, number: int) -> Entry:
        return self.journal.entries[self._inputs[number]]

    def inputs(self, number: int) -> list[tuple[str, str]]:
        """Paths and sha256 of what a picture was made of."""
        return self._facts.tables.inputs(self.entry(number))

    def decide(self, number: int, verdict: str) -> None:
        """Accepts a picture or sends it to quarantine; may be decided again, either way.

        Raises:
            Refused: it is no longer what was released, and cannot be accepted.
            StorageError: a folder cannot be written; the same call goes on.
        """
        reason = REASONS[verdict]
        with self._lock, storage.device_errors():
            entry = self.entry(number)
            self.journal.settle(entry)  # what a call that failed left behind
            if not reason and not self.journal.intact(entry):
                raise Refused(Reason.VERIFICATION, "its file is gone, or is another one")
            if entry.reason != reason:
                self._behind = True
                facts.withdraw(self.journal.places.out)
            if entry.reason != reason or not entry.reviewed:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                entry = replace(entry, reason=reason, detail="", reviewed=now)
                self.journal.record(entry)
                self._states[number] = state(entry)
            self.journal.settle(entry)
            if self._behind and not self.journal.unreviewed:
                self._publish()

    def finish(self) -> None:
        """Makes OUT and the private folder as the journal says, where they are not."""
        out = self.journal.places.out
        whole = self.journal.unreviewed or (out / MANIFEST).is_file()
        signed = not self._facts.signed or self._naming is None or (out / SIGNATURE).is_file()
        with self._lock, storage.device_errors():
            if self._behind or not whole or not (signed or self.journal.unreviewed):
                self._publish()

    def _publish(self) -> None:
        for entry in self.journal.entries:
            self.journal.settle(entry)
        self._facts.publish(self.journal, self._naming)
        self._behind = self.journal.unreviewed


def state(entry: Entry) -> str:
    """What somebody decided about a picture."""
    if not entry.reviewed:
        return UNDECIDED
    return ACCEPTED if entry.released else QUARANTINED


@contextmanager
def opened(out: Path, private: Path | None = None) -> Iterator[Session]:
    """The release in ``out``, locked; what an earlier call did not finish is finished.

    Raises:
        UsageError: no release is there, `anonymize apply` did not finish, or somebody is at it.
        StorageError: a folder cannot be written.
    """
    refuse_no_folder(out)
    out = out.resolve()
    private = (private or private_beside(out)).resolve()
    header = {**ABSENT, **begun(private)}
    if header.get("out") != str(out):
        raise UsageError(NO_RELEASE)
    if header["shard"]:
        raise UsageError(
            f"OUT is shard {header['shard']} of a release: name what `anonymize merge` makes of all"
        )
    objects = Objects.at(header["in"], "IN") if header["in"].startswith("s3:") else None
    source = Path(header["in"])
    single = source.name if source.is_file() else None
    with storage.exclusive(out) as held, storage.exclusive(private) as own:
        root = source if single is None else source.parent
        journal = Journal(Places(root, single, held, own, objects), header)
        told = facts.read(own)
        if told is None or not told.finished:
            raise UsageError(
                "`anonymize apply` did not finish there, or is of an earlier version; run the same "
                "command again, then this one"
            )
        with storage.device_errors():
            journal.open()
        try:
            session = Session(journal, told, _naming(told, header))
            session.finish()
            yield session
            session.finish()
        finally:
            journal.close()


def _naming(told: Facts, header: dict) -> Naming | None:
    """The key that the release was signed with; None where it is not there, or not needed."""
    if not told.signed:
        return None
    file = Path(told.key_file)
    try:
        secret = read_secret(file, "the key file", private=False)
    except UsageError:
        return None
    if secret is None or key_id(secret) != header["key"]:
        return None
    return Naming(file, header["names"] == "hashed", secret)
