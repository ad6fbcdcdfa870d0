"""What `attacks verify`, `retrieve`, `link` and `overlap` share: one attacker and its options."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonymize.commands.common import (
    PATH,
    device_option,
    find_compute,
    on_missing_option,
    options_in_order,
)
from anonymize.errors import UsageError
from attacks.commands import shared

if TYPE_CHECKING:
    from anonymize.options import DataOptions, TrainOptions
    from attacks.evaluation.processes.claim import Holds
    from attacks.evaluation.processes.work import Display
    from attacks.linkage.album import Album
    from attacks.linkage.learnt import Prepared

DEFAULT = "histogram-metric"
_METHOD = click.option(
    "--method", help="What released the images, a run or dp-pix:b=8 … [none: they are real]"
)
_ATTACKER = click.option(
    "--attacker",
    default=DEFAULT,
    metavar="NAME[:KNOWLEDGE]",
    help="As `attacks evaluate` calls it.",
)
_OPTIONS = (
    click.option("--run", type=PATH, help="Its data set and options. [newest]"),
    click.option("--source", help="Data set of known patients to learn from, instead."),
    click.option("--root", type=PATH, help="Folder of that data set."),
    on_missing_option(),
    click.option("--config", help="Training options, where no run gives them. [quick]"),
    shared.SETTINGS,
    click.option(
        "--out",
        type=PATH,
        default="attack",
        help="Private folder: results, and the attacker, which is taught once.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    device_option,
)


@dataclass(frozen=True)
class AttackerArguments:
    """What the shared options say; without a ``method`` the probes are real. Where there are
    ``several`` attackers, floors may be among them, and drawn images teach where none are named."""

    attacker: str
    run: Path | None
    source: str | None
    root: Path | None
    config: str | None
    settings: tuple[str, ...]
    on_missing: str | None
    out: Path
    as_json: bool
    device: str
    method: str | None = None
    several: bool = False

    def refuse(self, given: Mapping[str, str | Sequence[str]]) -> None:
        """Refuses what cannot be meant, before torch is imported; ``given`` are the images that
        are compared, by what the user calls them.

        Raises UsageError: an unknown attacker, option or method, no such images, an ``out`` among
        them, or no data set to learn from."""
        from attacks.commands import early
        from attacks.linkage.named import refuse_inside, refuse_missing

        run = self.learns_from
        for argument, places in given.items():
            for named in [places] if isinstance(places, str) else places:
                refuse_missing(named, argument)
                refuse_inside(self.out, named, argument)
        early.refuse(
            shared.changes(vars(self)),
            config=self.config,
            runs=() if run is None else (run,),
            methods=(self.method,),
            attackers=self.attackers,
        )

    def claimed(self, name: str, of: Mapping[str, Any]) -> AbstractContextManager[Holds]:
        """``out`` is this process's for the results ``name``, of these inputs, until they are
        written; what the shared options say is added. Gives what is told their contents."""
        from attacks.evaluation.processes.claim import claimed, of_options

        shared = {"method": self.method} | ({} if self.several else {"attacker": self.attacker})
        return claimed(self.out, name, dict(of) | shared | of_options(self.options))

    @contextmanager
    def at_work(self) -> Iterator[tuple[DataOptions, Display, Callable[[Album], Prepared]]]:
        """How images to compare are read, what shows progress, and what makes the attacker of the
        probes: it may learn for long, so the images come first."""
        from attacks.commands.progress import display

        missing = "skip" if self.several else self.on_missing or "error"
        read = self.options.data.model_copy(update={"on_missing": missing})
        with display() as shown:
            yield read, shown, lambda probes: self.prepared(self.attacker, probes, shown)

    def prepared(self, attacker: str, probes: Album, display: Display) -> Prepared:
        """An attacker of these probes, which ``method`` released."""
        from attacks.linkage.prepared import Wanted, prepare

        runs = () if self.run is None else (self.run,)
        wanted = Wanted.of(attacker, self.options, self.method, probes, runs)
        compute = find_compute(self.options, self.device)
        return prepare(wanted, self.out, compute=compute, display=display)

    @property
    def attackers(self) -> list[str]:
        return shared.names(self.attacker)

    @property
    def learns_from(self) -> Path | None:
        """The run whose data set and options are taken; None where others are named. Raises
        UsageError: there is none, and nothing else is named."""
        from anonymize.runs import newest_run

        known = "data.source" in shared.changes(vars(self)) or self.config is not None
        run = self.run if self.run is not None or known else newest_run()
        if run is None and not known and not self.several:
            raise UsageError(
                "an attacker learns from a data set with known patients: name one with --source "
                "and --root, a --config, or a --run; or learn from drawn images with --source "
                "phantom; there is no finished run under ./runs"
            )
        return run

    def report(
        self, files: Mapping[str, str | bytes], summary: dict[str, Any], said: Iterable[str]
    ) -> None:
        """Writes the files to ``out``, for their owner only; on standard output what is said, or
        the summary as JSON: both without names of images."""
        from anonymize.whole_file import write

        for name, content in files.items():
            write(self.out / name, content, mode=0o600)
        if self.as_json:
            click.echo(json.dumps(summary, indent=2))
            return
        for line in (*said, f"written, for you only: {self.out}/{', '.join(files)}"):
            click.echo(line)

    @cached_property
    def options(self) -> TrainOptions:
        """What the attacker learns from, and how. Raises UsageError: an unknown attacker or option,
        or no data set to learn from."""
        from anonymize.configuration import load_options
        from attacks.evaluation.sweep import run_options
        from attacks.linkage.prepared import chosen_attacker
        from attacks.linkage.release_attack import FLOORS

        # A broken attacker is named here; the options would name it, too.
        for name in self.attackers if self.several else [self.attacker]:
            if not self.several or name not in FLOORS:
                chosen_attacker(name, released=self.method is not None)
        changes = shared.changes(vars(self))
        run = self.learns_from
        if run is None or self.config is not None:
            return load_options(self.config or "quick", changes)
        return run_options(run, changes)


def attacker_options(*, released: bool, several: Sequence[str] = ()) -> Callable:
    """Adds the shared options; the command receives them as one :class:`AttackerArguments`.

    Args:
        released: it takes images that something released, so there is ``--method``.
        several: it takes several attackers, by default these, and leaves out files that cannot be
            read.
    """
    which = _ATTACKER
    if several:
        which = click.option(
            *("--attackers", "attacker"),
            default=",".join(several),
            help="Names, separated by commas.",
        )

    def decorate(command: Callable) -> Callable:
        @wraps(command)
        def parsed(**given):
            shared = {name: given.pop(name) for name in list(given) if name in _NAMES}
            arguments = AttackerArguments(**shared, several=bool(several))
            return command(arguments=arguments, **given)

        return options_in_order(*[_METHOD] * released, which, *_OPTIONS)(parsed)

    return decorate


def place(given: str) -> str:
    """A file, folder or ``source:root`` as the claim of a folder names it."""
    source, colon, root = given.partition(":")
    there = Path(root) if colon and not Path(given).exists() else Path(given)
    return f"{source}:{there.resolve()}" if colon else str(there.resolve())


_NAMES = set(AttackerArguments.__dataclass_fields__)
