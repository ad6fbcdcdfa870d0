"""What became of a file is journalled, and OUT made to agree with it."""

from __future__ import annotations

from anonymize.release import storage
from anonymize.release.intake import Candidate
from anonymize.release.journal import Entry, Journal
from anonymize.release.reasons import Refused, unexpected
from anonymize.release.staging import Staged


def publish(candidate: Candidate, outcome: Staged | Refused, journal: Journal) -> Entry:
    """Journals the outcome, then makes OUT agree with it; gives the entry that counts.

    Raises:
        StorageError: OUT or the journal cannot be written.
    """
    out = journal.places.out
    previous = journal.entries.get(candidate.path)
    before = {} if previous is None else previous.outputs
    with storage.device_errors():
        if isinstance(outcome, Staged):
            try:
                for path in before.keys() - outcome.entry.outputs.keys():
                    storage.remove(out / path)
                journal.record(outcome.entry)
                for temporary, path in outcome.masks.items():
                    storage.publish(temporary, out / path)
                storage.publish(outcome.temporary, out / outcome.entry.output)
                return outcome.entry
            except OSError as error:
                if error.errno in storage.DEVICE_ERRORS:
                    raise
                outcome.discard()
                before |= outcome.entry.outputs
                outcome = unexpected(error)
        # The old outputs of an input that is refused now must go before the journal says so.
        for path in before:
            storage.remove(out / path)
        entry = candidate.refused(outcome)
        journal.record(entry)
        return entry
