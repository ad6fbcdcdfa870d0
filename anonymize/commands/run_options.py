"""What the commands that train share: their options, and the folder in which a run lives."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from anonymize.commands.common import (
    PATH,
    device_option,
    find_compute,
    on_missing_option,
    options_in_order,
)
from anonymize.commands.progress import display
from anonymize.display import Display, Silent
from anonymize.errors import UsageError
from anonymize.runs import CLASSIFIER_TEST, OPTIONS, RUNS, SUMMARY, VERIFIER_TEST

if TYPE_CHECKING:
    from anonymize.options import TrainOptions
    from anonymize.training.compute import Compute

Part = Literal["classifier", "verifier"]
FINISHED = {None: SUMMARY, "classifier": CLASSIFIER_TEST, "verifier": VERIFIER_TEST}
QUICK = "quick"
run_options = options_in_order(
    click.option("--config", default=QUICK, help="A configuration by name, or a YAML file."),
    click.option("--source", help="Name of the data set's reader. [phantom]"),
    click.option("--root", type=PATH, help="Folder of the data set."),
    on_missing_option(),
    click.option("--out", type=PATH, help="The run's folder. [runs/TIME-…]"),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any other option."),
    click.option("--seed", type=int, help="Of every random choice. [0]"),
    click.option("--resume", type=PATH, help="Continue this run."),
    click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
    device_option,
)


@dataclass(frozen=True)
class TrainArguments:
    """What the command line says about a run."""

    config: str
    source: str | None
    root: Path | None
    on_missing: str | None
    out: Path | None
    settings: tuple[str, ...]
    seed: int | None
    resume: Path | None
    mu: float | None = None
    part: Part | None = None  # alone; None: an anonymizer

    @property
    def finished(self) -> bool:
        """Whether the folder named is a finished run, which needs no data and no other files."""
        named = self.resume or self.out
        return named is not None and (named / FINISHED[self.part]).is_file()

    @property
    def changes(self) -> dict[str, Any]:
        """What it changes in the options of the configuration, by their paths; ``--set`` wins."""
        from anonymize.configuration import parse_setting

        named = {
            "generator.mu": self.mu,
            "data.source": self.source,
            "data.root": None if self.root is None else str(self.root.absolute()),
            "data.on_missing": self.on_missing,
            "seed": self.seed,
        }
        given = {k: v for k, v in named.items() if v is not None}
        return given | dict(parse_setting(s) for s in self.settings)

    def run(self) -> tuple[Path | None, TrainOptions]:
        """The run's folder, None for a new one below ``runs/``, and its options; UsageError where
        they contradict those of the run, or are wrong."""
        from anonymize.configuration import load_options

        if self.resume is not None:
            others = (self.out, self.source, self.root, self.on_missing, self.seed)
            if (*others, self.config) != (*[None] * len(others), QUICK):
                raise UsageError("--resume takes all options from the run; give no other ones")
            return self.resume, self._resumed(self.resume)
        options = load_options(self.config, self.changes, refuse=self._refuse)
        return self.out or unfinished(options, self.part), options

    def _resumed(self, run: Path) -> TrainOptions:
        from anonymize.configuration import load_options

        if not (run / OPTIONS).is_file():
            raise UsageError(f"--resume {run} is no run: it has no {OPTIONS}")
        options = load_options(run / OPTIONS, refuse=self._refuse)
        if self.settings or self.mu not in (None, getattr(options.generator, "mu", None)):
            raise UsageError(
                "--resume continues with the run's own options; leave --mu and --set out"
            )
        return options

    def _refuse(self, options: TrainOptions) -> None:
        from anonymize.data.sources.registry import check

        if self.part is None and getattr(options.generator, "mu", None) == 0:
            raise UsageError(
                "mu is 0, which moves no pixel, so there is nothing to train; give --mu above 0 "
                "(the paper has 0.001 to 0.01), or measure real images: attacks evaluate --method "
                "identity"
            )
        if not self.finished:
            check(options.data)


class Started(NamedTuple):
    """A run, its options, the processes that compute it, and what shows them."""

    run: Path
    options: TrainOptions
    compute: Compute
    display: Display


@contextmanager
def started(asked: TrainArguments, device: str) -> Iterator[Started]:
    """What a command that trains starts with, and what shows what it does."""
    run, options = asked.run()
    compute = find_compute(options, device)
    is_new = run is None and compute.main
    if is_new:
        run = _new_folder(options, asked.part)
    run = compute.broadcast(run)
    try:
        with display() if compute.main else nullcontext(Silent()) as shown:
            yield Started(run, options, compute, shown)
    finally:
        if is_new:
            with suppress(OSError):  # it stays, unless it is empty
                run.rmdir()


def _new_folder(options: TrainOptions, part: Part | None) -> Path:
    """A folder below ``runs/`` that no other process was given: runs/TIME-SOURCE-WHAT."""
    mu = getattr(options.generator, "mu", None)
    made = part or (options.generator.method if mu is None else f"mu{mu:g}")
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for other in ("", *(f"-{number}" for number in range(2, 1000))):
        path = RUNS / f"{stamp}{other}-{options.data.source}-{made}"
        with suppress(FileExistsError):
            path.mkdir(0o700, parents=True)
            return path
    raise UsageError(f"{RUNS} is full of runs of this second; choose an --out")


def unfinished(options: TrainOptions, part: Part | None = None) -> Path | None:
    """The newest stopped run of this kind under ``runs/`` with exactly these options."""
    from anonymize.configuration import load_options
    from anonymize.folder_lock import in_use

    for path in sorted(RUNS.glob(f"*/{OPTIONS}"), reverse=True):
        last = path.parent.name.rpartition("-")[2]
        mine = last == part if part else last not in ("classifier", "verifier")
        stopped = not (path.parent / FINISHED[part]).exists() and not in_use(path.parent)
        with suppress(UsageError):  # options of another version, or of a method that is gone
            if mine and stopped and load_options(path) == options:
                return path.parent
    return None
