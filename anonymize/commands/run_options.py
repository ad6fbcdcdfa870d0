"""What the commands that train share: their options, and the folder in which a run lives."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anonymize.commands.common import device_option, find_device
from anonymize.errors import UsageError
from anonymize.runs import OPTIONS, RUNS

if TYPE_CHECKING:
    from anonymize.options import TrainOptions
    from anonymize.training.compute import Compute

QUICK = "quick"
_OPTIONS = (
    click.option(
        "--config",
        default=QUICK,
        show_default=True,
        help="A configuration by name, or a YAML file.",
    ),
    click.option("--source", help="Name of the data set's reader. [phantom]"),
    click.option("--root", type=click.Path(path_type=Path), help="Folder of the data set."),
    click.option("--out", type=click.Path(path_type=Path), help="The run's folder. [runs/TIME-…]"),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any other option."),
    click.option("--seed", type=int, help="Of every random choice. [0]"),
    click.option("--resume", type=click.Path(path_type=Path), help="Continue this run."),
    click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON."),
)


def run_options(command: Callable) -> Callable:
    """The options of every command that trains."""
    command = device_option(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Asked:
    """What the command line says about a run.

    Attributes:
        part: "classifier" or "verifier" alone; None: an anonymizer.
        mu: on top of the configuration.
    """

    config: str
    source: str | None
    root: Path | None
    out: Path | None
    settings: tuple[str, ...]
    seed: int | None
    resume: Path | None
    mu: float | None = None
    part: str | None = None

    def run(self) -> tuple[Path, TrainOptions]:
        """The run's folder, new, unfinished or to be continued, and its options.

        Raises:
            UsageError: options that contradict those of the run, or are wrong.
        """
        from anonymize.configuration import load_options, parse_setting

        settings = dict(parse_setting(s) for s in self.settings)
        if self.resume is not None:
            others = (self.out, self.source, self.root, self.seed, self.config)
            if others != (None, None, None, None, QUICK):
                raise UsageError("--resume takes all options from the run; give no other ones")
            return self.resume, _resumed(self.resume, settings, self.mu)
        changes = {
            "generator.mu": self.mu,
            "data.source": self.source,
            "data.root": None if self.root is None else str(self.root.absolute()),
            "seed": self.seed,
        }
        changes = {k: v for k, v in changes.items() if v is not None}
        options = load_options(self.config, changes | settings)
        run = self.out or unfinished(options, self.part) or RUNS / _name(options, self.part)
        if (run / OPTIONS).is_file() and _read(run / OPTIONS) != options:
            raise UsageError(f"{run} is a run with other options; choose another --out")
        return run, options


def begin(asked: Asked, device: str, *, as_json: bool) -> tuple[Path, TrainOptions, Compute]:
    """The run, its options, and the processes that compute it; says so on a line."""
    from anonymize.training.compute import Compute

    chosen = find_device(device)
    run, options = asked.run()
    compute = Compute.of(options, chosen)
    # Several processes start within one second or two; their folder is the first one's.
    run = compute.agreed(run)
    if compute.main:
        processes = f", {compute.world} processes" if compute.world > 1 else ""
        click.echo(f"run {run}, on {compute.device}{processes}", err=as_json)
    return run, options, compute


def unfinished(options: TrainOptions, part: str | None = None) -> Path | None:
    """The newest stopped run of this kind under ``runs/`` with exactly these options."""
    from anonymize.runs import CLASSIFIER_TEST, SUMMARY, VERIFIER_TEST

    finished = {None: SUMMARY, "classifier": CLASSIFIER_TEST, "verifier": VERIFIER_TEST}[part]
    for path in sorted(RUNS.glob(f"*/{OPTIONS}"), reverse=True):
        last = path.parent.name.rpartition("-")[2]
        mine = last == part if part else last not in ("classifier", "verifier")
        if mine and not (path.parent / finished).exists() and _read(path) == options:
            return path.parent
    return None


def _name(options: TrainOptions, part: str | None) -> str:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    mu = getattr(options.generator, "mu", None)
    made = part or (options.generator.method if mu is None else f"mu{mu:g}")
    return f"{stamp}-{options.data.source}-{made}"


def _resumed(run: Path, settings: dict, mu: float | None) -> TrainOptions:
    if not (run / OPTIONS).is_file():
        raise UsageError(f"--resume {run} is no run: it has no {OPTIONS}")
    options = _read(run / OPTIONS)
    if settings or (mu is not None and mu != getattr(options.generator, "mu", None)):
        raise UsageError("--resume continues with the run's own options; leave --mu and --set out")
    return options


def _read(path: Path) -> TrainOptions:
    from anonymize.configuration import load_options

    return load_options(path)
