"""``attacks release``."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anonymize.commands.common import PATH
from anonymize.display import counter
from anonymize.key_files import without_key_files
from anonymize.release.places import MANIFEST
from attacks.commands.judgement import Judge, policy_of, release_policy_options, status
from attacks.commands.judgement import said as in_words
from attacks.commands.one_attacker import AttackerArguments, attacker_options, place

if TYPE_CHECKING:
    from attacks.evaluation.policies.demands import Verdict
    from attacks.linkage.release_run import Attacked

# Those of attacks.linkage.release_attack, which is imported on use.
ATTACKERS = ("histogram-metric", "training-free", "pixels", "format", "identical")


@click.command(
    epilog="Examples: attacks release radiographs released --source covid19 --root /data/covid19; "
    "attacks release radiographs received --patients patients.csv --method dp-pix:b=8,epsilon=0.1"
)
@click.argument("real")
@click.argument("released", type=PATH)
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
    help="path (below REAL or RELEASED), patient_id, and any of labels, sex, age, view; it goes "
    "before what headers of DICOM files in REAL say.",
)
@attacker_options(released=True, several=ATTACKERS)
@release_policy_options
def command(real, released, private, patients, policy, answers, arguments) -> None:
    """Attack the files of a release: whom does each of them show?

    REAL holds the files that were released (a folder, or source:root), RELEASED what was made of
    them: DICOM, PNG, JPEG and TIFF of any size. The method is that of the release's manifest and
    private folder, unless --method names it; the attackers learn from the images of --run or
    --source (drawn ones by default), released as these files were: at their size. Floors look at
    no picture: format (size and format of the files), identical (equal pixels, by hash), and what
    the same findings link, where they are known.

    One verdict is printed. OUT/release.json and release.md hold all figures, found.csv and
    found.png what each file was taken for, unread.csv what could not be read: for you only.

    With --policy the files are held against it, a line a demand, and the exit status is 5 unless
    all are passed: what an attack on files does not look at cannot be certified by it.
    """
    from attacks.linkage.named import refuse_no_release

    policy_of(policy, None, answers)
    refuse_no_release(real, released)
    arguments.refuse({"REAL": real, "RELEASED": str(released)})
    from attacks.linkage.album import contents_of
    from attacks.linkage.release_run import Case, attack_release
    from attacks.linkage.released_by import method_of

    whole = released if (released / MANIFEST).is_file() else None
    judge = Judge.of(policy, whole, answers, arguments.out) if policy is not None else None
    case = Case.of(real, released, private, patients)
    runs = () if arguments.run is None else (arguments.run,)
    arguments = replace(arguments, method=method_of(released, case.private, arguments.method, runs))
    of = {
        "real": place(real),
        "released": place(str(released)),
        "patients": patients and str(patients.resolve()),
        "attackers": arguments.attackers,
    }
    with arguments.claimed("release", of) as holds:
        with arguments.at_work() as (read, shown, _):
            subject = case.opened(read, counter(shown, "reading images"))
            holds(contents_of(("REAL", "RELEASED"), subject.real, subject.released))
            found = attack_release(
                subject,
                arguments.attackers,
                lambda name: arguments.prepared(name, subject.released, shown),
                options=arguments.options,
                method=arguments.method,
                unlisted=case.unlisted,
                changed=case.changed,
                command=shlex.join(["attacks", *map(without_key_files, sys.argv[1:])]),
            )
        verdict = _write(found, arguments, judge)
    raise SystemExit(status([verdict]) if verdict else 0)


def _write(found: Attacked, arguments: AttackerArguments, judge: Judge | None) -> Verdict | None:
    """The files of OUT; the verdict, or the results as JSON, on standard output. Gives that of the
    policy."""
    from attacks.linkage.private_files import as_csv
    from attacks.reporting.pictures.match_sheet import found_sheet
    from attacks.reporting.tables import markdown
    from attacks.reporting.verdict import attack_table, explained, verdict

    results = found.results
    said = [verdict(results), *explained(results)]
    table = markdown(*attack_table(results))
    content = {"verdict": said[0], **results.model_dump(mode="json", by_alias=True)}
    judged, lines = None, list[str]()
    if judge is not None:
        judged, content["policy"] = judge.tell_files(results, len(set(found.subject.real.people)))
        lines = in_words([judged])
    files: dict[str, str | bytes] = {
        "release.md": "\n\n".join([said[0], table, *said[1:], *lines]) + "\n",
        "found.csv": as_csv(found.lines()),
        "found.png": found_sheet(found.subject, found.shown),
    }
    if unread := found.unread():
        files["unread.csv"] = as_csv(unread)
    files["release.json"] = json.dumps(content, indent=2) + "\n"
    arguments.report(files, content, [said[0], "", table, *said[1:], *lines])
    return judged
