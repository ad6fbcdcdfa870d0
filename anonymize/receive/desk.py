"""One batch of received objects after the other: released, journalled, and only then let go."""

import sys
import time
from contextlib import suppress
from functools import partial

from anonymize.anonymizer import Anonymizer
from anonymize.receive.outbox import Outbox
from anonymize.receive.spool import Spool
from anonymize.receive.tally import Summary, Tally
from anonymize.release import pipeline, storage
from anonymize.release.preparation import Release
from anonymize.release.records.entries import Entry
from anonymize.release.records.listed import Listed
from anonymize.release.summary import Told
from anonymize.release.workers.worker_pool import WorkerPool

QUARANTINE = "quarantine"  # in the private folder: what was received and not released
BATCH = 16  # objects that are released before anything else is looked at
TABLES_SHARE = 20.0  # tables wait so many times longer than they take


class Desk:
    """Takes objects from the spool through a release that is open, and to the outbox."""

    def __init__(
        self,
        release: Release,
        model: Anonymizer,
        pool: WorkerPool,
        spool: Spool,
        outbox: Outbox | None,
        tally: Tally,
    ) -> None:
        self._release, self._model, self._pool = release, model, pool
        self._spool, self._outbox, self._tally = spool, outbox, tally
        self._tables_due = 0.0  # at once: an earlier node may have been killed before its own
        self._stale = True

    @property
    def summary(self) -> Summary:
        forwarding = 0 if self._outbox is None else len(self._outbox)
        return self._tally.summary(waiting=len(self._spool), forwarding=forwarding)

    @property
    def told(self) -> Told:
        """What is to be said of the whole release beside counts."""
        return pipeline.about(self._release, self._model)

    def work(self) -> bool:
        """Releases what waits, a batch at most; False where nothing did. Raises StorageError,
        WorkerPoolError: as ``apply``; what was not journalled stays in the spool."""
        if self._outbox is not None:
            self._outbox.check()
        batch = self._spool.take(BATCH)
        if batch:
            self._stale = True
            counts = pipeline.release_files(
                self._release.of(Listed(batch)), self._model, self._pool
            )
            for found in batch:
                self._let_go(self._release.journal.entries[found.path])
            before, made = counts.pop("already done", 0), counts.pop("anonymized", 0)
            self._tally.add("released", made)
            self._tally.add("quarantined", len(batch) - before - made)
        if self._stale and time.monotonic() >= self._tables_due:
            self.write_tables()
        return bool(batch)

    def write_tables(self) -> None:
        """The manifest and the private lists, of everything that ever came; not so often that it
        would take more than a small share of the time."""
        begun = time.monotonic()
        pipeline.finish(self._release, self._model, self._release.journal.entries)
        ended = time.monotonic()
        self._stale, self._tables_due = False, ended + max(1.0, TABLES_SHARE * (ended - begun))

    def _let_go(self, entry: Entry) -> None:
        """An object whose release, or refusal, is journalled."""
        settle = partial(self._spool.settled, entry.input, entry.sha256)
        if not entry.released:
            self._keep(entry.input)
            settle()
        elif self._outbox is None:
            settle()
        else:
            self._outbox.put(entry.output, entry.output_sha256, settle)

    def _keep(self, name: str) -> None:
        """Copies what was refused, of any size, into the private folder, for people to look at."""
        with storage.device_errors(), suppress(FileNotFoundError):
            data = storage.read_regular(self._spool.folder / name, sys.maxsize)[0]
            place = self._release.places.private / QUARANTINE / name
            storage.write_whole(place, data, mode=0o600)
