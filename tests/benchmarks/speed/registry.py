"""Every case by its name, and what a process of its own does with one."""

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "release"))

from tests.benchmarks.speed import attackers, images, networks, releases, starts
from tests.benchmarks.speed.case import alternating, growth, peak

CASES = {
    case.name: case
    for part in (networks, images, attackers, releases, starts)
    for case in part.CASES
}
TIMES = (1, 4, 16)


def measured(name: str, rounds: int, grow: bool) -> dict[str, Any]:
    """Seconds and memory of a case, and its growth where it has one."""
    case = CASES[name]
    found = _apart(alternating, name, rounds)
    sides = (False, True) if case.plain else (False,)
    if case.memory:
        found["mebibytes"] = [_apart(peak, name, plain) for plain in sides]
    if case.grows and grow:
        found["growth"] = [_apart(growth, name, times) for times in TIMES]
    return found


def _apart(work: Callable, name: str, how: int) -> Any:
    """What ``work`` gives of a case in a process that has done nothing else."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_of_case, work, name, how).result()


def _of_case(work: Callable, name: str, how: int) -> Any:
    """By its name: a case itself does not go to another process."""
    return work(CASES[name], how)
