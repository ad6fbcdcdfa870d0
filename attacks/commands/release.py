"""``attacks release``."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anonymize.display import counter
from anonymize.key_files import without_key_files
from attacks.commands.one_attacker import AttackerArguments, attacker_options, place

if TYPE_CHECKING:
    from attacks.linkage.release_run import Attacked

# Those of attacks.linkage.release_attack, which is imported on use.
ATTACKERS = ("histogram-metric", "training-free", "pixels", "format", "identical")


@click.command(
    epilog="Examples: attacks release radiographs released --source covid19 --root /data/covid19; "
    "attacks release radiographs received --patients patients.csv --method dp-pix:b=8,epsilon=0.1"
)
@click.argument("real")
@click.argument("released", type=click.Path(path_type=Path))
@click.option(
    "--private",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Private folder of the release, which maps outputs to inputs. [RELEASED-private]",
)
@click.option(
    "--patients",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="CSV",
    help="path (below REAL or RELEASED), patient_id, and any of labels, sex, age, view.",
)
@attacker_options(released=True, several=ATTACKERS)
def command(real, released, private, patients, arguments) -> None:
    """Attack the files of a release: whom does each of them show?

    REAL holds the files that were released (a folder, or source:root), RELEASED what was made of
    them: DICOM, PNG, JPEG and TIFF of any size. The method is that of the release's manifest and
    private folder, unless --method names it; the attackers learn from the images of --run or
    --source (drawn ones by default), released as these files were: at their size. Floors look at
    no picture: format (size and format of the files) and identical (equal pixels, by hash).

    One verdict is printed. OUT/release.json and release.md hold all figures, found.csv and
    found.png what each file was taken for, unread.csv what could not be read: for you only.
    """
    from attacks.linkage.named import refuse_no_release

    refuse_no_release(released)
    arguments.refuse({"REAL": real})
    from attacks.linkage.release_run import Case, attack_release
    from attacks.linkage.released_by import method_of

    case = Case.of(real, released, private, patients)
    runs = () if arguments.run is None else (arguments.run,)
    arguments = replace(arguments, method=method_of(released, case.private, arguments.method, runs))
    of = {
        "real": place(real),
        "released": place(str(released)),
        "patients": patients and str(patients.resolve()),
        "attackers": arguments.attackers,
    }
    with arguments.claimed("release", of):
        with arguments.at_work() as (read, shown, _):
            subject = case.opened(read, counter(shown, "reading images"))
            found = attack_release(
                subject,
                arguments.attackers,
                lambda name: arguments.prepared(name, subject.released, shown),
                options=arguments.options,
                method=arguments.method,
                command=shlex.join(["attacks", *map(without_key_files, sys.argv[1:])]),
            )
        _write(found, arguments)


def _write(found: Attacked, arguments: AttackerArguments) -> None:
    """The files of OUT; the verdict, or the results as JSON, on standard output."""
    from attacks.linkage.private_files import as_csv
    from attacks.reporting.match_sheet import found_sheet
    from attacks.reporting.tables import markdown
    from attacks.reporting.verdict import attack_table, explained, verdict

    results = found.results
    said = [verdict(results), *explained(results)]
    table = markdown(*attack_table(results))
    content = {"verdict": said[0], **results.model_dump(mode="json", by_alias=True)}
    files: dict[str, str | bytes] = {
        "release.md": "\n\n".join([said[0], table, *said[1:]]) + "\n",
        "found.csv": as_csv(found.lines()),
        "found.png": found_sheet(found.subject, found.shown),
    }
    if unread := found.unread():
        files["unread.csv"] = as_csv(unread)
    files["release.json"] = json.dumps(content, indent=2) + "\n"
    arguments.report(files, content, [said[0], "", table, *said[1:]])
