"""Progress on standard error: a bar on a terminal, elsewhere lines, at least every ten seconds."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from anonymize.display import counter

EVERY = 10.0  # seconds without a line after which a log is told again where the work is


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """``report(done, total)`` for one piece of work."""
    with display() as shown:
        shown.at(title)
        yield counter(shown, title)


@contextmanager
def display(lines: Any = None, bar: Any = None) -> Iterator[Any]:
    """Shows lines and where the work is, until the end of the block; ``lines`` and ``bar`` are
    classes that show more than :class:`Lines` and :class:`Bar`."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (
            BarColumn(24),
            TextColumn("{task.fields[count]}"),
            TextColumn("{task.description}", markup=False),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            yield (bar or Bar)(progress)
        return
    shown = (lines or Lines)(lambda line: click.echo(line, err=True))
    with _ticking(shown):
        yield shown


class Lines:
    """Plain lines: what is said, each tenth of a count, and where the work is while nothing is."""

    def __init__(
        self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write, self._clock, self._last = write, clock, clock()
        self._title, self._count, self._tenth, self._started = "", "", -1, 0.0
        self._lock = threading.RLock()

    def say(self, line: str) -> None:
        with self._lock:
            self._last = self._clock()
            self._write(line)

    def at(self, place: str, done: int = 0, total: int | None = None) -> None:
        with self._lock:
            if place != self._title:
                self._title, self._tenth, self._started = place, -1, self._clock()
            self._count = "" if total is None else f": {done} of {total}"
            if total is not None and (tenth := 10 * done // max(total, 1)) > self._tenth:
                self._tenth = tenth
                self.say(self._title + self._count)

    @property
    def place(self) -> str:
        """Where the work is, and since when; "" where nothing is known."""
        since = self._clock() - self._started
        return self._title and f"{self._title}{self._count} ({since:.0f} s)"

    def tick(self) -> None:
        """Says where the work is, if nothing was said for long."""
        with self._lock:
            if self._clock() - self._last >= EVERY and (place := self.place):
                self.say(place)


class Bar:
    """A bar below the lines."""

    def __init__(self, progress) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=None, count="")

    def say(self, line: str) -> None:
        self._progress.console.print(line, markup=False, highlight=False)

    def at(self, place: str, done: int = 0, total: int | None = None) -> None:
        count = "" if total is None else f"{done}/{total}"
        self._progress.update(
            self._task, completed=done, total=total, description=place, count=count
        )


@contextmanager
def _ticking(lines: Lines) -> Iterator[None]:
    ended = threading.Event()

    def tick() -> None:
        while not ended.wait(EVERY / 10):
            try:
                lines.tick()
            except (OSError, ValueError):  # nobody listens any more
                return

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
