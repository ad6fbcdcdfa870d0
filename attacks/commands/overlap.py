"""``attacks overlap``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from anonymize.display import counter
from attacks.commands.one_attacker import attacker_options, place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attacks.commands.one_attacker import AttackerArguments
    from attacks.linkage.learnt import Prepared
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
@click.option("--top", type=click.IntRange(1), default=1000, help="Pairs kept.")
@attacker_options(released=False)
def command(a, b, shared, top, arguments) -> None:
    """Find patients who occur in two data sets, A and B.

    A and B are folders of images or source:root. Identical files and pixels come first, then pairs
    of patients by the probability that they are one person, given how many are expected in both.
    OUT/overlap.csv and .json hold the list, overlap.png the first pairs. They name images and
    patients, so nobody but you may read them; what is printed names none.
    """
    from attacks.linkage.named import apart

    apart(a, b)
    arguments.refuse({"A": a, "B": b})
    from attacks.linkage.album import contents_of, open_both
    from attacks.linkage.overlap import expected_shared, find_overlap

    of = {"a": place(a), "b": place(b), "shared": shared, "top": top}
    with arguments.claimed("overlap", of) as holds:
        with arguments.at_work() as (read, shown, prepare):
            first, second = open_both({"A": a, "B": b}, read, counter(shown, "reading images"))
            holds(contents_of(("A", "B"), first, second))
            shared = expected_shared(first, second, shared)
            prepared = prepare(first)
            found = find_overlap(
                prepared, first, second, shared=shared, top=top, report=counter(shown, "comparing")
            )
        _report(arguments, found, prepared)


def _report(arguments: AttackerArguments, found: Overlap, prepared: Prepared) -> None:
    """OUT/overlap.csv, .json and .png, and what is said of them."""
    from attacks.linkage.private_files import three_files
    from attacks.reporting.pictures.match_sheet import overlap_sheet

    highest = prepared.learnt.calibration.highest(found.prior)
    summary = {
        "images": [len(found.first), len(found.second)],
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
    lines = found.lines()
    files = three_files("overlap", lines, summary | {"pairs": lines}, overlap_sheet(found))
    arguments.report(
        files,
        summary,
        [*prepared.learnt.first(), *_said(found, highest), *prepared.learnt.in_words()],
    )


def _said(found: Overlap, highest: float) -> Iterator[str]:
    """What was found, without a name."""
    from attacks.linkage.overlap import PROBABLE
    from attacks.reporting.pictures.match_sheet import in_words

    yield (
        f"A: {len(found.first):,} images of {found.patients[0]:,} patients; "
        f"B: {len(found.second):,} of {found.patients[1]:,}; an image of nobody known counts as a "
        "patient"
    )
    yield f"pairs of patients with identical images: {found.is_identical.sum():,}"
    yield (
        f"others with a probability of {PROBABLE:g} or more: {found.probable.sum():,}, of which "
        f"{found.expected_false:.1f} are expected to be two persons"
    )
    others = found.probabilities[~found.is_identical][:TOLD]
    if len(others):
        yield f"most probable of these: {', '.join(map(in_words, others))}"
    yield (
        f"shared patients expected (--shared): {found.shared:g}, so a pair has the prior "
        f"{found.prior:.2g}, and the calibration supports no probability above {in_words(highest)}"
    )
    if highest < PROBABLE:
        yield (
            "note: it has seen too few pairs for so many; go by the order and the pictures, or "
            "let the attacker learn from a larger data set"
        )
