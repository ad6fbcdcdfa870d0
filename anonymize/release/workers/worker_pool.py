"""Processes that open files of strangers: each call has a time limit and a memory limit.

A file can hang, exhaust or crash the worker that opens it, and nothing else: the worker is
replaced, and the file is refused. On Linux it can neither write, nor start anything, nor reach a
network (:mod:`sandbox`); elsewhere this keeps faults in, and an intruder has the user's rights.
What it answers is never run (:mod:`plain`).
"""

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from anonymize.release.reasons import Reason, Refused
from anonymize.release.workers import plain, wire
from anonymize.release.workers.worker import OUT_OF_MEMORY

START_SECONDS = 600.0  # a worker imports for half a second; a busy machine may make it many
START_PAUSES = (1.0, 2.0, 4.0, 8.0)  # before it is tried again: what was missing may be there then
PATIENCE = 5.0  # a call may last so many times longer than it may compute: others compute too
FIRST_WORD = 1024  # bytes of it at most
GRACE_SECONDS = 2.0  # the kernel should have ended a late worker before
WORKER = "anonymize.release.workers.worker"
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

T = TypeVar("T")
Parts = Sequence[bytes | bytearray | memoryview]  # of a message


@dataclass(frozen=True)
class Limits:
    """What one call may take: ``seconds`` of computing, ``memory`` bytes beyond an idle worker's.

    By the clock it may last ``PATIENCE`` times longer, since the machine may have more to do.
    """

    seconds: float = 60.0
    memory: int = 4 << 30

    @property
    def lasting(self) -> float:
        """Seconds by the clock."""
        return PATIENCE * self.seconds


class WorkerPoolError(Exception):
    """No worker could be started, however often it was tried: the machine is exhausted."""

    way_out = "free memory or processes"


class Worker(ABC):
    """One process that answers, and the line to it."""

    @property
    @abstractmethod
    def alive(self) -> bool:
        """False where it cannot be asked any more."""

    @abstractmethod
    def exchange(self, parts: Parts) -> list[bytearray] | Refused:
        """The parts of the answer to those of a question, or why it was lost; it must be ended
        then."""

    @abstractmethod
    def end(self) -> None:
        """Kills the process, whatever it does."""

    def ask(self, function: Callable, arguments: tuple) -> tuple | Refused:
        """The worker's answer, or why it was lost; it must be ended then."""
        answer = self.exchange(wire.question(function, arguments))
        try:
            return answer if isinstance(answer, Refused) else plain.unpacked(answer)
        except plain.PlainError:
            return Refused(Reason.CRASHED, "an answer that is none")


