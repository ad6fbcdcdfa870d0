"""The folder of a run: whose it is, what lies in it, and who works there."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from anonymize import whole_file
from anonymize.configuration import load_options, write_options
from anonymize.data.dataset import Dataset
from anonymize.data.table import Table
from anonymize.display import Display, Silent, counter
from anonymize.errors import UsageError, counted, make_folder
from anonymize.fingerprint import sha256_file
from anonymize.folder_lock import locked
from anonymize.model_card import read_card
from anonymize.options import TrainOptions
from anonymize.runs import METRICS, OPTIONS
from anonymize.section import Product
from anonymize.training.compute import Compute
from anonymize.training.learnt_from import refuse_a_leak
from anonymize.training.parts import FILES, Given, GivenFile
from anonymize.training.recorder import Recorder
from anonymize.training.steps import Steps


def refuse_other_options(run: Path, options: TrainOptions, to: Product | None = None) -> None:
    """Raises UsageError where the folder is a run with other options that matter to a product."""
    own = run / OPTIONS
    if own.is_file() and load_options(own).that_matter(to) != options.that_matter(to):
        raise UsageError(f"{run} is a run with other options; choose another --out")


def refuse_other_parts(run: Path, given: Iterable[Given]) -> None:
    """Raises UsageError where the run has another classifier or verifier than it is given: it
    would go on with its own. One that is not there is not looked at."""
    for part in given:
        kind = part.kind if isinstance(part, GivenFile) else "classifier"
        own = run / FILES[kind]
        if not own.is_file():
            continue
        if not isinstance(part, GivenFile):
            same = (read_card(own).provenance or {}).get("weights") == part.name
        else:
            same = not part.path.is_file() or sha256_file(part.path) == sha256_file(own)
        if not same:
            raise UsageError(
                f"{run} has another {kind} than --{kind} names; leave --{kind} out, or choose "
                "another --out"
            )


@contextmanager
def working(
    options: TrainOptions,
    run: Path,
    given: Iterable[Given] = (),
    *,
    compute: Compute,
    display: Display,
    to: Product | None = None,
) -> Iterator[Steps]:
    """The steps of a run in its folder, for one command at a time; UsageError where the folder
    holds something else, or a run with other options that matter ``to`` a product, what is
    ``given`` does not fit or learnt from patients of the test part, or another process trains in
    it."""
    foreign = run.is_dir() and any(run.iterdir()) and not (run / OPTIONS).is_file()
    if compute.broadcast(foreign):
        raise UsageError(f"{run} is not empty and no run; choose another --out")
    for part in given:
        compute.first(part.check)
    what = "continuing" if (run / OPTIONS).is_file() else "run"
    processes = f", {compute.world} processes" if compute.world > 1 else ""
    shown = display if compute.main else Silent()
    data = Dataset.open(options.data, counter(shown, "preparing images")).told
    for part in given:
        part.check_labels(data.table)
        if isinstance(part, GivenFile):
            refuse_a_leak(f"--{part.kind} {part.path}", read_card(part.path), data)
    with _claimed(run, options, to) if compute.main else nullcontext():
        shown.say(f"{what} {run}, on {compute.device}{processes}")
        shown.say(_describe(data.table))
        recorder = Recorder(run / METRICS, shown, writes=compute.main)
        yield Steps(options, run, data, compute, recorder)


@contextmanager
def _claimed(run: Path, options: TrainOptions, to: Product | None) -> Iterator[None]:
    """The run's folder with its options in it, for one process at a time, and its owner alone: it
    shows real images."""
    new = not run.exists()
    make_folder(run, "--out")
    if new:
        run.chmod(0o700)
    with locked(run, "trains"):
        refuse_other_options(run, options, to)  # of another process that was here meanwhile
        if not (run / OPTIONS).is_file():
            write_options(options, run / OPTIONS)
        yield


def _describe(table: Table) -> str:
    parts = ", ".join(f"{len(table.part(p)):,} {p}" for p in ("train", "validation", "test"))
    patients = counted(table.frame["patient_id"].nunique(), "patient")
    skipped = f", {len(table.skipped):,} skipped" if table.skipped else ""
    return f"{table.source}: {counted(len(table), 'image')} of {patients} ({parts}{skipped})"


def write_json(value: dict[str, Any], path: Path) -> None:
    """A JSON file that appears whole or not at all."""
    whole_file.write(path, json.dumps(value, indent=2) + "\n")
