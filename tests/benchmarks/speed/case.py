"""A piece of work that is timed: ours, and the plain way where the protocol describes one."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from tests.benchmarks.memory import largest

Work = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """What is timed.

    Attributes:
        name: in words.
        unit: what is counted.
        amount: how many of it a call does, ×1.
        ours: prepares a call that does so many times ``amount``.
        plain: the same for a plain way to do it, where there is one: float32, contiguous, the
            whole batch at once, one process.
        grows: is timed at ×1, ×4 and ×16, too.
        pairs: each of them meets each.
        memory: is measured; not that of a program of its own, which the bench's would hide.
    """

    name: str
    unit: str
    amount: int
    ours: Callable[[int], Work]
    plain: Callable[[int], Work] | None = None
    grows: bool = False
    pairs: bool = False
    memory: bool = True


def seconds(work: Work) -> float:
    """That a call takes, by the clock."""
    start = time.perf_counter()
    work()
    if torch.cuda.is_initialized():  # what a GPU was given is not done yet
        torch.cuda.synchronize()
    return time.perf_counter() - start


def alternating(case: Case, rounds: int) -> dict:
    """Medians of ``rounds`` calls of each side, one after the other in this process after one that
    warms up, and the median of the rounds' ratios."""
    sides = [case.ours(1), *([case.plain(1)] if case.plain else [])]
    for work in sides:
        work()
    taken = [[seconds(work) for work in sides] for _ in range(rounds)]
    ours, *plain = (statistics.median(side) for side in zip(*taken, strict=True))
    found = {"name": case.name, "unit": case.unit, "amount": case.amount}
    found |= {"rounds": rounds, "seconds": ours}
    if plain:
        ratio = statistics.median(there / here for here, there in taken)
        found |= {"plain_seconds": plain[0], "ratio": ratio}
    return found


def peak(case: Case, plain: bool) -> float:
    """MiB that this process, which has done nothing else, and those below it take at most for a
    call (:func:`memory.largest`)."""
    return largest((case.plain if plain and case.plain else case.ours)(1))


def growth(case: Case, times: int) -> dict:
    """Seconds and peak memory (MiB, as :func:`peak`) of one call so many times as large."""
    work, taken = case.ours(times), []
    most = largest(lambda: taken.append(seconds(work)))
    return {"times": times, "seconds": taken[0], "mebibytes": most}
