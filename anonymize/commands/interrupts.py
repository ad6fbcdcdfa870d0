"""Ctrl-C, SIGTERM and SIGHUP end a command wherever it is, or ask it to end.

SIGHUP comes where a terminal is closed or a connection lost; under nohup it stays ignored.
"""

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
    """SIGTERM, or SIGHUP: as Ctrl-C, so that what is unfinished is removed."""

    def __init__(self, number: int = signal.SIGTERM) -> None:
        super().__init__()
        self.number = number

    @property
    def status(self) -> int:
        """With which a shell expects a command to end."""
        return 128 + self.number


@contextmanager
def heard() -> Iterator[None]:
    """SIGTERM and SIGHUP raise Terminated, and neither they nor Ctrl-C are lost.

    Python drops what is raised in a finalizer or the callback of a weak reference, where it is as
    likely to be as anywhere; the signal then comes again. In other threads than the main one,
    which hear no signals, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    main = threading.get_ident()
    before = {number: signal.signal(number, _terminate) for number in _ending()}
    hook = sys.unraisablehook

    def again(dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            hook(dropped)
            return
        stop = dropped.exc_value
        number = stop.number if isinstance(stop, Terminated) else signal.SIGINT
        # Later, for what is raised in here is dropped as well.
        timer = threading.Timer(_AGAIN_SECONDS, signal.pthread_kill, (main, number))
        timer.daemon = True
        timer.start()

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = hook
        _restore(before)


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C, SIGTERM or SIGHUP came, for a command that ends by itself then; another one,
    later than what comes twice by itself, ends it wherever it is."""
    asked: list[float] = []

    def ask(number: int, frame: object) -> None:
        asked.append(time.monotonic())
        if asked[-1] - asked[0] > _TWICE_SECONDS:
            raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, *_ending())}
    try:
        yield lambda: bool(asked)
    finally:
        _restore(before)


def _ending() -> list[signal.Signals]:
    """The signals that end a command besides Ctrl-C, without those that nohup has ignored."""
    known = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
    return [n for n in known if n is not None and signal.getsignal(n) is not signal.SIG_IGN]


def _restore(before: dict[signal.Signals, Any]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)


def _terminate(number: int, frame: object) -> None:
    raise Terminated(number)
