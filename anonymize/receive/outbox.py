"""Released files on their way to an archive, in a thread of their own.

A file is sent again until the archive's answer is known and journalled: once where nothing fails,
and otherwise again under the same SOP Instance UID. While the archive is not reached everything
waits, ever longer; a file that it declines waits alone.
"""

import hashlib
import heapq
import itertools
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from anonymize.receive.archives import Archive, DeclinedError, UnreachableError
from anonymize.receive.deliveries import DELIVERED, TRIED, UNDELIVERED, Deliveries, Delivery
from anonymize.receive.tally import Tally
from anonymize.release import storage
from anonymize.release.radiograph import MAX_BYTES

LONGEST_PAUSE = 300.0  # seconds
POLL = 0.05


@dataclass(order=True)
class _Parcel:
    due: float
    number: int
    delivery: Delivery = field(compare=False)
    settle: Callable[[], None] = field(compare=False)


class _ChangedError(Exception):
    """A file under OUT is not what was released."""


class Outbox:
    """Sends what it is given until :meth:`close`; ``tries`` a file."""

    def __init__(
        self, archive: Archive, deliveries: Deliveries, out: Path, tries: int, tally: Tally
    ) -> None:
        self._archive, self._deliveries, self._out = archive, deliveries, out
        self._tries, self._tally = tries, tally
        self._parcels: list[_Parcel] = []
        self._lock, self._numbers = threading.Lock(), itertools.count()
        self._failures, self._paused_until = 0, 0.0
        self._end: float | None = None  # when it stops at the latest, once it is to stop
        self._error: Exception | None = None
        self._sending = 0
        # They get another go, and stay undelivered until it succeeds: the spool has them no more.
        for delivery in deliveries.undelivered:
            self._push(replace(delivery, tries=0), lambda: None)
        self._thread = threading.Thread(target=self._run, name="forwarding", daemon=True)
        self._thread.start()

    def put(self, output: str, sha256: str, settle: Callable[[], None]) -> None:
        """Takes a released file; calls ``settle`` once it is journalled what became of it."""
        delivery = self._deliveries.of(output, sha256)
        if delivery.state == TRIED:
            self._push(delivery, settle)
        else:
            settle()

    def __len__(self) -> int:
        """Number of files that are on their way."""
        with self._lock:
            return len(self._parcels) + self._sending

    def check(self) -> None:
        """Raises what ended the thread: StorageError where nothing can be journalled."""
        if self._error is not None:
            raise self._error

    def close(self, deadline: float = 0.0) -> None:
        """Sends what can be sent at once, until ``deadline`` (of ``time.monotonic``)."""
        self._end = deadline
        self._thread.join(max(deadline - time.monotonic(), POLL))

    def _push(self, delivery: Delivery, settle: Callable[[], None], due: float = 0.0) -> None:
        with self._lock:
            heapq.heappush(self._parcels, _Parcel(due, next(self._numbers), delivery, settle))

    def _run(self) -> None:
        try:
            while (parcel := self._next()) is not None:
                self._send(parcel)
                self._sending = 0
        except Exception as error:
            self._error = error
        finally:
            self._archive.close()

    def _next(self) -> _Parcel | None:
        """The parcel that is due; None where it is to stop, and time is over or none is due."""
        while self._end is None or time.monotonic() < self._end:
            with self._lock:
                due = max(self._parcels[0].due, self._paused_until) if self._parcels else math.inf
                if due <= time.monotonic():
                    self._sending = 1
                    return heapq.heappop(self._parcels)
            if self._end is not None:
                break
            time.sleep(POLL)
        return None

    def _send(self, parcel: _Parcel) -> None:
        delivery = replace(parcel.delivery, tries=parcel.delivery.tries + 1)
        try:
            self._archive.send(self._bytes(delivery))
            self._failures = 0
            self._settle(parcel, replace(delivery, state=DELIVERED, why=""), "forwarded")
            return
        except UnreachableError as error:
            self._failures += 1
            self._paused_until = time.monotonic() + _pause(self._failures)
            due, why = 0.0, str(error)
        except DeclinedError as error:
            self._failures = 0
            due, why = time.monotonic() + _pause(delivery.tries), str(error)
        except _ChangedError:
            delivery = replace(delivery, tries=self._tries)  # in vain, however often
            due, why = 0.0, "changed or gone since it was released"
        delivery = replace(delivery, why=why)
        if delivery.tries >= self._tries:
            self._settle(parcel, replace(delivery, state=UNDELIVERED), "undelivered")
        else:
            self._deliveries.record(delivery)
            self._push(delivery, parcel.settle, due)

    def _settle(self, parcel: _Parcel, delivery: Delivery, count: str) -> None:
        self._deliveries.record(delivery)
        parcel.settle()
        self._tally.add(count)

    def _bytes(self, delivery: Delivery) -> bytes:
        """The file as it was released.

        Raises:
            _ChangedError: it is another one.
            StorageError: the device fails.
        """
        try:
            with storage.device_errors():
                data = storage.read_regular(self._out / delivery.output, MAX_BYTES)[0]
        except OSError:
            raise _ChangedError from None
        if hashlib.sha256(data).hexdigest() != delivery.sha256:
            raise _ChangedError
        return data


def _pause(failures: int) -> float:
    """Seconds after so many failures: 1, 2, 4, … and no more than ``LONGEST_PAUSE``."""
    return min(LONGEST_PAUSE, 2.0 ** (failures - 1)) if failures < 32 else LONGEST_PAUSE
