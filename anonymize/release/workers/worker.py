"""A worker process: decodes, encodes and checks in a room of its own.

Started by :mod:`worker_pool` with the descriptor of a socket, the seconds that a
call may compute and may last, and the bytes of memory that it may use. It can write no file, start
nothing and reach no network (:mod:`sandbox`), leaves no core dump, and says nothing; the kernel
ends it when its time is over, even where nobody is left to do so.
"""

import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from anonymize import core_dump
from anonymize.release.reasons import Reason, as_refusal
from anonymize.release.workers import sandbox, wire

OUT_OF_MEMORY = 77  # exit status: a question or an answer was too large to hold
STATUS = Path("/proc/self/statm")


def main(descriptor: int, computing: float, lasting: float, memory: int) -> None:
    """Answers calls until the other side hangs up."""
    # Imported now, they cost no call's time.
    from anonymize.release import decode, encode  # noqa: F401
    from anonymize.release.checking import verification  # noqa: F401

    # Ctrl-C, and what ends a whole group of processes, are for the release, which ends its workers.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    core_dump.forbid()
    _limit(resource.RLIMIT_FSIZE, 0)
    if STATUS.exists():
        used = int(STATUS.read_text().split()[0]) * resource.getpagesize()
        _limit(resource.RLIMIT_AS, used + memory)
    with socket.socket(fileno=descriptor) as channel:
        sandbox.enter()
        wire.answer(channel, "ready")
        try:
            while True:
                function, arguments = wire.asked(channel)
                _alarm(computing, lasting)
                answer = outcome(function, arguments)
                _alarm(0, 0)
                try:
                    wire.answer(channel, answer)
                except (TypeError, ValueError, RecursionError) as error:  # before a byte was sent
                    wire.answer(channel, (None, (Reason.FAILED.value, type(error).__name__)))
        except (EOFError, OSError):
            return
        except MemoryError:
            os._exit(OUT_OF_MEMORY)  # at once: whoever asked waits for the status


def outcome(function: Callable, arguments: tuple) -> tuple[Any, tuple[str, str] | None]:
    """(result, None), or (None, (reason code, detail)); no text of an error, it may quote a file.

    Returns plain values: what an exception carries may not be fit for the journey.
    """
    try:
        return function(*arguments), None
    except Exception as error:
        refusal = as_refusal(error)
        return None, (refusal.reason.value, refusal.detail)


def _alarm(computing: float, lasting: float) -> None:
    """The kernel ends this process after so many seconds of its own, or by the clock; 0: never."""
    signal.setitimer(signal.ITIMER_PROF, computing)
    signal.setitimer(signal.ITIMER_REAL, lasting)


def _limit(what: int, value: int) -> None:
    hard = resource.getrlimit(what)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (value, value))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
