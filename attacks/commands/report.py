"""``attacks report``."""

from __future__ import annotations

from pathlib import Path

import click

from anonymize.commands.common import PATH


@click.command(
    "report",
    epilog="Examples: attacks report evaluation/results.json; attacks report evaluation --release "
    "released --out for-the-data-officer",
)
@click.argument("results", type=PATH, metavar="RESULTS.json")
@click.option("--out", type=PATH, help="Folder of what is written. [that of RESULTS.json]")
@click.option(
    "--release",
    type=PATH,
    help="Folder that anonymize apply wrote: its public manifest is shown, and its certificate.",
)
def command(results, out, release) -> None:
    """Build report.html, tables and pictures of an evaluation again; nothing is computed.

    RESULTS.json is what attacks evaluate wrote, or its folder. Pictures of radiographs come from
    pictures.npz beside it: with them report.html is for you alone (mode 0600), and
    report-public.html is the same without.

    Exit status: 0, or 2 for wrong usage.
    """
    from dataclasses import replace

    from anonymize.errors import make_folder
    from anonymize.fingerprint import sha256_file
    from attacks.reporting.folder import write_pages
    from attacks.reporting.kept import read_results
    from attacks.reporting.released import read_release
    from attacks.reporting.report import Beside

    evaluation, file = read_results(results)
    beside = Beside(digest=sha256_file(file))
    if release is not None:
        beside = replace(beside, release=read_release(release, evaluation.results))
    folder: Path = file.parent if out is None else make_folder(out, "--out")
    names = write_pages(evaluation, folder, beside=beside)
    click.echo(f"written: {folder}/{names[-1]}, {', '.join(names[:-1])}")