class WorkerPool:
    """At most ``workers`` processes, started when they are needed, and as many threads.

    ``call`` computes in a process, ``in_order`` in the threads, which may ``call``. Whatever they
    do, they end with the ``with`` block. ``here`` is a pool whose processes see this machine's
    files.
    """

    def __init__(self, workers: int, limits: Limits) -> None:
        self.here = self
        self._limits = limits
        self._threads = ThreadPoolExecutor(workers)
        self._places: queue.LifoQueue[Worker | None] = queue.LifoQueue()
        for _ in range(workers):
            self._places.put(None)
        self._alive: set[Worker] = set()
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends every worker at once, whatever it does, and waits for the threads."""
        with self._lock:
            self._closed.set()
            workers = list(self._alive)
        for worker in workers:
            worker.end()
        self._threads.shutdown(cancel_futures=True)

    def in_order(
        self,
        calls: Iterable[Callable[[], T]],
        *,
        window: int,
        weight: Callable[[T], int] = lambda result: 0,
        most: int = 0,
        threads: Executor | None = None,
    ) -> Iterator[T]:
        """Results of ``calls`` in order, while at most ``window`` further ones are under way, by
        default in the threads of the pool.

        As ``weight`` says, those that wait have ``most`` bytes at most; what is still computed
        counts as the heaviest so far.
        """
        pending: deque[Future[T]] = deque()
        heaviest = 0
        for call in calls:
            pending.append((threads or self._threads).submit(call))
            while len(pending) > 1:
                done = [f for f in pending if f.done() and f.exception() is None]
                known = [weight(future.result()) for future in done]
                heaviest = max(heaviest, *known, 0)
                waiting = sum(known) + (len(pending) - len(known)) * heaviest
                if len(pending) <= window and waiting <= most:
                    break
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()

    def call(self, function: Callable, *arguments: Any) -> Any:
        """``function(*arguments)``, computed by a worker; waits for a free one.

        ``function`` must be importable, its arguments fit for pickling, its result a plain value.

        Raises:
            Refused: as the function did; TIMEOUT, MEMORY or CRASHED where the worker was lost;
                FAILED for any other error.
            WorkerPoolError: no worker can be started, or the pool was closed.
        """
        worker = self._places.get()
        try:
            if self._closed.is_set():
                raise WorkerPoolError("closed")
            if worker is not None and not worker.alive:
                self._dismiss(worker)
                worker = None
            if worker is None:
                worker = self._start()
            answer = worker.ask(function, arguments)
            if isinstance(answer, Refused):
                self._dismiss(worker)
                worker = None
                raise answer
        finally:
            self._places.put(worker)
        return unpacked(answer)

    def started(self) -> Worker:
        """A new worker; raises WorkerPoolError where it cannot be started."""
        return LocalWorker(self._limits)

    def _start(self) -> Worker:
        for pause in (*START_PAUSES, None):
            try:
                worker = self.started()
                break
            except WorkerPoolError:
                if pause is None or self._closed.wait(pause):
                    raise
        with self._lock:
            self._alive.add(worker)
            closed = self._closed.is_set()
        if closed:  # in the meantime
            worker.end()
        return worker

    def _dismiss(self, worker: Worker) -> None:
        worker.end()
        with self._lock:
            self._alive.discard(worker)


def unpacked(answer: tuple[Any, tuple[str, str] | None]) -> Any:
    """The result that a worker sent, or its Refused."""
    try:
        result, refusal = answer
        refused = None if refusal is None else Refused(Reason(refusal[0]), str(refusal[1]))
    except (LookupError, TypeError, ValueError):
        raise Refused(Reason.CRASHED, "an answer that is none") from None
    if refused is not None:
        raise refused
    return result


class LocalWorker(Worker):
    """A process on this machine."""

    def __init__(self, limits: Limits) -> None:
        self._lasting, self._most = limits.lasting, limits.memory
        self._busy = threading.Lock()
        self._channel, theirs = socket.socketpair()
        paths = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": paths}
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        arguments = (theirs.fileno(), limits.seconds, limits.lasting, limits.memory)
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", WORKER, *map(str, arguments)],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    # Decoders may quote the files that they complain about.
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=environment,
                )
        except OSError as error:
            self._channel.close()
            raise WorkerPoolError(type(error).__name__) from error
        try:
            began = time.monotonic()
            wire.received(self._channel, began + START_SECONDS, FIRST_WORD)
        except (EOFError, OSError) as error:
            self.end()
            raise WorkerPoolError("a worker did not start") from error

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def exchange(self, parts: Parts) -> list[bytearray] | Refused:
        deadline = time.monotonic() + self._lasting + GRACE_SECONDS
        with self._busy:
            try:
                self._channel.settimeout(self._lasting + GRACE_SECONDS)
                wire.send(self._channel, parts)
                return wire.received(self._channel, deadline, self._most)
            except TimeoutError:
                return Refused(Reason.TIMEOUT)
            except (wire.TooLong, MemoryError):  # the rest of it is not for the next question
                return Refused(Reason.MEMORY)
            except (EOFError, OSError):
                return self._epitaph()

    def _epitaph(self) -> Refused:
        try:
            status = self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:  # it hung up and lives on
            return Refused(Reason.CRASHED)
        if status in (-signal.SIGPROF, -signal.SIGALRM):
            return Refused(Reason.TIMEOUT)
        if status in (OUT_OF_MEMORY, -signal.SIGKILL):  # the kernel kills when memory ends
            return Refused(Reason.MEMORY)
        return Refused(Reason.CRASHED, f"exit status {status}")

    def end(self) -> None:
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):  # in an uninterruptible read: not waited for
            self._process.wait(GRACE_SECONDS)
        with self._busy:  # whoever waits for an answer has heard by now
            self._channel.close()
