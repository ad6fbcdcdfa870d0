"""``attacks overlap``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from anonymize.display import counter
from attacks.commands.one_attacker import attacker_options

if TYPE_CHECKING:
    from attacks.linkage.overlap import Overlap

TOLD = 10  # pairs of which a line is printed


@click.command(
    epilog="Example: attacks overlap covid19:/data/covid19 new_hospital --source chestxray14 "
    "--root /data/CXR8"
)
@click.argument("a")
@click.argument("b")
@click.option(
    "--shared", type=float, help="Patients expected in both. [1 % of the smaller, at least 1]"
)
@click.option("--top", type=click.IntRange(1), default=1000, show_default=True, help="Pairs kept.")
@attacker_options(released=False)
def command(a, b, shared, top, arguments) -> None:
    """Find patients who occur in two data sets, A and B.

    A and B are folders of images or source:root. Identical files and pixels come first, then pairs
    of patients by the probability that they are one person, given how many are expected in both.
    OUT/overlap.csv and .json hold the list, overlap.png the first pairs. They name images and
    patients, so nobody but you may read them; what is printed names none.
    """
    from attacks.linkage.album import apart, open_album
    from attacks.linkage.overlap import COLUMNS, expected_shared, find_overlap
    from attacks.linkage.private_files import write_json, write_picture, write_table
    from attacks.reporting.match_sheet import overlap_sheet

    apart(a, b)
    with arguments.at_work() as (read, shown, prepare):
        first, second = (
            open_album(given, read, argument=name, progress=counter(shown, "reading images"))
            for name, given in (("A", a), ("B", b))
        )
        shared = expected_shared(first, second, shared)
        prepared = prepare()
        found = find_overlap(
            prepared, first, second, shared=shared, top=top, report=counter(shown, "comparing")
        )
    lines = found.lines()
    highest = prepared.calibration.highest(found.prior)
    summary = {
        "images": [len(first), len(second)],
        "patients": list(found.patients),
        "shared_expected": found.shared,
        "prior_of_a_pair": found.prior,
        "highest_probability": highest,
        "identical": int(found.is_identical.sum()),
        "probable": int(found.probable.sum()),
        "probable_expected_false": found.expected_false,
        "probabilities": found.probabilities.tolist(),
        "attacker": prepared.learnt.model_dump(mode="json"),
    }
    write_table(arguments.out / "overlap.csv", COLUMNS, lines)
    write_json(arguments.out / "overlap.json", summary | {"pairs": lines})
    write_picture(arguments.out / "overlap.png", overlap_sheet(found))
    if arguments.as_json:
        click.echo(json.dumps(summary, indent=2))
        return
    _tell(found, summary)
    for line in prepared.in_words():
        click.echo(line)
    click.echo(f"written, for you only: {arguments.out}/overlap.csv, overlap.json, overlap.png")


def _tell(found: Overlap, summary: dict[str, Any]) -> None:
    """What was found, without a name, on standard output."""
    from attacks.linkage.overlap import PROBABLE
    from attacks.reporting.match_sheet import in_words

    (first, second), highest = summary["images"], summary["highest_probability"]
    click.echo(
        f"A: {first:,} images of {found.patients[0]:,} patients; B: {second:,} of "
        f"{found.patients[1]:,}; an image of nobody known counts as a patient"
    )
    click.echo(f"pairs of patients with identical images: {summary['identical']:,}")
    click.echo(
        f"others with a probability of {PROBABLE:g} or more: {summary['probable']:,}, of which "
        f"{found.expected_false:.1f} are expected to be two persons"
    )
    others = found.probabilities[~found.is_identical][:TOLD]
    if len(others):
        click.echo(f"most probable of these: {', '.join(map(in_words, others))}")
    click.echo(
        f"{found.shared:g} shared patients are expected (--shared), so a pair has the prior "
        f"{found.prior:.2g}, and the calibration supports no probability above {in_words(highest)}"
    )
    if highest < PROBABLE:
        click.echo(
            "note: it has seen too few pairs for so many; go by the order and the pictures, or "
            "let the attacker learn from a larger data set"
        )
