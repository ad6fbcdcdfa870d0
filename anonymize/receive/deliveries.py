"""The journal of what was forwarded: append-only, private, one line a try."""

from dataclasses import asdict, dataclass
from pathlib import Path

from anonymize.errors import UsageError
from anonymize.release import storage
from anonymize.release.records.csv_bytes import csv_bytes
from anonymize.release.records.json_lines import JsonLines

JOURNAL, LIST = "forward.jsonl", "undelivered.csv"
DELIVERED, UNDELIVERED, TRIED = "delivered", "undelivered", "tried"
COLUMNS = ("output", "sha256", "tries", "why")


@dataclass(frozen=True)
class Delivery:
    """What became of one released file so far: ``tries`` of them, ``why`` the last one failed."""

    to: str
    output: str
    sha256: str
    state: str = TRIED
    tries: int = 0
    why: str = ""


class Deliveries(JsonLines):
    """The deliveries to one destination, by output; the file holds those to others, too."""

    def __init__(self, private: Path, to: str) -> None:
        """Reads the journal. Raises UsageError: it is damaged."""
        super().__init__(private / JOURNAL)
        self._to, self._list = to, private / LIST
        try:
            found = [Delivery(**line) for line in self.lines()]
        except (ValueError, TypeError):
            raise UsageError(
                f"{JOURNAL} in the private folder is damaged or of another version; move it away, "
                "and what waits is forwarded, perhaps again"
            ) from None
        self._last = {d.output: d for d in found if d.to == to}

    def of(self, output: str, sha256: str) -> Delivery:
        """What is known of a file; of one that was made anew, nothing."""
        last = self._last.get(output)
        return last if last and last.sha256 == sha256 else Delivery(self._to, output, sha256)

    @property
    def undelivered(self) -> list[Delivery]:
        """What the archive did not take."""
        return [d for d in self._last.values() if d.state == UNDELIVERED]

    def record(self, delivery: Delivery) -> None:
        """Adds a line, durably, and writes the list of what is undelivered anew. Raises
        StorageError: it cannot be written."""
        before = self._last.get(delivery.output)
        with storage.device_errors():
            self._append(asdict(delivery))
            self._last[delivery.output] = delivery
            if UNDELIVERED in (delivery.state, before and before.state):
                rows = sorted((d.output, d.sha256, d.tries, d.why) for d in self.undelivered)
                storage.write_whole(self._list, csv_bytes(COLUMNS, rows), mode=0o600)
