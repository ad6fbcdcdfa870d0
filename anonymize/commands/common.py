"""What several commands share: devices, progress."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from anonymize.errors import UsageError

LINE_SECONDS = 10.0  # after which a redirected log hears that the work goes on


class FiniteRange(click.FloatRange):
    """A number between two bounds; click lets NaN, which is in no range, through."""

    def convert(self, value, param, ctx):
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self.min:g}<=x<={self.max:g}.", param, ctx)
        return number


def device_option(command):
    """``--device auto|cpu|cuda|…``."""
    return click.option(
        "--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1, mps."
    )(command)


def find_device(name: str):
    """The torch device of a name; "auto" is CUDA, then Apple's MPS, then the CPU.

    Raises:
        UsageError: no such device on this machine.
    """
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):
        raise UsageError(f"--device {name!r} is not available here; try --device auto") from None
    return device


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """``report(done, total)``: a bar on a terminal, lines elsewhere; all of it on stderr."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(title, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    lines = _Lines(title)
    try:
        yield lines.report
    finally:
        lines.end()


class _Lines:
    """A line each tenth, and every ``LINE_SECONDS`` where nothing else was said."""

    def __init__(self, title: str) -> None:
        self._title, self._tenth, self._done = title, -1, ""
        self._begun = self._said = time.monotonic()
        self._lock, self._ended = threading.Lock(), threading.Event()
        threading.Thread(target=self._tick, daemon=True).start()

    def report(self, done: int, total: int) -> None:
        tenth = 10 * done // max(total, 1)
        with self._lock:
            self._done = f"{done} of {total}"
            if tenth > self._tenth:
                self._tenth = tenth
                self._say(self._done)

    def end(self) -> None:
        self._ended.set()

    def _say(self, words: str) -> None:
        self._said = time.monotonic()
        click.echo(f"{self._title}: {words}", err=True)

    def _tick(self) -> None:
        while not self._ended.wait(max(self._said + LINE_SECONDS - time.monotonic(), 0.01)):
            with self._lock:
                quiet = time.monotonic() - self._said
                if quiet >= LINE_SECONDS and not self._ended.is_set():
                    seconds = time.monotonic() - self._begun
                    self._say(f"{self._done or 'preparing'} ({seconds:.0f} s)")
