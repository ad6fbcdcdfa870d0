"""Hostile inputs of a release, each held or not: python tests/release/hostile/corpus.py [OUT]

A case is made by code and run in a folder of its own; modules named ``*_cases.py`` beside this
one list theirs as ``CASES``. The fast ones are tests too (test_corpus.py). The command runs all,
prints a row for each group and names what was not held; its exit status is 1 where any was not.
"""

import sys
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in (HERE, HERE.parent, HERE.parents[1] / "benchmarks"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from release_specimens import InProcess, Wave, fill, quarantine, tree

from anonymize.release import pipeline, worker_pool
from anonymize.release.options import ReleaseOptions


@dataclass(frozen=True)
class Case:
    """One hostile input.

    ``leak`` gets an empty folder, lets the tool work there, and gives what got out in words, or
    None where nothing did. A case without a process, an OCR or a large file is fast.
    """

    group: str
    name: str
    leak: Callable[[Path], str | None]
    fast: bool = True

    @property
    def title(self) -> str:
        return f"{self.group}: {self.name}"


@dataclass(frozen=True)
class Outcome:
    """A release of some files: its folders, outputs {path: bytes} and reasons {input: reason}."""

    out: Path
    private: Path
    files: dict[str, bytes]
    reasons: dict[str, str]

    @property
    def images(self) -> dict[str, bytes]:
        """The outputs but for the manifest."""
        return {name: data for name, data in self.files.items() if name != "manifest.csv"}

    def holds(self, marker: bytes) -> str | None:
        """Where a marker is in the outputs, their names among them; None where it is nowhere."""
        for name, data in self.files.items():
            if marker in data or marker in name.encode():
                return f"{marker!r} in {name}"
        return None


@contextmanager
def without_processes():
    """Workers are this process."""
    real, worker_pool.WorkerPool = worker_pool.WorkerPool, InProcess
    try:
        yield
    finally:
        worker_pool.WorkerPool = real


def apply(folder: Path, files: dict[str, bytes], model=None, **options) -> Outcome:
    """Releases files given by content from FOLDER/in to FOLDER/out."""
    source, out, private = folder / "in", folder / "out", folder / "out-private"
    source.mkdir()
    fill(source, files)
    with without_processes():
        pipeline.apply(source, out, model or Wave(), ReleaseOptions(**options))
    return Outcome(out, private, tree(out), quarantine(private))


def cases() -> list[Case]:
    """All cases of the corpus."""
    modules = sorted(path.stem for path in HERE.glob("*_cases.py"))
    return [case for module in modules for case in import_module(module).CASES]


def main(out: str | None = None) -> int:
    """Runs the whole corpus; the exit status."""
    from reliability import finish

    groups: dict[str, dict[str, int]] = {}
    lost = []
    for case in cases():
        counts = groups.setdefault(case.group, {"cases": 0, "held": 0, "failed": 0})
        with tempfile.TemporaryDirectory() as folder:
            leaked = case.leak(Path(folder))
        counts["cases"] += 1
        counts["held" if leaked is None else "failed"] += 1
        if leaked is not None:
            lost.append(f"{case.title}: {leaked}")
    finish({**groups, "not held": lost}, out)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
