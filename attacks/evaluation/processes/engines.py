"""Where the processes of one evaluation run: on this machine, or on a Ray cluster."""

import os
import signal
import threading
import traceback
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import Any, Protocol, cast

import torch
from threadpoolctl import threadpool_limits

from anonymize.data.dataset import Dataset
from anonymize.errors import UsageError
from anonymize.ray_cluster import NoClusterError, connected
from anonymize.training.compute import Compute
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.processes.session import Session
from attacks.evaluation.processes.tasks import Task
from attacks.evaluation.processes.work import Ended, Silent, Work

GRACE_SECONDS = 10.0  # for a process to end
AGAIN = 2  # times that Ray tries a task whose machine was lost
LOST = (
    "its process ended ({how}), as with signal 9 or OutOfMemoryError where memory ends; take fewer "
    "--workers then. What is finished is kept, and the same command goes on"
)


@dataclass(frozen=True)
class Outcome:
    """What became of a task: its pieces of work, what was said, and a method that comes next; or,
    in words, what it was refused for or how its process was lost, and where the program failed."""

    pieces: tuple[Ended, ...] = ()
    said: tuple[str, ...] = ()
    control: Entrant | None = None
    refused: str = ""
    crashed: str = ""


class Engine(Protocol):
    """Carries out tasks. ``places``: how many at once."""

    places: int

    def start(self, place: int, task: Task) -> None:
        """Begins a task at a free place."""

    def ended(self) -> tuple[int, Outcome]:
        """Waits for the next task that ends; its place, and what became of it."""

    def close(self) -> None:
        """Ends every process at once, whatever it does."""


@dataclass(frozen=True)
class Setup:
    """What a process needs to begin.

    Attributes:
        threads: that it computes with; None: as torch likes.
        here: the working folder.
        key: of the evaluation, for processes that outlast it.
    """

    plan: Plan
    out: Path
    device: str
    threads: int | None
    here: Path = field(default_factory=Path.cwd)
    key: str = field(default_factory=lambda: uuid.uuid4().hex)

    @contextmanager
    def limited(self) -> Iterator[None]:
        """The threads of networks and of linear algebra; their number decides on last bits."""
        if self.threads is None:
            yield
            return
        before = torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            with threadpool_limits(self.threads):
                yield
        finally:
            torch.set_num_threads(before)


class _Listed(Work):
    """Pieces of work that are listed, and shown elsewhere."""

    def __init__(self) -> None:
        super().__init__([], display=Silent())
        self.pieces, self.said = list[Ended](), list[str]()

    def say(self, line: str) -> None:
        self.said.append(line)

    def ended(self, piece: Ended, running: Any = ()) -> None:
        self.pieces.append(piece)


class _Worker:
    """One process's share of an evaluation."""

    def __init__(self, setup: Setup) -> None:
        os.chdir(setup.here)
        options, self._work = setup.plan.options, _Listed()
        compute = Compute.of(options, setup.device)
        given = setup.plan, setup.out, Dataset.open(options.data), compute, self._work
        self._session = Session(*given, shared=True)

    def do(self, task: Task) -> Outcome:
        self._work.pieces, self._work.said = [], []
        try:
            control = self._session.do(task)
        except UsageError as error:
            return Outcome(refused=str(error))
        except Exception:
            return Outcome(crashed=traceback.format_exc())
        return Outcome(tuple(self._work.pieces), tuple(self._work.said), control)


class Local:
    """Processes on this machine, which end with this one."""

    def __init__(self, setup: Setup, devices: list[str]) -> None:
        self.places = len(devices)
        context = get_context("spawn")
        self._lines, self._processes, self._busy = [], [], set[int]()
        for device in devices:
            own, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, replace(setup, device=device)))
            process.start()
            theirs.close()
            self._lines.append(own)
            self._processes.append(process)

    def start(self, place: int, task: Task) -> None:
        self._busy.add(place)
        with suppress(OSError):  # it was killed while it was idle; `ended` finds that
            self._lines[place].send(task)

    def ended(self) -> tuple[int, Outcome]:
        ready = connection.wait([self._lines[place] for place in self._busy])
        place = next(place for place in self._busy if self._lines[place] in ready)
        self._busy.remove(place)
        try:
            return place, cast("Outcome", self._lines[place].recv())
        except (EOFError, OSError):
            self._processes[place].join(GRACE_SECONDS)  # it hung up, and may live on
            self._processes[place].kill()
            self._processes[place].join(GRACE_SECONDS)
            code = self._processes[place].exitcode
            how = f"signal {-code}" if code and code < 0 else f"exit status {code}"
            return place, Outcome(refused=LOST.format(how=how))

    def close(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:  # in an uninterruptible read: not waited for
            process.join(GRACE_SECONDS)


def devices(device: torch.device, workers: int) -> list[str]:
    """Of each process: all GPUs in turn where none of them is named."""
    if device.type != "cuda" or device.index is not None:
        return [str(device)] * workers
    return [f"cuda:{n % torch.cuda.device_count()}" for n in range(workers)]


def _serve(line: connection.Connection, setup: Setup) -> None:
    """The life of a process of :class:`Local`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that asked
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with setup.limited(), suppress(EOFError):
        worker = _Worker(setup)
        while True:
            line.send(worker.do(line.recv()))


def _end_with_parent() -> None:
    """A process whose parent was killed must not write where another one may work next."""
    parent = parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


class OnRay:
    """A Ray cluster whose machines see the same files at the same paths.

    Args:
        address: of the cluster; None: one on this machine, which ends with this process.
        workers: tasks at once; None: as many as the cluster has room for.

    Raises:
        UsageError: Ray is not installed, or no cluster is there.
    """

    def __init__(self, setup: Setup, address: str | None, workers: int | None) -> None:
        gpus, threads = int(setup.device.startswith("cuda")), setup.threads or 1
        self._cluster = ExitStack()
        cpus = None if workers is None else workers * threads
        try:
            ray = self._cluster.enter_context(connected(address, cpus))
        except NoClusterError:
            raise UsageError(
                "--engine ray cannot start a cluster on this machine; free memory, give --address, "
                "or leave it out"
            ) from None
        self._ray, room = ray, ray.cluster_resources()
        fits = int(room.get("GPU", 0)) if gpus else int(room.get("CPU", 1) // threads)
        self.places = max(1, workers or fits)
        self._setup = ray.put(replace(setup, device="cuda" if gpus else setup.device))
        remote = ray.remote(num_cpus=threads, num_gpus=gpus, max_retries=AGAIN)
        self._task, self._running = remote(_at_ray), dict[Any, int]()

    def start(self, place: int, task: Task) -> None:
        self._running[self._task.remote(self._setup, task)] = place

    def ended(self) -> tuple[int, Outcome]:
        (reference,), _ = self._ray.wait(list(self._running), num_returns=1)
        place = self._running.pop(reference)
        try:
            return place, self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return place, Outcome(refused=LOST.format(how=type(error).__name__))

    def close(self) -> None:
        self._cluster.close()


_workers: dict[str, _Worker] = {}  # of this process: one, of the evaluation it works at


def _at_ray(setup: Setup, task: Task) -> Outcome:
    with setup.limited():
        if setup.key not in _workers:
            _workers.clear()
            _workers[setup.key] = _Worker(setup)
        return _workers[setup.key].do(task)
