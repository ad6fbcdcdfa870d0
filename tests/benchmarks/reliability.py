"""What the reliability scripts share: where results go, timed workers, the tests' specimens."""

import json
import os
import platform
import sys
import time
from collections import defaultdict
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[1] / "release"))

import memory
from origin import origin

from anonymize.release.workers import worker_pool

PACKAGES = ("anonymize-cxr", "pillow", "imagecodecs", "tifffile", "pydicom", "numpy")


class Stopwatch:
    """Seconds of every call to a worker, by the function's name: computing, and by the clock."""

    def __init__(self) -> None:
        self.computing: dict[str, list[float]] = defaultdict(list)
        self.lasting: dict[str, list[float]] = defaultdict(list)

    def forget(self, name: str) -> None:
        """Leaves the calls of one function out."""
        self.computing.pop(name, None)
        self.lasting.pop(name, None)

    @property
    def longest(self) -> dict[str, float]:
        """Most computing of a call of each function."""
        return {name: round(max(found), 3) for name, found in sorted(self.computing.items())}

    def over(self, limit: float) -> int:
        """Number of calls that computed longer than ``limit``."""
        return sum(s > limit for found in self.computing.values() for s in found)


def cpu_seconds(pid: int) -> float | None:
    """What a process has computed; None where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak() -> int:
    """Most memory of this process in bytes; asked of a worker."""
    return memory.peak() << 10


class MeasuredPool(worker_pool.WorkerPool):
    """A pool whose workers say, before they end, how much memory they had at most."""

    peak: ClassVar[int] = 0

    def close(self) -> None:
        for worker in [] if self._closed.is_set() else list(self._alive):
            if worker.alive and not isinstance(answer := worker.ask(peak, ()), worker_pool.Refused):
                MeasuredPool.peak = max(MeasuredPool.peak, answer[0])
        super().close()


@contextmanager
def timed():
    """A Stopwatch of all that workers do within the block; waiting for a worker is not counted."""
    watch, real = Stopwatch(), worker_pool.LocalWorker.ask

    def ask(self, function, arguments):
        begun, before = time.monotonic(), cpu_seconds(self._process.pid)
        try:
            return real(self, function, arguments)
        finally:
            lasted, after = time.monotonic() - begun, cpu_seconds(self._process.pid)
            watch.lasting[function.__name__].append(lasted)
            spent = lasted if after is None or before is None else after - before
            watch.computing[function.__name__].append(spent)

    with mock.patch.object(worker_pool.LocalWorker, "ask", ask):
        yield watch


def finish(result: dict, out: str | None) -> None:
    """Prints the result as a table of two columns, and writes it to the file ``out``."""
    script = Path(sys.argv[0]).name
    for key, value in result.items():
        print(f"{key:>28}  {value}")
    if out is not None:
        path = Path(out)
        path.parent.mkdir(parents=True, exist_ok=True)
        about = {
            "command": f"python tests/benchmarks/{script}",
            **origin(),
            "versions": {name: version(name) for name in PACKAGES},
            "python": platform.python_version(),
        }
        path.write_text(json.dumps({**about, **result}, indent=2) + "\n")
