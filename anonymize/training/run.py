"""A run: data, classifier, verifier, generator, game, test. Reads top to bottom.

Every step leaves its result in the run's folder before the next one starts; a run that was
stopped continues at the epoch where it was.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from anonymize import whole_file
from anonymize.configuration import write_options
from anonymize.data.dataset import Dataset
from anonymize.data.table import Table
from anonymize.errors import UsageError, make_folder
from anonymize.options import TrainOptions
from anonymize.runs import METRICS, OPTIONS, SUMMARY
from anonymize.training.compute import Compute
from anonymize.training.parts import Given, find_part
from anonymize.training.recorder import Recorder
from anonymize.training.steps import Steps


def train(
    options: TrainOptions,
    run: Path,
    *,
    compute: Compute | None = None,
    classifier: str | Path | None = None,
    verifier: str | Path | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: Callable[[int, int], None] | None = None,
    test: bool = True,
) -> dict[str, Any]:
    """Trains an anonymizer in the folder ``run``, or continues there, and returns its summary.

    Args:
        compute: what trains it, as the options say; None: they, on the CPU.
        classifier, verifier: used instead of training one; a model file, a run, or for a
            classifier "xrv:NAME" of torchxrayvision.
        test: measures the model at the end; without, the summary is empty and the run is left
            without one, so that the same call with ``test`` completes it.

    Raises:
        UsageError: the folder holds something else, or a run with other options.
    """
    compute = compute or Compute.of(options)
    finished = run / SUMMARY
    if compute.agreed(finished.is_file()):
        return json.loads(finished.read_text(encoding="utf-8"))
    given = {
        kind: None if spec is None else find_part(spec, kind)
        for kind, spec in (("classifier", classifier), ("verifier", verifier))
    }
    for part in filter(None, given.values()):
        _check(part, compute)
    data = open_data(options, run, compute=compute, progress=progress)
    for part in filter(None, given.values()):
        part.check_labels(data.table)
    with working(options, run, data, compute=compute, say=say) as steps:
        auxiliary = steps.classifier(given["classifier"])
        opponent = steps.verifier(given["verifier"])
        generator = steps.pretrained_generator()
        model = steps.game(generator, opponent, auxiliary)
        if not test:
            return {}
        summary = steps.test(model, verifier=steps.verifier(None), classifier=auxiliary)
        if compute.main:
            write_json(summary, finished)
        return summary


def _check(part: Given, compute: Compute) -> None:
    """The first process fetches what the others then find."""
    if compute.main:
        part.check()
    compute.agreed(None)
    if not compute.main:
        part.check()


def open_data(
    options: TrainOptions,
    run: Path,
    *,
    compute: Compute,
    progress: Callable[[int, int], None] | None = None,
) -> Dataset:
    """The data set of a run whose folder is free or its own.

    Raises:
        UsageError: the folder ``run`` holds something else.
    """
    foreign = run.is_dir() and any(run.iterdir()) and not (run / OPTIONS).is_file()
    if compute.agreed(foreign):
        raise UsageError(f"{run} is not empty and no run; choose another --out")
    return Dataset.open(options.data, progress)


@contextmanager
def working(
    options: TrainOptions,
    run: Path,
    data: Dataset,
    *,
    compute: Compute,
    say: Callable[[str], None],
) -> Iterator[Steps]:
    """The steps of a run in its folder, for one command at a time."""
    say = say if compute.main else _nothing
    with _claimed(run, options) if compute.main else nullcontext():
        say(_describe(data.table))
        recorder = Recorder(run / METRICS, say, writes=compute.main)
        yield Steps(options, run, data, compute, recorder)


def _nothing(line: str) -> None:
    """What the processes say that do not write."""


@contextmanager
def _claimed(run: Path, options: TrainOptions) -> Iterator[None]:
    """The run's folder with its options in it, for one process at a time."""
    make_folder(run, "--out")
    with (run / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"another process trains in {run}; choose another --out") from None
        if not (run / OPTIONS).is_file():
            write_options(options, run / OPTIONS)
        yield


def _describe(table: Table) -> str:
    parts = ", ".join(f"{len(table.part(p))} {p}" for p in ("train", "validation", "test"))
    patients = table.frame["patient_id"].nunique()
    skipped = f", {len(table.skipped)} skipped" if table.skipped else ""
    return f"{table.source}: {len(table)} images of {patients} patients ({parts}{skipped})"


def write_json(value: dict[str, Any], path: Path) -> None:
    """A JSON file that appears whole or not at all."""
    whole_file.write(path, json.dumps(value, indent=2) + "\n")
