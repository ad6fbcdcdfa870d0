"""What became of everything that came: counted by several threads, read by one."""

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any

from anonymize.release.summary import Told


@dataclass(frozen=True)
class Summary:
    """Counts since the node was started, and what waits now.

    ``received``: new objects, on the disk before their senders were told so; ``duplicates``: those
    that had come before; ``full``: turned away for now, there was no room; ``refused``: no SOP
    Instance UID, or another SOP class than agreed upon; ``strangers``: associations that were
    rejected. ``undelivered``: files that the archive did not take in as many tries as allowed.
    ``waiting``: objects in the spool, ``forwarding`` those of them that are released. ``told`` is
    of the whole release, when the node ended.
    """

    received: int = 0
    duplicates: int = 0
    full: int = 0
    refused: int = 0
    strangers: int = 0
    released: int = 0
    quarantined: int = 0
    forwarded: int = 0
    undelivered: int = 0
    waiting: int = 0
    forwarding: int = 0
    told: Told | None = None

    def __str__(self) -> str:
        one = {name: name.removesuffix("s") for name in self.counts}
        told = (f"{n:,} {one[k] if n == 1 else k}" for k, n in self.counts.items() if n)
        return ", ".join(told) or "nothing came"

    @property
    def counts(self) -> dict[str, int]:
        return {name: n for name, n in vars(self).items() if name != "told"}


class Tally:
    """Counts of :class:`Summary`, by name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def add(self, name: str, number: int = 1) -> None:
        with self._lock:
            self._counts[name] += number

    def summary(self, *, waiting: int, forwarding: int) -> Summary:
        with self._lock:
            counts: dict[str, Any] = dict(self._counts)
            return Summary(**counts, waiting=waiting, forwarding=forwarding)
