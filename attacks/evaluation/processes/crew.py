"""An evaluation by several processes.

They carry out its tasks and leave what they find in the notes. The process that asked for it then
walks through the evaluation as if it were alone, and finds everything measured: so the figures are
the same whoever measured them, and what was killed on the way is done again, and nothing else.
"""

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Literal

import torch

from anonymize.errors import DataError
from anonymize.options import TrainOptions
from attacks.evaluation.plan import Plan
from attacks.evaluation.processes.engines import Engine, Local, OnRay, Outcome, Setup, devices
from attacks.evaluation.processes.tasks import Task, tasks_of, tasks_of_one
from attacks.evaluation.processes.work import Piece, Work

FEW = 500  # images: they are measured before another process has begun
MOST = 4  # processes on a CPU, where nobody says how many
MEMORY = 4 << 30  # bytes of the machine for each of them


@dataclass(frozen=True)
class Crew:
    """Who carries out an evaluation.

    Attributes:
        workers: processes; None: as many as are of use.
        engine: "local", or "ray": a cluster that sees the same files at the same paths.
        address: of a Ray cluster that runs; None: one on this machine.
    """

    workers: int | None = 1
    engine: Literal["local", "ray"] = "local"
    address: str | None = None

    def size(self, images: int, device: torch.device) -> int:
        """How many processes share out this many images; 1: this one has them all."""
        if self.workers is not None:
            return self.workers
        if device.type == "cuda":
            return torch.cuda.device_count() if device.index is None else 1
        if device.type != "cpu":
            return 1
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MEMORY
        return 1 if images < FEW else max(1, min(MOST, os.cpu_count() or 1, memory))

    def setup(self, plan: Plan, out: Path, device: torch.device, images: int) -> Setup:
        """Of every process, and of the one that asks."""
        threads = self._threads(plan.options, self.size(images, device))
        return Setup(plan, out.resolve(), str(device), threads)

    def _threads(self, options: TrainOptions, workers: int) -> int | None:
        if options.threads or (workers == 1 and self.engine == "local"):
            return options.threads
        return 1 if self.address else max(1, (os.cpu_count() or 1) // workers)

    def work(self, setup: Setup, images: int, work: Work) -> bool:
        """Does what several processes can do; False where one is enough, and nothing was done.
        Raises UsageError: a task cannot be done, or its process was killed; it is named."""
        device = torch.device(setup.device)
        workers = self.size(images, device)
        if self.engine == "ray":
            engine: Engine = OnRay(setup, self.address, self.workers if self.address else workers)
        elif workers > 1:
            engine = Local(setup, devices(device, workers))
        else:
            return False
        with closing(engine):
            carry_out(setup.plan, engine, work)
        return True


def carry_out(plan: Plan, engine: Engine, work: Work) -> None:
    """All tasks of an evaluation, each as soon as it can begin. Raises UsageError: as
    :meth:`Crew.work`."""
    waiting = {task.name: task for task in tasks_of(plan)}
    numbers, known = count(len(plan.entrants)), {entrant.spec for entrant in plan.entrants}
    done, said = set[str](), set[str]()
    at: dict[int, tuple[Task, Piece]] = {}
    last = dict.fromkeys(range(engine.places), -1)  # method at each place
    work.workers = engine.places
    while waiting or at:
        for place in sorted(last.keys() - at.keys()):
            task = _next(waiting, done, last[place], {task.method for task, _ in at.values()}, work)
            if task is None:
                break
            del waiting[task.name]
            at[place], last[place] = (task, work.begun(task.kinds, task.title)), task.method
            engine.start(place, task)
            work.show(*(piece for _, piece in at.values()))
        place, outcome = engine.ended()
        task, _ = at.pop(place)
        for line in outcome.said:
            if line not in said:
                work.say(line)
        said.update(outcome.said)
        _tell(work, task, outcome, [piece for _, piece in at.values()])
        done.add(task.name)
        if (control := outcome.control) is None:
            continue
        if control.spec in known:  # of another generator, too
            work.less(plan.work_of_one(again=True), control.title)
        else:
            found = tasks_of_one(plan, next(numbers), control)
            waiting |= {task.name: task for task in found}
        known.add(control.spec)


def _next(
    waiting: dict[str, Task], done: set[str], last: int, busy: set[int], work: Work
) -> Task | None:
    """The task that a process takes: of its last method, whose images it has; else of one that
    nobody works at; and what takes long first."""

    def rank(task: Task) -> tuple[bool, bool, bool, float]:
        seconds = sum(map(work.expected, task.kinds))
        return task.method >= 0, task.method != last, task.method in busy, -seconds

    return min((t for t in waiting.values() if done.issuperset(t.after)), key=rank, default=None)


def _tell(work: Work, task: Task, outcome: Outcome, running: Sequence[Piece]) -> None:
    """What came out of a task; an attacker that has nothing to do there has no piece of work."""
    if outcome.refused:
        raise DataError(f"{task.title}: {outcome.refused}")
    if outcome.crashed:
        raise RuntimeError(f"{task.title} failed in its process:\n{outcome.crashed}")
    found, foreseen = Counter(piece.kind for piece in outcome.pieces), Counter(task.kinds)
    for kind in found | foreseen:
        work.more(kind, 0, found[kind] - foreseen[kind])
    for piece in outcome.pieces:
        work.ended(piece, running)
