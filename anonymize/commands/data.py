"""``anonymize data prepare`` and ``anonymize data show``."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anonymize import whole_file
from anonymize.commands.common import PATH, on_missing_option, options_in_order
from anonymize.commands.progress import progress_bar
from anonymize.errors import UsageError, counted

if TYPE_CHECKING:
    from anonymize.data.table import Table

_OPTIONS = options_in_order(
    click.option("--source", help="Name of the data set's reader. [phantom]"),
    click.option("--root", type=PATH, help="Folder of the data set."),
    click.option("--size", type=int, help="Images are size × size pixels. [64]"),
    on_missing_option(),
    click.option("--split-seed", type=int, help="Seed of the patient-wise split. [0]"),
    click.option(
        "--uncertain",
        type=click.Choice(["unknown", "positive", "negative"]),
        help="How CheXpert's uncertainty label is read. [unknown]",
    ),
    click.option("--images", type=int, help="Phantom: number of images. [2000]"),
    click.option("--patients", type=int, help="Phantom: number of patients. [600]"),
    click.option(
        "--cache", type=PATH, help="Folder of the image caches and lists. [~/.cache/anonymize-cxr]"
    ),
    click.option("--workers", type=int, help="Processes that read images. [2]"),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
)


def data_options(command: Callable) -> Callable:
    """The options of a data set; the command receives them as one ``DataOptions``."""

    @wraps(command)
    def parsed(*, as_json, **given):
        from anonymize.options import DataOptions
        from anonymize.section import validated

        own = {name: given.pop(name) for name in given.keys() - DataOptions.model_fields.keys()}
        values = {name: value for name, value in given.items() if value is not None}
        return command(validated(DataOptions, values), as_json=as_json, **own)

    return _OPTIONS(parsed)


@click.group(epilog="Example: anonymize data show --source covid19 --root /data/covid19")
def command() -> None:
    """Prepare and show data sets."""


@command.command(
    epilog="Example: anonymize data prepare --source chestxray14 --root /data/CXR8 --size 256 "
    "--workers 8"
)
@data_options
def prepare(options, *, as_json) -> None:
    """Decode and resize all images once, into a cache.

    Checks the whole data set first. Interrupted, the same command continues where it stopped.
    """
    from anonymize.data.dataset import Dataset
    from anonymize.data.skipped import skipped_list

    with progress_bar("images") as report:
        data = Dataset.open(options, report)
    table, images = data.table, data.images
    skipped = skipped_list(options, table)
    result = {
        "source": table.source,
        "images": len(table),
        "patients": int(table.frame.loc[table.frame["identified"], "patient_id"].nunique()),
        "size": options.size,
        "bits": 8 * images.dtype.itemsize,
        "bytes": images.path.stat().st_size,
        "cache": str(images.path),
        "skipped": len(table.skipped),
        "skipped_list": skipped and str(skipped),
    }
    if as_json:
        click.echo(json.dumps(result, indent=2))
        return
    click.echo(
        f"{counted(result['images'], 'image')} of "
        f"{counted(result['patients'], 'identified patient')}, "
        f"{options.size} × {options.size}, {result['bits']} bits: {result['cache']} "
        f"({result['bytes'] / 1e6:.1f} MB)"
    )
    _say_skipped(table, result["skipped_list"])


@command.command(
    epilog="Example: anonymize data show --source covid19 --root /data/covid19 --out sheet.png"
)
@data_options
@click.option("--out", type=PATH, help="Draw follow-ups into this PNG.")
def show(options, *, as_json, out) -> None:
    """Count what each part of a data set holds, and draw some follow-ups."""
    from anonymize.data.overview import contact_sheet, lines, summarize
    from anonymize.data.skipped import problems_listed, skipped_list
    from anonymize.data.sources.registry import read
    from anonymize.data.splits import assign

    if out is not None:
        _check_sheet(out, options.root)
    with problems_listed(options):
        table = assign(read(options), seed=options.split_seed)
    skipped = skipped_list(options, table)
    summary = summarize(table) | {"skipped_list": skipped and str(skipped)}
    if out is not None:
        _save(contact_sheet(table), out)
    if as_json:
        click.echo(json.dumps(summary, indent=2))
        return
    _print(table.source, list(lines(summary)))
    _say_skipped(table, summary["skipped_list"])
    if out is not None:
        click.echo(f"follow-ups of some patients: {out}")


def _say_skipped(table: Table, path: str | None) -> None:
    if path is not None:
        click.echo(f"{counted(len(table.skipped), 'listed image')} left out: {path}")


def _check_sheet(out: Path, root: Path | None) -> None:
    """Raises UsageError for a sheet that would take the place of a radiograph."""
    if out.suffix.lower() != ".png":
        raise UsageError("--out must be a file called *.png; name one")
    here = root is not None and out.resolve().is_relative_to(root.expanduser().resolve())
    if here and out.exists():
        raise UsageError("--out must not replace a file of the data set; name a new one")
    if not out.parent.is_dir():
        raise UsageError("--out cannot be written; name a file in a folder that exists")


def _save(sheet, out: Path) -> None:
    """For the owner alone: it shows real images, patient by patient."""
    content = io.BytesIO()
    sheet.save(content, format="PNG")
    try:
        with whole_file.replacing(out) as path:
            whole_file.create(path, content.getvalue(), 0o600)
    except OSError as error:
        raise UsageError(
            f"--out cannot be written ({error.strerror or type(error).__name__}); "
            "name a file in a folder that exists"
        ) from None


def _print(title: str, rows: list[tuple[str, ...]]) -> None:
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table as Grid

        grid = Grid(*rows[0], title=title)
        for column in grid.columns[1:]:
            column.justify = "right"
        for row in rows[1:]:
            grid.add_row(*row)
        Console().print(grid)
        return
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    click.echo(title)
    for name, *cells in rows:
        columns = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        click.echo("  ".join([name.ljust(widths[0]), *columns]))
