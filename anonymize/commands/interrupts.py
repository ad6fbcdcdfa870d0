"""Ctrl-C and SIGTERM end a command wherever it is."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_AGAIN_SECONDS = 0.05


class Terminated(KeyboardInterrupt):
    """SIGTERM: as Ctrl-C, so that what is unfinished is removed."""


@contextmanager
def heard() -> Iterator[None]:
    """SIGTERM raises Terminated, and neither it nor Ctrl-C is lost.

    Python drops what is raised in a finalizer or the callback of a weak reference, where it is as
    likely to be as anywhere; the signal then comes again. In other threads than the main one,
    which hear no signals, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    main = threading.get_ident()
    before, hook = signal.signal(signal.SIGTERM, _terminate), sys.unraisablehook

    def again(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            hook(dropped)
            return
        number = signal.SIGTERM if issubclass(dropped.exc_type, Terminated) else signal.SIGINT
        # Later, for what is raised in here is dropped as well.
        timer = threading.Timer(_AGAIN_SECONDS, signal.pthread_kill, (main, number))
        timer.daemon = True
        timer.start()

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: object) -> None:
    raise Terminated
