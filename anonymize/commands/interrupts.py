"""Ctrl-C and SIGTERM end a command wherever it is, or ask it to end."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_AGAIN_SECONDS = 0.05
_TWICE_SECONDS = 1.0  # a group and its leader may both be told


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


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C or SIGTERM came, for a command that ends by itself then; another one, later
    than what comes twice by itself, ends it wherever it is."""
    asked: list[float] = []

    def ask(number: int, frame: object) -> None:
        asked.append(time.monotonic())
        if asked[-1] - asked[0] > _TWICE_SECONDS:
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _terminate(number: int, frame: object) -> None:
    raise Terminated
