"""``anonymize verify``."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anonymize.commands.apply_options import stopping_with_words
from anonymize.commands.common import PATH, Place, workers_option
from anonymize.commands.progress import progress_bar
from anonymize.errors import counted

if TYPE_CHECKING:
    from anonymize.release.machines.object_store import Objects

FLAWED = 1
MAX_ROWS = 8  # named in a line
TEXT = "text_not_looked_for", "text_not_told"
SOUND = (
    "sound: every file is as the manifest says, and holds nothing beside what its format may; this "
    "says nothing about who can be recognised in it"
)
UNSEEN = ", nor about text in pictures in which nobody looked for it"
EPILOG = """\b
What is looked at:
  the manifest: its columns, the form of every value, counts that add up
  every file: there, unchanged (sha256), no link, nothing beside the manifest's
  what lies beside it: no second name (hard link), no extended attributes
  its content: DICOM, PNG, JPEG or TIFF that holds what its allow-list names,
    and nothing else; read by a second decoder; every byte as this package writes
    what is to be seen; labels likewise

Whoever changes a file may change the manifest too, and put another picture in its place: only
--public-key finds that, in a release made with `anonymize apply --sign`.

Example: anonymize verify released --public-key secret.key.pub
"""


@click.command(epilog=EPILOG)
@click.argument("out", metavar="OUT", type=Place())
@workers_option("Processes that look at files.")
@click.option(
    "--public-key",
    type=PATH,
    metavar="FILE",
    help="Of whom the release must be signed by: the .pub file that `apply --sign` wrote, got on "
    "another way than the release.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def command(out: Path | Objects, workers: int, public_key: Path | None, as_json: bool) -> None:
    """Look at every file of the release in OUT, without its inputs, its key or its model.

    Findings name rows of OUT/manifest.csv, never files. Nothing is changed. OUT may be
    s3://BUCKET/PREFIX; its objects are fetched to a temporary folder (TMPDIR).

    Exit status: 0 nothing was found, 1 something was, 2 no release is there, 4 no worker process
    could be started, or the objects not be fetched.
    """
    from anonymize.release.early import refuse_no_release

    started = time.monotonic()
    with ExitStack() as stack:
        stack.enter_context(stopping_with_words())
        if not isinstance(out, Path):
            out.check("OUT")
            with progress_bar("fetching"):
                out = stack.enter_context(out.fetched())
        refuse_no_release(out)
        from anonymize.release.verify import verify

        with progress_bar("verifying") as progress:
            report = verify(out, workers=workers, public_key=public_key, progress=progress)
    if as_json:
        findings = [
            {"code": f.flaw.value, "table": f.table, "row": f.row, "detail": f.detail}
            for f in report.findings
        ]
        told = ("sound", "files", "labels", "counts", "other_times", *TEXT)
        groups = None if report.groups is None else asdict(report.groups)
        result = {name: getattr(report, name) for name in told}
        result |= {"groups": groups, "findings": findings}
        click.echo(json.dumps(result, indent=2))
    else:
        click.echo(describe(report, time.monotonic() - started, signed=public_key is not None))
    raise SystemExit(0 if report.sound else FLAWED)


def describe(report, seconds: float, *, signed: bool) -> str:
    """The report in words, a line a kind of finding; ``signed``: its signature was looked at."""
    by_kind: dict[tuple, list[int]] = {}
    for f in report.findings:
        by_kind.setdefault((f.flaw, f.table, f.detail), []).append(f.row)
    labels = f", {counted(report.labels, 'file')} of labels" if report.labels else ""
    lines = [
        f"{counted(report.files - report.labels, 'file')} in the manifest{labels}, "
        f"{counted(len(report.findings), 'finding')} ({seconds:.1f} s)"
    ]
    for (flaw, table, detail), rows in by_kind.items():
        named = ", ".join(str(row) for row in rows[:MAX_ROWS] if row)
        more = f" and {len(rows) - MAX_ROWS} more" if len(rows) > MAX_ROWS else ""
        word = "row" if len(rows) == 1 else "rows"
        place = f"; {table}, {word} {named}{more}" if named else f"; {table}" if table else ""
        about = f"{flaw.meaning}: {detail}" if detail else flaw.meaning
        lines.append(f"  {len(rows)} {flaw.value}: {about}{place}")
    if report.other_times:
        lines.append(
            f"note       {counted(report.other_times, 'file')} with another time than a release "
            "gives, as copies have"
        )
    if report.groups is not None:
        lines.append(f"metadata   {report.groups}")
    if not signed:
        lines.append(
            "note       without --public-key, nobody knows whether files and manifest were "
            "exchanged together"
        )
    lines += _about_text(report)
    unseen = UNSEEN if report.text_not_looked_for or report.text_not_told else ""
    lines.append(f"{SOUND}{unseen}" if report.sound else "not sound: do not hand it on")
    return "\n".join(lines)


def _about_text(report) -> list[str]:
    of = f"of {counted(report.files - report.labels, 'file')}"
    lines = []
    if report.text_not_looked_for:
        lines.append(
            f"text       NOT LOOKED FOR in {report.text_not_looked_for} {of}: what is burned into "
            "a picture may still be read: look at the pictures"
        )
    if report.text_not_told:
        lines.append(
            f"text       the manifest does not say of {report.text_not_told} {of} whether it was "
            "looked for: look at the pictures"
        )
    return lines
