"""``attacks check``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from anonymize import whole_file
from anonymize.commands.common import PATH, device_option, find_compute
from anonymize.commands.group import Failure
from anonymize.commands.progress import display
from anonymize.display import counter
from anonymize.errors import UsageError
from attacks.commands import shared

if TYPE_CHECKING:
    from attacks.check.run import Outcome

FILE = "known_answers.json"
QUICK = {
    "data.patients": 60,
    "data.images": 240,
    "verifier.epochs": 2,
    "classifier.epochs": 2,
    "evaluation.attacker_epochs": 1,
    "evaluation.contrastive.epochs": 2,
    "evaluation.retrieval.epochs": 2,
    "evaluation.learned_inverse.epochs": 2,
}


@click.command(
    epilog="Examples: attacks check; attacks check --attackers verification,training-free --json"
)
@click.option(
    "--attackers",
    help="Names, separated by commas; NAME:KNOWLEDGE for another level; donors. [all]",
)
@click.option("--quick", is_flag=True, help="Few images, short trainings: a trial, not a verdict.")
@click.option(
    "--known-answers",
    is_flag=True,
    help="Test whole evaluations instead, on a dozen releases of known privacy.",
)
@click.option("--source", help="Data set of --known-answers, by its reader's name. [phantom]")
@shared.DATA
@click.option("--out", type=PATH, help="Folder of --known-answers, to go on there.")
@shared.SETTINGS
@click.option("--json", "as_json", is_flag=True, help="Print the outcomes as JSON.")
@device_option
def command(attackers, quick, known_answers, out, as_json, device, **asked) -> None:
    """Test the attackers themselves, on drawn radiographs.

    On real images an attacker must link, and come back to within 0.02 of that AUC where nothing
    was done to them (identity), or what was done is undone with a key that it holds (pixel
    shuffle). One that adapts to a release must come back on a known affine map and a known smooth
    warp too. On images of noise, and with the patients' names dealt out anew, it must stay at
    chance. One that combines others is given a known few, and must not lose by a useless one
    among them. What real images do not have, as marks, is put there. A test that does not
    concern an attacker says why. donors are people whose films stand in for everybody's: those
    who are shown must be told from others.

    --known-answers makes a dozen releases whose privacy is known by their construction, and
    evaluates them: each must be judged rightly, or be marked by a check that names it.

    Exit status 1 if one fails. `attacks evaluate` with the same version of the program names
    attackers that failed, and those that were not tested.
    """
    from attacks.registry import DONORS, choose

    asked_for = _installed(attackers)
    from anonymize.configuration import load_options
    from attacks.check.cohort import cohort
    from attacks.check.donors import of_donors
    from attacks.check.run import Examination, faults
    from attacks.evaluation.checks.check_record import remember

    if known_answers:
        if quick:
            raise UsageError("--known-answers has no --quick; set data.patients and data.images")
        _answer(shared.changes(asked), attackers, out, as_json=as_json, device=device)
        return
    if asked["source"] or asked["root"] or out:
        raise UsageError("--source, --root and --out are of --known-answers; add it")
    keys = _keys(asked_for)
    changes = shared.changes(asked, QUICK if quick else {})
    options = load_options(Path(str(files("attacks.check") / "check.yaml")), changes)
    compute = find_compute(options, device)
    outcomes: dict[str, list[Outcome]] = {}
    with display() as shown, TemporaryDirectory() as folder:
        data = cohort(options.data, counter(shown, "preparing images"))
        examination = Examination(options, data, compute=compute, folder=Path(folder))
        for key in keys:
            outcomes[key] = []
            shown.at(f"testing {key}")
            tests = of_donors(examination) if key == DONORS else examination.of(choose(key))
            for outcome in tests:
                outcomes[key].append(outcome)
                click.echo(_line(outcome), err=as_json)
            if not changes:  # one by one: all of them take hours
                remember({key: faults(outcomes[key])})
    every = _rows(outcomes)
    if as_json:
        click.echo(json.dumps(every, indent=2))
    _count((o["status"] for o in every), ("passed", "failed", "not applicable"), as_json=as_json)
    if changes:
        click.echo("not kept for evaluations: --quick or --set changed the options", err=as_json)
    if failed := sorted(key for key, found in outcomes.items() if faults(found)):
        so = "a trial is no verdict: leave --quick out" if quick else "believe no figure of theirs"
        raise Failure(f"failed: {', '.join(failed)}; {so}", 1)


def _installed(attackers: str | None) -> list[str]:
    """The names that were given; none of them is imported. Raises UsageError: an unknown one."""
    from attacks.registry import DONORS, refuse_unknown

    names = shared.names(attackers) if attackers else []
    for name in names:
        if name != DONORS:
            refuse_unknown(name.partition(":")[0])
    return names


def _keys(names: list[str]) -> list[str]:
    """Of these attackers, each once; of all where none is named."""
    from attacks.registry import DONORS, choose, every_level

    every = names or [*(found.key for found in every_level()), DONORS]
    return list(dict.fromkeys(name if name == DONORS else choose(name).key for name in every))


def _rows(outcomes: dict[str, list[Outcome]]) -> list[dict[str, Any]]:
    """Each outcome, with the day and the fingerprint of the program that it was tested with."""
    from attacks.evaluation.checks.check_record import examined_by

    made = datetime.now(UTC).date().isoformat()
    return [
        asdict(outcome) | {"made": made, "by": examined_by(key)}
        for key, found in outcomes.items()
        for outcome in found
    ]


def _count(outcomes: Iterable[str], known: Sequence[str], *, as_json: bool) -> None:
    counted = Counter(outcomes)
    click.echo(", ".join(f"{counted[one]} {one}" for one in known), err=as_json)


def _line(outcome) -> str:
    from attacks.measuring.reading_names import ALL, NAMES

    figure = ""
    if outcome.auc is not None:
        low, high = outcome.interval
        figure = f"AUC {outcome.auc:.3f} ({low:.3f}–{high:.3f}), {NAMES[ALL]}"
    place = f"{outcome.attacker:<26} {outcome.case:<18}"
    return f"{outcome.status:<15} {place} {figure:<43}{outcome.why}".rstrip()


def _answer(
    changes: Mapping[str, Any],
    attackers: str | None,
    out: Path | None,
    *,
    as_json: bool,
    device: str,
) -> None:
    """Evaluates the releases of known privacy, prints the table, and keeps it in ``out``. Raises
    Failure: an evaluation that misleads."""
    from anonymize.configuration import load_options
    from anonymize.data.dataset import Dataset
    from attacks.check.known_answers import ATTACKERS, answers, table
    from attacks.commands import progress
    from attacks.evaluation.contents import data_contents
    from attacks.evaluation.processes.claim import claimed, of_options

    options = load_options(Path(str(files("attacks.check") / "known_answers.yaml")), dict(changes))
    compute = find_compute(options, device)
    names = shared.names(attackers) if attackers else ATTACKERS
    with progress.display() as shown, TemporaryDirectory() as temporary:
        folder = out or Path(temporary)
        with claimed(
            folder, Path(FILE).stem, of_options(options) | {"attackers": list(names)}
        ) as holds:
            data = Dataset.open(options.data, counter(shown, "preparing images"))
            holds(data_contents(data))
            found, evaluation = answers(
                options, folder, compute=compute, display=shown, attackers=names
            )
            content = {
                "source": evaluation.results.source.model_dump(
                    include={"name", "images", "patients"}
                ),
                "seed": options.seed,
                "attackers": list(names),
                "changed": {k: str(v) for k, v in changes.items() if k != "data.root"},
                "made": evaluation.results.model_dump(mode="json")["made"],
                "answers": [one.plain() for one in found],
            }
            text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
            whole_file.write(folder / FILE, text)
    click.echo(text if as_json else table(found), nl=False)
    _count((one.verdict for one in found), ("right", "marked", "WRONG"), as_json=as_json)
    if wrong := [one.case for one in found if one.verdict == "WRONG"]:
        raise Failure(f"an evaluation misleads about {', '.join(wrong)}", 1)
