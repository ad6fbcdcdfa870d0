"""What stands on another machine beside a worker of a release: it hands messages on, no more.

A Ray actor (:mod:`ray_pool`), which imports nothing of Ray. It opens no question and no answer, so
that nothing a stranger's file can do reaches it; the worker is that of a local pool, with the same
limits. What it is given and gives back is locked (:mod:`private_line`), since Ray keeps it in its
object store, writes it to the disk when that is full, and sends it over the network as it is.
"""

import sys
from functools import cache

from anonymize import core_dump, fingerprint
from anonymize.release.reasons import Refused
from anonymize.release.workers.private_line import Offer, Pieces, PrivateLine
from anonymize.release.workers.worker_pool import Limits, LocalWorker

ANSWERED, LOST = b"answered", b"lost"


class Carrier:
    """One worker on this machine, and the line to the release."""

    def __init__(self, seconds: float, memory: int) -> None:
        self._limits = Limits(seconds, memory)
        self._line: PrivateLine | None = None
        self._worker: LocalWorker | None = None

    def begin(self, public: bytes) -> tuple[bytes, str] | None:
        """Starts the worker; this end's public key and the :func:`program` that answers."""
        try:
            core_dump.forbid()
            offer = Offer()
            self._line = offer.line(public, asks=False)
            self._worker = LocalWorker(self._limits)
            return offer.public, program()
        except Exception:
            return None  # Ray would keep its text

    def ask(self, question: Pieces) -> Pieces | None:
        """The answer to a question, why the worker was lost, or None where neither is known."""
        try:
            assert self._line is not None  # begun
            assert self._worker is not None
            answer = self._worker.exchange(self._line.unlocked(question))
            if isinstance(answer, Refused):
                told = (answer.reason.value, answer.detail)
                return self._line.locked([LOST, *(word.encode() for word in told)])
            return self._line.locked([ANSWERED, *answer])
        except Exception:
            return None


@cache
def program() -> str:
    """Tells programs apart that may release other bytes: all that a release runs, by its sources,
    the versions of what it uses, and the platform."""
    return f"{fingerprint.sources('anonymize.release.pipeline')} {sys.platform}"
