"""One candidate after the other, as long as the time allows.

What is measured, an evaluation keeps: the same search goes on where it was.
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from anonymize.errors import DataError
from attacks.evaluation.processes.work import Display, State, in_words

T = TypeVar("T")
MOMENT = 10.0  # seconds that are waited for rather than giving up what is nearly done


class OutOfTime(Exception):
    """The time is over; what was measured is kept."""


@dataclass(frozen=True)
class Searched(Generic[T]):
    """What a search came to.

    Attributes:
        found: what was measured of the real images and of every candidate that is ``done``; None:
            not even the real images.
        done: candidates, in the order in which they were measured.
        left_out: why others were not, in words.
    """

    found: T | None
    done: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)


class Deadline:
    """When the time is over."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._end = clock, clock() + seconds

    @property
    def left(self) -> float:
        """Seconds; below 0 where it is over."""
        return self._end - self._clock()

    def check(self) -> None:
        """Raises OutOfTime where it is over."""
        if self.left <= 0:
            raise OutOfTime


class Timed:
    """Shows an evaluation's work until the deadline, which ends it between two pieces or epochs
    unless it is done in a moment.

    Args:
        title: pieces of the method of this title are shown, and of no other; "": all.
        said: lines that are not said again; those that are go in.
    """

    def __init__(self, display: Display, deadline: Deadline, title: str, said: set[str]) -> None:
        self._display, self._deadline = display, deadline
        self._title, self._said = title, said

    def at(self, place: str, done: int = 0, total: int | None = None) -> None:
        self._display.at(place, done, total)

    def say(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            self._display.say(line)

    def show(self, state: State) -> None:
        left = None if state.left is None else min(state.left, max(self._deadline.left, 0.0))
        if state.title.startswith(self._title):
            self._display.show(replace(state, left=left))
        if state.left is None or state.left > MOMENT:
            self._deadline.check()


def search(
    candidates: Sequence[str],
    measure: Callable[[Sequence[str]], T],
    *,
    known: Collection[str],
    forecast: Callable[[], float | None],
    deadline: Deadline,
) -> Searched[T]:
    """Measures candidates in their order, those that were measured before first. One that needs
    more than is left is not begun, unless this call has begun none: an earlier one may have
    kept most of it, and called often enough, the search comes to its end.

    Args:
        measure: what is found of the real images and these candidates; of what it measured before
            it only reads. It may raise OutOfTime, or DataError where a candidate has no place in
            these data.
        known: candidates that an earlier search has measured.
        forecast: seconds that one more candidate takes; None: nobody knows.
    """
    done = [spec for spec in candidates if spec in known]
    left_out: dict[str, str] = {}
    tried = False
    waiting = [spec for spec in candidates if spec not in known]
    try:
        found = measure(done)
    except OutOfTime:
        return Searched(None)
    for spec in waiting:
        expected = forecast() or 0.0
        if expected >= deadline.left and (tried or deadline.left <= 0):
            left = in_words(deadline.left) if deadline.left > 0 else "none"
            left_out[spec] = f"not begun: needs {in_words(expected)}, left were {left}"
            continue
        try:
            found = measure([*done, spec])
        except DataError as error:
            left_out[spec] = str(error)
            continue
        except OutOfTime:
            left_out[spec] = "begun, and the time ended"
        else:
            done.append(spec)
        tried = True
    return Searched(found, tuple(done), left_out)
