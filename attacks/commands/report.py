"""``attacks report``."""

from pathlib import Path

import click

from anonymize.commands.common import PATH
from attacks.commands.judgement import Judge, policy_of, policy_options, said, status


@click.command(
    "report",
    epilog="Examples: attacks report evaluation/results.json; attacks report evaluation --release "
    "released --out for-the-data-officer",
)
@click.argument("results", type=PATH, metavar="RESULTS.json")
@click.option("--out", type=PATH, help="Folder of what is written. [that of RESULTS.json]")
@policy_options
def command(results, out, policy, release, answers) -> None:
    """Build report.html, tables and pictures of an evaluation again; nothing is computed.

    RESULTS.json is what attacks evaluate wrote, or its folder. Pictures of radiographs come from
    pictures.npz beside it: with them report.html is for you alone (mode 0600), and
    report-public.html is the same without. The manifest of a --release is shown, and its
    certificate.

    Exit status: 0, 5 where a --policy is not passed by all methods, or 2 for wrong usage.
    """
    from attacks.results import Results, results_file

    policy_of(policy, release if policy else None, answers)
    file = results_file(results)
    found = Results.read(file)
    folder: Path = file.parent if out is None else out
    if release is not None:
        from attacks.linkage.named import refuse_inside
        from attacks.reporting.released import read_release

        refuse_inside(folder, str(release), "--release")
        told = read_release(release, found)
    # Torch is imported behind what may be refused.
    from dataclasses import replace

    from anonymize.fingerprint import sha256_file
    from anonymize.folder_lock import own_folder
    from attacks.evaluation.contents import images_of
    from attacks.evaluation.processes.claim import CONTENTS, claimed
    from attacks.reporting.folder import PAGE, write_pages
    from attacks.reporting.harmless import harmless_record
    from attacks.reporting.kept import read_kept
    from attacks.reporting.report import Beside

    evaluation, beside = read_kept(found, file.parent), Beside(digest=sha256_file(file))
    if release is not None:
        beside = replace(beside, release=told)
    own = folder.resolve() == file.resolve().parent
    of = {"evaluation": str(file.resolve()), CONTENTS: images_of(found)}
    here = own_folder(folder, holds=(file.name,))
    with here if own else claimed(folder, "report", of, results=PAGE):
        judge = None if policy is None else Judge.of(policy, release, answers, folder)
        if judge is not None:
            verdicts, _ = judge.tell(harmless_record(found), folder, None)
            beside = replace(beside, verdicts=verdicts)
        names = write_pages(evaluation, folder, beside=beside)
    click.echo(f"written: {folder}/{names[-1]}, {', '.join(names[:-1])}")
    if judge is not None:
        click.echo("\n".join(said(beside.verdicts)))
        raise SystemExit(status(beside.verdicts))
