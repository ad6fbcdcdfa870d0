"""``attacks watch``."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anonymize.commands.common import PATH
from anonymize.errors import UsageError

if TYPE_CHECKING:
    from attacks.evaluation.processes.recorded import Progress

SECOND, QUIET = 1.0, 10.0  # between two looks; without a new line after which a log is told again
SHOWN = 12  # lines of results on a terminal


@click.command("watch", epilog="Example: attacks watch evaluation")
@click.argument("out", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print where it is, once, as JSON.")
def command(out, as_json) -> None:
    """Show where the attacks evaluate is that writes to OUT, until it ends.

    It reads two files of OUT and changes nothing; Ctrl-C ends the watching, not the evaluation.
    """
    from dataclasses import asdict

    from anonymize.folder_lock import in_use

    found = _now(out)
    if as_json:
        click.echo(json.dumps({"running": in_use(out), **asdict(found)}, indent=2))
        return
    try:
        if sys.stdout.isatty():
            _live(out)
        else:
            _lines(out)
    except KeyboardInterrupt:
        return
    click.echo(_ended(out, _read(out)))


def _read(out: Path) -> Progress:
    from attacks.evaluation.processes.recorded import FILE, read_progress

    if (found := read_progress(out)) is None:
        raise UsageError(
            f"OUT must be the folder of an attacks evaluate that has begun; {out} has no {FILE}"
        )
    return found


def _now(out: Path) -> Progress:
    """What was written last; while somebody works, with the time that is left of it now."""
    from dataclasses import replace

    from anonymize.folder_lock import in_use

    running, found = in_use(out), _read(out)
    if not running:
        return found
    return replace(found, state=found.state.after(time.time() - found.seen))


def _place(found: Progress) -> str:
    from attacks.reporting.harmless import harmless

    state = found.state
    if not state.total:
        return "preparing"
    return f"[{state.done}/{state.total}] {harmless(state.title)} ({state.forecast})"


def _ended(out: Path, found: Progress) -> str:
    done = found.state.total and found.state.done == found.state.total
    if done and (out / "report.html").is_file():
        return f"finished: {out}/report.html"
    return f"stopped at {_place(found)}; the same attacks evaluate goes on there"


def _lines(out: Path) -> None:
    """Each result once, and where the work is while there is none."""
    from anonymize.folder_lock import in_use
    from attacks.reporting.harmless import harmless

    told, last = 0, 0.0
    while True:
        running, found = in_use(out), _now(out)
        for line in found.lines[told:]:
            click.echo(harmless(line))
        if len(found.lines) > told or time.monotonic() - last >= QUIET:
            click.echo(_place(found))
            last = time.monotonic()
        told = len(found.lines)
        if not running:
            return
        time.sleep(SECOND)


def _live(out: Path) -> None:
    """A bar below the last results."""
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    from anonymize.folder_lock import in_use
    from attacks.reporting.harmless import harmless

    with Live(console=Console(), refresh_per_second=4, transient=True) as live:
        while True:
            running, found = in_use(out), _now(out)
            done, total = found.state.done, max(found.state.total, 1)
            results = [Text(harmless(line)) for line in found.lines[-SHOWN:]]
            bar = ProgressBar(total=total, completed=done, width=48)
            live.update(Group(*results, bar, Text(_place(found))))
            if not running:
                return
            time.sleep(SECOND)
