"""The pieces of work of an evaluation: which are done, and when the others will be.

The forecast comes from the pieces that were finished: those of one kind take about equally long.
Their durations are kept in a file, so that an evaluation that was stopped knows them.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Protocol

from anonymize import whole_file

MINUTE = 60.0


@dataclass(frozen=True)
class State:
    """Where an evaluation is.

    Attributes:
        done, total: pieces of work.
        title: what is being worked on, or was last.
        result: what came out of it; "" while it runs.
        left: seconds until the end, as far as they can be foreseen; None: not at all yet.
        at_least: some of the work is of a kind that nobody has measured yet.
    """

    done: int
    total: int
    title: str
    result: str = ""
    left: float | None = None
    at_least: bool = False

    @property
    def forecast(self) -> str:
        """ "about 34 min left"."""
        if self.done == self.total:
            return "done"
        if self.left is None:
            return "time left not known yet"
        return f"{'at least' if self.at_least else 'about'} {in_words(self.left)} left"


class Display(Protocol):
    """Shows what an evaluation does."""

    def prepare(self, done: int, total: int) -> None:
        """So many images of all were read."""

    def show(self, state: State) -> None:
        """A piece of work began, went on or ended."""

    def say(self, line: str) -> None:
        """A line of text."""


class Silent:
    """Shows nothing."""

    def prepare(self, done: int, total: int) -> None:
        pass

    def show(self, state: State) -> None:
        pass

    def say(self, line: str) -> None:
        pass


class Work:
    """Counts the pieces of work.

    Args:
        kinds: of every piece, in order.
        durations: file of the seconds that finished pieces took, by kind; None: none is kept.
        display: shows every change.
        clock: seconds that pass.
    """

    def __init__(
        self,
        kinds: Iterable[str],
        *,
        durations: Path | None = None,
        display: Display,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._left = Counter(kinds)
        self._total = self._left.total()
        self._file, self._clock = durations, clock
        self._display = display
        self._seconds: dict[str, list[float]] = {}
        if durations is not None and durations.is_file():
            self._seconds = json.loads(durations.read_text(encoding="utf-8"))

    def say(self, line: str) -> None:
        """Shows a line of text."""
        self._display.say(line)

    @contextmanager
    def piece(
        self, kind: str, title: str, *, epochs: int = 0, begun: bool = False
    ) -> Iterator[Piece]:
        """One piece of work; the forecast learns from its duration, unless it was begun before.

        Args:
            epochs: at most; 0 where it has none.
            begun: an earlier process began it, or finished it.
        """
        piece = Piece(self, kind, title, epochs, begun)
        self.show(piece)
        yield piece
        self._left[kind] -= 1
        if not begun:
            self._seconds.setdefault(kind, []).append(piece.seconds)
            self._save()
        self.show(piece, ended=True)

    def now(self) -> float:
        """Seconds on the clock."""
        return self._clock()

    def show(self, piece: Piece, *, ended: bool = False) -> None:
        """Shows where the work is."""
        left, unknown = self._forecast(None if ended else piece)
        done = self._total - self._left.total()
        title, result = piece.title, ""
        if ended:
            title, result = piece.name, piece.result or "done"
        self._display.show(State(done, self._total, title, result, left, unknown))

    def _forecast(self, running: Piece | None) -> tuple[float | None, bool]:
        """Seconds left, and whether there is work of which nobody knows how long it takes."""
        expected = {kind: mean(found) for kind, found in self._seconds.items()}
        if running is not None and running.pace is not None:
            expected.setdefault(running.kind, running.pace)
        pending = {kind: count for kind, count in self._left.items() if count}
        known = {kind: expected[kind] * pending[kind] for kind in pending if kind in expected}
        if running is not None and running.kind in known:
            known[running.kind] -= min(running.seconds, expected[running.kind])
        return sum(known.values()) if known or not pending else None, len(known) < len(pending)

    def _save(self) -> None:
        if self._file is None:
            return
        whole_file.write(self._file, json.dumps(self._seconds, indent=1) + "\n")


class Piece:
    """A piece of work that is being done.

    Attributes:
        kind, name: what it is.
        result: what came out of it, in words.
    """

    def __init__(self, work: Work, kind: str, name: str, epochs: int, begun: bool) -> None:
        self._work, self.kind, self.name, self._epochs = work, kind, name, epochs
        self._started, self._before, self._done = work.now(), 0 if not begun else None, 0
        self.result = ""

    @property
    def title(self) -> str:
        """What it is, and which epoch is finished."""
        return f"{self.name}, epoch {self._done}/{self._epochs}" if self._done else self.name

    @property
    def seconds(self) -> float:
        """Since it began, or went on."""
        return self._work.now() - self._started

    @property
    def pace(self) -> float | None:
        """Seconds that all epochs take at the pace of those that were finished here."""
        own = self._done - (self._before or 0)
        return self.seconds / own * self._epochs if own and self._epochs else None

    def epoch(self, done: int) -> None:
        """So many epochs are finished. Of a piece begun before, the first report is where it was
        stopped."""
        if self._before is None:
            self._before, self._started = done, self._work.now()
        self._done = done
        self._work.show(self)


def in_words(seconds: float) -> str:
    """ "40 s", "34 min", "3 h 10 min", "2 days 4 h"."""
    minutes = round(seconds / MINUTE)
    if minutes < 2:
        return f"{max(round(seconds), 1)} s"
    if minutes < 120:
        return f"{minutes} min"
    hours = round(minutes / 60)
    if hours < 48:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{hours // 24} days {hours % 24} h"
