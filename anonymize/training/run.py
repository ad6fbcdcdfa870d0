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

import torch

from anonymize.data.dataset import Dataset
from anonymize.data.table import Table
from anonymize.errors import UsageError, make_folder
from anonymize.options import (
    TrainOptions,
    write_options,
)
from anonymize.runs import METRICS, OPTIONS, SUMMARY
from anonymize.training.compute import Compute, launched
from anonymize.training.parts import check_labels, load_classifier, load_verifier
from anonymize.training.recorder import Recorder
from anonymize.training.steps import Steps


def train(
    options: TrainOptions,
    run: Path,
    *,
    device: torch.device,
    classifier: Path | None = None,
    verifier: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
    progress: Callable[[int, int], None] | None = None,
    compute: Compute | None = None,
    test: bool = True,
) -> dict[str, Any]:
    """Trains an anonymizer in the folder ``run``, or continues there, and returns its summary.

    Args:
        classifier, verifier: model files to use instead of training one.
        compute: the processes that train; None: as this one was launched.
        test: measures the model at the end; without, the summary is empty and the run is left
            without one, so that the same call with ``test`` completes it.

    Raises:
        UsageError: the folder holds something else, or a run with other options.
    """
    compute = compute or launched(
        device, precision=options.precision, accumulation=options.accumulation
    )
    finished = run / SUMMARY
    if compute.agreed(finished.is_file()):
        return json.loads(finished.read_text(encoding="utf-8"))
    foreign = run.is_dir() and any(run.iterdir()) and not (run / OPTIONS).is_file()
    if compute.agreed(foreign):
        raise UsageError(f"{run} is not empty and no run; choose another --out")
    for given, load in ((classifier, load_classifier), (verifier, load_verifier)):
        if given is not None:
            load(given)
    if options.threads:
        torch.set_num_threads(options.threads)
    data = Dataset.open(options.data, progress)
    if classifier is not None:
        check_labels(classifier, data.table)
    if not compute.main:
        say = _nothing
    with _claimed(run, options) if compute.main else nullcontext():
        say(_describe(data.table))
        recorder = Recorder(run / METRICS, say, writes=compute.main)
        steps = Steps(options, run, data, device, recorder, compute)
        auxiliary = steps.classifier(classifier)
        opponent = steps.verifier(verifier)
        generator = steps.pretrained_generator()
        model = steps.game(generator, opponent, auxiliary)
        if not test:
            return {}
        summary = steps.test(model, verifier=steps.verifier(verifier), classifier=auxiliary)
        if compute.main:
            _write_json(summary, finished)
        return summary


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


def _write_json(value: dict[str, Any], path: Path) -> None:
    temporary = path.with_name(f".{path.name}.partial")
    temporary.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)
