"""Workers on the machines of a Ray cluster: ``apply --engine ray``.

Ray only carries: on each node an actor (:mod:`carrier`) starts the worker that a local pool would
start here, and hands locked messages to it and back. This process reads IN, runs the method and is
the only one that writes, so that a release is the same, byte for byte, whatever becomes of nodes.
"""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

from anonymize import ray_cluster
from anonymize.release.reasons import Reason, Refused
from anonymize.release.workers import carrier
from anonymize.release.workers.private_line import LineError, Offer
from anonymize.release.workers.worker_pool import (
    GRACE_SECONDS,
    START_SECONDS,
    Limits,
    Parts,
    Worker,
    WorkerPool,
    WorkerPoolError,
)

NODES = 3  # that may be lost with a file before it is refused
ON_THE_WAY = 60.0  # seconds that messages may take besides


class ClusterError(WorkerPoolError):
    """No node of the cluster can start a worker."""

    way_out = "see that nodes are up, and that each has this very program, in the same versions"


class NodeLostError(Exception):
    """A node, or the way to it, is gone: nothing is known of the file that it had."""


class RemoteWorker(Worker):
    """A worker on a node that Ray chose."""

    def __init__(self, actor: Any, limits: Limits) -> None:
        """Waits until it has started. Raises ClusterError: it did not, or its node has another
        program."""
        self._actor, self._limits, self._lost = actor, limits, False
        offer = Offer()
        try:
            theirs, program = self._answer(actor.begin.remote(offer.public), START_SECONDS)
            self._line = offer.line(theirs, asks=True)
        except (NodeLostError, LineError) as error:
            self.end()
            raise ClusterError("a worker did not start") from error
        if program != carrier.program():
            self.end()
            raise ClusterError("another program")

    @property
    def alive(self) -> bool:
        return not self._lost

    def exchange(self, parts: Parts) -> list[bytearray] | Refused:
        """Raises NodeLostError where nobody answers."""
        asked = self._actor.ask.remote(self._line.locked(parts))
        lasting = self._limits.lasting + GRACE_SECONDS + ON_THE_WAY
        try:
            kind, *answer = self._line.unlocked(self._answer(asked, lasting))
        except LineError as error:
            self._lost = True
            raise NodeLostError from error
        if kind == carrier.ANSWERED:
            return answer
        reason, detail = (part.decode() for part in answer)
        return Refused(Reason(reason), detail)

    def _answer(self, asked: Any, seconds: float) -> Any:
        import ray

        try:
            answer = ray.get(asked, timeout=seconds)
        except ray.exceptions.RayError as error:
            self._lost = True
            raise NodeLostError from error
        if answer is None:
            self._lost = True
            raise NodeLostError
        return answer

    def end(self) -> None:
        """Kills actor and worker, which ends where nobody holds its line."""
        self._lost = True
        _kill(self._actor)


class RayPool(WorkerPool):
    """At most ``workers`` processes on the nodes of a cluster, spread over them.

    A file whose node is lost goes to another one, and is refused when it lost ``NODES`` of them.

    Args:
        address: "auto" or HOST:PORT of a cluster; None starts one on this machine, and ends it.

    Raises:
        UsageError: Ray is not installed, or no cluster answers.
    """

    def __init__(self, workers: int, limits: Limits, address: str | None) -> None:
        super().__init__(workers, limits)
        self._cluster = ExitStack()
        self.here = self._cluster.enter_context(WorkerPool(1, limits))
        try:
            ray = self._cluster.enter_context(ray_cluster.connected(address, workers))
        except ray_cluster.NoClusterError as error:
            raise ClusterError("none was started") from error
        # Without Ray's counting of cores, a worker never waits for those of a node that is lost.
        options = {"scheduling_strategy": "SPREAD", "max_restarts": 0, "max_task_retries": 0}
        self._carrier = ray.remote(**options)(carrier.Carrier)
        self._starting: set[Any] = set()

    def call(self, function: Callable, *arguments: Any) -> Any:
        """As a local pool's; REFUSED as CRASHED where a file lost ``NODES`` nodes."""
        for _ in range(NODES):
            with suppress(NodeLostError):
                return super().call(function, *arguments)
        raise Refused(Reason.CRASHED, f"{NODES} nodes were lost with it")

    def started(self) -> RemoteWorker:
        with self._lock:
            if self._closed.is_set():
                raise ClusterError("closed")
            actor = self._carrier.remote(self._limits.seconds, self._limits.memory)
            self._starting.add(actor)
        try:
            return RemoteWorker(actor, self._limits)
        finally:
            with self._lock:
                self._starting.discard(actor)

    def close(self) -> None:
        with self._lock:
            self._closed.set()
            starting = list(self._starting)
        for actor in starting:
            _kill(actor)
        super().close()
        self._cluster.close()


def _kill(actor: Any) -> None:
    import ray

    if ray.is_initialized():
        with suppress(Exception):  # it is gone already
            ray.kill(actor)
