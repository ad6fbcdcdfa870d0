"""``attacks scaling``."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anonymize.commands.common import PATH, device_option, find_compute
from anonymize.errors import UsageError
from attacks.commands import shared

if TYPE_CHECKING:
    from attacks.studies.scaling_results import Scaling

SIZES = "500,1000,2000,4000"


@click.command(
    epilog="Examples: attacks scaling --pairs 500,1000,2000 --negatives fresh; attacks scaling "
    "--config prichexy_net --source chestxray14 --root /data/CXR8 "
    "--pairs 100000,200000,400000,800000 --out scaling"
)
@click.option("--pairs", default=SIZES, help="Sizes, separated by commas.")
@click.option(
    "--negatives",
    default="fixed,fresh",
    help="Impostor pairs: drawn once (fixed: FTS), or again each epoch (fresh: RNP).",
)
@click.option(
    "--epoch-pairs",
    type=int,
    help="Pairs in an epoch, whatever the size: equally many steps for all. [each pair once]",
)
@click.option("--repeats", type=int, help="Independent trainings of each size.")
@click.option("--verifier", metavar="RUN|FILE", help="Go on from this verifier (warm start).")
@click.option("--warm-start", is_flag=True, help="Go on from the verifier of the size before.")
@click.option("--config", default="quick", help="By name, or a YAML file.")
@click.option("--source", help="Name of the data set's reader. [phantom]")
@shared.DATA
@shared.SETTINGS
@click.option("--seed", type=int, help="Of every random choice. [0]")
@click.option("--out", type=PATH, default="scaling", help="Folder of the results.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@device_option
def command(
    pairs, negatives, epoch_pairs, verifier, warm_start, config, out, as_json, device, **asked
) -> None:
    """Train verifiers on growing numbers of pairs: AUC against training-set size.

    Trains with the published objective on real images of the training part and tests on the test
    pairs: a verifier that still gains from more pairs is no bound on what an adversary with more
    data can do. Writes scaling.json, scaling.csv and scaling.png. Stopped, the same command
    continues where it was.
    """
    from attacks.commands import early

    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError("attacks scaling is one process; start it without accelerate launch")
    early.refuse(shared.changes(asked), config=config)
    from anonymize.configuration import load_options
    from anonymize.training.parts import find_part
    from attacks.commands.progress import display
    from attacks.evaluation.processes.claim import claimed
    from attacks.reporting.pictures.scaling_curve import write_scaling
    from attacks.studies.scaling import ScalingPlan, scale

    options = load_options(config, shared.changes(asked, {"verifier.objective": "pairs"}))
    start = None
    if verifier is not None:
        given = find_part(verifier, "verifier")
        given.check()
        start = given.path
    plan = ScalingPlan(
        options,
        pairs=_numbers(pairs),
        negatives=shared.names(negatives),
        epoch_pairs=epoch_pairs,
        start=start,
        chained=warm_start,
        command=shlex.join(["attacks", *sys.argv[1:]]),
    )
    compute = find_compute(options, device)
    with claimed(out, "scaling", plan.subject) as holds:
        with display() as shown:
            found = scale(plan, out, compute=compute, display=shown, holds=holds)
        names = write_scaling(found, out)
    if as_json:
        click.echo(json.dumps(found.model_dump(mode="json", by_alias=True), indent=2))
    else:
        _tell(found, out, names)


def _tell(found: Scaling, out: Path, names: Sequence[str]) -> None:
    """The curve in lines, and the files, on standard output."""
    from attacks.measuring.reading_names import LISTED, MATCHED, matched_like, why_unmatched
    from attacks.measuring.reading_names import NAMES as READINGS
    from attacks.reporting.tables import in_words
    from attacks.studies.scaling import NAMES

    def both(matched, listed) -> str:
        first = "" if matched is None else f"{in_words(matched)}, {READINGS[MATCHED]}; "
        return f"AUC {first}{in_words(listed)}, {READINGS[LISTED]}"

    for point in found.points:
        aucs = both(point.matched, point.auc)
        click.echo(f"{NAMES[point.negatives]} {point.pairs:>9,} pairs: {aucs}")
    click.echo(f"gradient histograms, no pair: {both(found.floor_matched, found.floor)}")
    said = f"not measured: {why_unmatched(found.matched_by)}"
    if found.floor_matched is not None and found.matched_pairs is not None:
        genuine, impostors = found.matched_pairs
        like = matched_like(found.matched_by)
        said = f"{genuine:,} genuine and {impostors:,} of the listed pairs ({like})"
    click.echo(f"{READINGS[MATCHED]}: {said}")
    if found.undertrained:
        click.echo(
            "do not trust: every verifier stays below gradient histograms, so it is undertrained, "
            "and the curve says little about the number of pairs; train longer, or a larger network"
        )
    click.echo(f"written: {out}/{', '.join(names)}")


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(
            f"--pairs must be whole numbers separated by commas, as {SIZES}; got {text!r}"
        ) from None
