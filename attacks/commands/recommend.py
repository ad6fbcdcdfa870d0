"""``anonymize recommend``, by its entry point ``anonymize.commands``."""

import json
import shlex
import sys

import click

from anonymize.commands.common import PATH, FiniteRange, device_option, find_compute
from anonymize.errors import UsageError
from attacks.commands import shared

LOOKS = "looks"


@click.command(
    "recommend",
    epilog="Examples: anonymize recommend --root DATA --keep Effusion,Mass; anonymize recommend "
    "--source chestxray14 --root /data/CXR8 --minutes 120",
)
@click.option(
    "--source",
    default="folder",
    help="Name of the data set's reader; folder: images and a CSV of path, patient_id, labels.",
)
@shared.DATA
@click.option(
    "--keep",
    metavar="LABEL[,LABEL…]|looks",
    help="Findings that a classifier must still read; looks: a person must. [all findings]",
)
@click.option(
    "--auc",
    type=FiniteRange(0.5, 1),
    default=0.60,
    help="Of the strongest attacker, against people of equal findings, at most.",
)
@click.option(
    "--loss",
    type=FiniteRange(0, 1),
    default=0.05,
    help="AUC that a classifier may lose by learning from the release.",
)
@click.option(
    "--minutes",
    type=FiniteRange(0.1, 100_000),
    default=20,
    help="What is not measured by then is left out.",
)
@shared.SETTINGS
@click.option("--seed", type=int, help="Of every random choice. [0]")
@click.option(
    "--out", type=PATH, default="recommendation", help="Private folder of what was measured."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@device_option
def command(keep, auc, loss, minutes, out, as_json, device, **asked) -> None:
    """Say which method for your radiographs, what it hides and costs, and what to type.

    Releases the data set in several ways, small, within --minutes; attacks each, trains
    classifiers on it, and recommends the one that hides most of those that are shown to cost no
    more than --loss. It says so where none does, or where the data are too few to tell. Stopped,
    or out of time, the same command goes on where it was.

    Exit status: 0 whatever it found, 2 wrong usage.
    """
    kept = _findings(keep)
    if LOOKS in kept:
        from attacks.recommending.report import LOOKS_LEFT

        left = {"outcome": "nothing", "said": [LOOKS_LEFT]}
        click.echo(json.dumps(left, indent=2) if as_json else LOOKS_LEFT)
        return
    from attacks.commands import early
    from attacks.linkage.named import refuse_inside

    early.refuse(shared.changes(asked))
    if asked["root"] is not None:  # all images below it are what is released
        refuse_inside(out, str(asked["root"]), "--root")
    from attacks.commands.progress import display
    from attacks.recommending.candidates import small_options
    from attacks.recommending.choice import Wish
    from attacks.recommending.recommend import Asked, recommend
    from attacks.recommending.report import plain, told
    from attacks.reporting.folder import write_evaluation

    wanted = Asked(
        small_options(shared.changes(asked)),
        keep=kept,
        wish=Wish(auc, loss),
        seconds=60 * minutes,
        command=shlex.join(["anonymize", *sys.argv[1:]]),
    )
    compute = find_compute(wanted.options, device)
    with display() as shown:
        found = recommend(wanted, out, compute=compute, display=shown)
    if found.evaluation is not None:
        write_evaluation(found.evaluation, out)
    if as_json:
        click.echo(json.dumps(plain(found), indent=2))
        return
    click.echo(told(found))
    if found.evaluation is not None:
        click.echo(f"\nwritten: {out}/report.html and all that is behind it")


def _findings(keep: str | None) -> tuple[str, ...]:
    """Names separated by commas, each once."""
    if keep is None:
        return ()
    names = tuple(dict.fromkeys(shared.names(keep)))
    if "" in names:
        raise UsageError(
            f"--keep must be names of findings separated by commas, or {LOOKS}; got {keep!r}"
        )
    return names
