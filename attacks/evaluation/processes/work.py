"""The pieces of work of an evaluation: which are done, and when the others will be.

The forecast comes from the pieces that were finished: those of one kind take about equally long,
and a kind that was not measured yet as long as the others for its epochs. The durations are kept in
a file, so that an evaluation that was stopped knows them.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Protocol

from anonymize import display, whole_file

MINUTE = 60.0


@dataclass(frozen=True)
class State:
    """Where an evaluation is.

    Attributes:
        done, total: pieces of work.
        title: what is being worked on, or was last.
        result: what came out of it; "" while it runs.
        left: seconds until the end, as far as they can be foreseen; None: not at all yet.
        guessed: some of the work is of a kind that was not measured yet.
    """

    done: int
    total: int
    title: str
    result: str = ""
    left: float | None = None
    guessed: bool = False

    def after(self, seconds: float) -> State:
        """The same so much later; how much is left is not known where more was expected to be done
        by then."""
        if self.left is None or self.done == self.total:
            return self
        left = self.left - seconds
        return replace(self, left=left if left > 0 else None)

    @property
    def forecast(self) -> str:
        """ "about 34 min left"."""
        if self.done == self.total:
            return "done"
        if self.left is None:
            return "time left not known yet"
        return f"{'roughly' if self.guessed else 'about'} {in_words(self.left)} left"


class Display(display.Display, Protocol):
    """Shows what an evaluation does."""

    def show(self, state: State) -> None:
        """A piece of work started, went on or ended."""


class Silent(display.Silent):
    """Shows nothing."""

    def show(self, state: State) -> None:
        pass


@dataclass(frozen=True)
class Ended:
    """A piece of work that is done. ``seconds``: that it took; None where it was begun, or done, by
    an earlier process."""

    kind: str
    title: str
    result: str
    seconds: float | None


class Work:
    """Counts the pieces of work.

    Args:
        kinds: of every piece, in order: a name, and how many epochs it has at most.
        durations: file of the seconds that finished pieces took, by kind; None: there is none.
        clock: seconds that pass.
    """

    def __init__(
        self,
        kinds: Iterable[tuple[str, int]],
        *,
        durations: Path | None = None,
        display: Display,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        kinds = list(kinds)
        self._epochs = dict(kinds)
        self._left = Counter(kind for kind, _ in kinds)
        self._total = self._left.total()
        self._file, self.clock = durations, clock
        self._display = display
        self._seconds: dict[str, list[float]] = {}
        self._earlier: dict[str, list[float]] = {}  # perhaps with other options: any newer one wins
        self.workers = 1
        if durations is not None and durations.is_file():
            self._earlier = json.loads(durations.read_text(encoding="utf-8"))

    def more(self, kind: str, epochs: int, count: int) -> None:
        """Pieces that show only when a method is there."""
        self._epochs.setdefault(kind, epochs)
        self._left[kind] += count
        self._total += count

    def less(self, kinds: Iterable[tuple[str, int]], title: str) -> None:
        """Pieces of a control that stands there already, of another generator."""
        for kind, epochs in kinds:
            self.more(kind, epochs, -1)
        self._show(title, "another generator's control, too", ())

    @property
    def left(self) -> float | None:
        """Seconds that the pieces left will take, as far as that can be foreseen; None: not yet."""
        return self._forecast()[0]

    def say(self, line: str) -> None:
        """Shows a line of text."""
        self._display.say(line)

    def at(self, place: str, done: int = 0, total: int | None = None) -> None:
        """Nothing: where the work is, its pieces say."""

    @contextmanager
    def piece(
        self, kind: str, title: str, *, epochs: int = 0, resumed: bool = False
    ) -> Iterator[Piece]:
        """One piece of work; the forecast learns from its duration, unless it is resumed.

        Args:
            epochs: at most; 0 where it has none.
            resumed: an earlier process started it, or finished it.
        """
        piece = Piece(self, kind, title, epochs, resumed)
        self.show(piece)
        yield piece
        self.ended(Ended(kind, title, piece.result or "done", None if resumed else piece.seconds))

    def begun(self, kinds: Sequence[str], title: str) -> Piece:
        """Pieces of work that another process began, as one."""
        return Piece(self, kinds[0] if kinds else "", title, 0, resumed=False)

    def ended(self, piece: Ended, running: Sequence[Piece] = ()) -> None:
        """A piece of work ended, here or in another process, while others are ``running``."""
        self._left[piece.kind] -= 1
        if piece.seconds is not None:
            self.took(piece.kind, piece.seconds)
        self._show(piece.title, piece.result, running)

    def took(self, kind: str, seconds: float) -> None:
        """Work of a kind took so long, a piece or not."""
        self._seconds.setdefault(kind, []).append(seconds)
        self._save()

    def show(self, *running: Piece) -> None:
        """Shows where the work is."""
        self._show("; ".join(piece.title for piece in running), "", running)

    def beside(self, title: str) -> None:
        """Shows work that is no piece, and whose duration is not foreseen."""
        self._show(title, "", ())

    def expected(self, kind: str) -> float:
        """Seconds that a piece of this kind takes, as far as that can be foreseen; 0: not yet."""
        measured = self._measured
        return measured.get(kind) or self._guess(kind, measured) or 0.0

    def _show(self, title: str, result: str, running: Sequence[Piece]) -> None:
        left, unknown = self._forecast(*running)
        done = self._total - self._left.total()
        self._display.show(State(done, self._total, title, result, left, unknown))

    @property
    def _measured(self) -> dict[str, float]:
        return {k: mean(found) for k, found in {**self._earlier, **self._seconds}.items()}

    def _forecast(self, *running: Piece) -> tuple[float | None, bool]:
        """Seconds left, None if unknown; and whether they are of a kind that nobody measured."""
        measured = self._measured
        for piece in running:
            if piece.pace is not None:
                measured.setdefault(piece.kind, piece.pace)
        pending = {kind: count for kind, count in self._left.items() if count}
        expected = {}
        for kind in pending:
            seconds = measured.get(kind, self._guess(kind, measured))
            if seconds is None:
                return None, True
            expected[kind] = seconds
        left = sum((expected[kind] * count for kind, count in pending.items()), 0.0)
        for piece in running:
            known = expected.get(piece.kind, 0.0)
            if piece.kind in expected and piece.kind not in measured and piece.seconds > known:
                return None, True  # the guess was wrong
            left -= min(piece.seconds, known)
        left /= self.workers
        return left, not pending.keys() <= measured.keys()

    def _guess(self, kind: str, measured: dict[str, float]) -> float | None:
        """Seconds of a kind from those of the others: alike for an epoch, or without epochs."""
        epochs = self._epochs.get(kind, 0)
        known = {k: self._epochs[k] for k in measured if k in self._epochs}
        alike = [measured[k] / (n or 1) for k, n in known.items() if bool(n) == bool(epochs)]
        return mean(alike) * (epochs or 1) if alike else None

    def _save(self) -> None:
        if self._file is None:
            return
        seconds = {**self._earlier, **self._seconds}
        whole_file.write(self._file, json.dumps(seconds, indent=1) + "\n")


class Piece:
    """A piece of work that is being done."""

    def __init__(self, work: Work, kind: str, name: str, epochs: int, resumed: bool) -> None:
        self._work, self.kind, self.name, self._epochs = work, kind, name, epochs
        self._started, self._before, self._done = work.clock(), 0 if not resumed else None, 0
        self.result = ""

    @property
    def title(self) -> str:
        """What it is, and which epoch is finished."""
        return f"{self.name}, epoch {self._done}/{self._epochs}" if self._done else self.name

    @property
    def seconds(self) -> float:
        """Since it began, or went on."""
        return self._work.clock() - self._started

    @property
    def pace(self) -> float | None:
        """Seconds that all epochs take at the pace of those that were finished here."""
        own = self._done - (self._before or 0)
        return self.seconds / own * self._epochs if own and self._epochs else None

    def epoch(self, done: int) -> None:
        """So many epochs are finished. The first report of a resumed piece is where it stopped."""
        if self._before is None:
            self._before, self._started = done, self._work.clock()
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
