"""Hostile inputs of a release, each held or not.

A case is made by code and run in a folder of its own; modules named ``*_cases.py`` beside this
one list theirs as ``CASES``. The fast ones are tests (test_corpus.py); all run by
python tests/benchmarks/reliability_hostile.py.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

from release_specimens import InProcess, Wave, fill, quarantine, tree

from anonymize.errors import UsageError
from anonymize.release import pipeline, verify
from anonymize.release.labels.options import LabelOptions
from anonymize.release.options import ReleaseOptions
from anonymize.release.workers import worker_pool


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


def each(
    group: str, leak: Callable, values: dict[str, Any], name: str, /, *, every: int = 1, **same: Any
) -> list[Case]:
    """A case for each of ``values``, {what it is: value}, which ``leak`` gets as ``name``; the
    first of ``every`` so many is fast."""
    return [
        Case(group, what, partial(leak, **{name: value}, **same), fast=number % every == 0)
        for number, (what, value) in enumerate(values.items())
    ]


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

    @property
    def sound(self) -> bool:
        """Whether it passes its own verify."""
        with without_processes():
            return verify.verify(self.out).sound

    def holds(self, marker: bytes) -> str | None:
        """Where a marker is in the outputs, their names among them; None where it is nowhere."""
        for name, data in self.files.items():
            if marker in data or marker in os.fsencode(name):
                return f"{marker!r} in {name}"
        return None


def without_processes():
    """Within it, workers are this process."""
    return mock.patch.object(worker_pool, "WorkerPool", InProcess)


def apply(folder: Path, files: dict[str, bytes], model=None, **options) -> Outcome:
    """Releases files given by content from FOLDER/in to FOLDER/out."""
    source, out, private = folder / "in", folder / "out", folder / "out-private"
    source.mkdir()
    fill(source, files)
    with without_processes():
        pipeline.apply(source, out, model or Wave(), ReleaseOptions(**options))
    return Outcome(out, private, tree(out), quarantine(private))


def labelled(
    folder: Path, files, labels, *, model, given=("labels",), columns=(), names="keep", **options
):
    """The Outcome of a release with labels given by content; None where the call was refused in
    the tool's own words."""
    fill(folder, {f"{given[0].partition('/')[0]}/{name}": data for name, data in labels.items()})
    try:
        wanted = LabelOptions(tuple(folder / path for path in given), columns)
        return apply(folder, files, model, names=names, labels=wanted, **options)
    except UsageError:
        return None


def cases() -> list[Case]:
    """All cases of the corpus."""
    modules = sorted(path.stem for path in Path(__file__).parent.glob("*_cases.py"))
    return [case for module in modules for case in import_module(module).CASES]
