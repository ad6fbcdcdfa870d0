"""``attacks compare``."""

import json

import click

from anonymize.commands.common import PATH
from anonymize.errors import UsageError


@click.command(
    "compare",
    epilog="Example: attacks compare before/results.json after/results.json --out comparison",
)
@click.argument("results", type=PATH, nargs=-1, metavar="A B …")
@click.option("--out", type=PATH, default="comparison", help="Folder of what is written.")
@click.option("--json", "as_json", is_flag=True, help="Print the differences as JSON.")
def command(results, out, as_json) -> None:
    """Set several evaluations side by side; nothing is computed anew.

    A, B and so on are files that attacks evaluate wrote, or their folders. Where the data are the
    same, each is subtracted from by the first: paired on the same draws of patients, which lie in
    draws.npz beside results.json.
    """
    from attacks.results import Results, results_files

    if len(results) < 2:
        raise UsageError("attacks compare needs two results or more: attacks compare A B")
    files = results_files(results)
    for file in files:
        Results.read(file)
    from collections import ChainMap
    from dataclasses import asdict

    from attacks.evaluation.contents import images_of
    from attacks.evaluation.processes.claim import CONTENTS, claimed
    from attacks.reporting.compare import NAME, write_comparison
    from attacks.reporting.side_by_side import differences, named_sides, said

    sides = named_sides(results)
    found = differences(sides)
    images = [images_of(side.results, f" of {side.name}") for side in sides]
    of = {"evaluations": [str(file.resolve()) for file in files], CONTENTS: dict(ChainMap(*images))}
    with claimed(out, NAME, of, results=f"{NAME}.html"):
        names = write_comparison(sides, found, out)
    if as_json:
        plain = [{**asdict(d), "difference": d.difference.model_dump()} for d in found]
        click.echo(json.dumps({"differences": plain, "said": said(sides, found)}, indent=2))
        return
    click.echo((out / "comparison.md").read_text(encoding="utf-8"))
    click.echo(f"written: {out}/{names[-1]}, {', '.join(names[:-1])}")
