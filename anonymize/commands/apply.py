"""``anonymize apply``."""

import json
import time
from dataclasses import asdict
from pathlib import Path

import click

from anonymize.commands import common
from anonymize.commands.apply_options import (
    QUARANTINED,
    REASONS,
    asked_for,
    listed_in,
    model_and_options,
    shared,
    staged,
    stopping_with_words,
)
from anonymize.commands.apply_report import (
    as_json_text,
    describe,
    describe_plan,
    describe_upload,
    names_note,
)
from anonymize.commands.progress import progress_bar
from anonymize.release.places import find_places

EPILOG = REASONS + "\n\nExample: anonymize apply radiographs released --model runs/cxr8"


@click.command(epilog=EPILOG)
@click.argument("source", metavar="IN", type=common.Place())
@click.argument("out", metavar="OUT", type=common.Place())
@click.option(
    "--staging",
    type=common.PATH,
    metavar="DIR",
    help="Where OUT is made before it is uploaded, if OUT is s3://BUCKET/PREFIX; the private "
    "folder is beside it. It stays, and needs the room. [the last part of OUT, here]",
)
@click.option(
    "--files-from",
    metavar="FILE|-",
    help="Take only the files (or folders) named in FILE, or on standard input: a path below IN "
    "a line, or ended by NUL. IN - stands for the current folder and a list on standard input.",
)
@click.option(
    "--plan",
    "only_plan",
    is_flag=True,
    help="Say what would happen to each file, by its name; write nothing.",
)
@click.option(
    "--shard",
    metavar="I/N",
    help="Take the I-th of N shares of the files, each under an OUT of its own, for several "
    "machines; `anonymize merge` makes one release of them. Needs --key-file.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    help="Where the workers are. ray: on the nodes of a Ray cluster (extra ray), each of which "
    "must have this very program; the method runs here, and only this machine reads IN and writes.",
)
@click.option(
    "--address",
    metavar="auto|HOST:PORT",
    help="The cluster of --engine ray, of which this machine is a node. [one of its own, here]",
)
@click.option(
    "--batch-size",
    type=click.IntRange(1, 1024),
    default=1,
    help="Images of one size that the network sees at once. Above 1, the last bits of a "
    "displacement depend on which ones.",
)
@click.option(
    "--names",
    type=click.Choice(["keep", "hashed"]),
    help="What outputs are called. keep: as their paths under IN, whatever other files tell of "
    "them; what its own DICOM header knows somebody by is quarantined. hashed: by a keyed hash of "
    "the path (HMAC-SHA256), in one folder. [the paths, but files whose path tells "
    "what a DICOM header or --table knows of somebody are quarantined; with --canonical: hashed]",
)
@click.option(
    "--patients",
    type=common.PATH,
    metavar="CSV",
    help="Whose each file is, for methods that make each output of several people (k-same, "
    "mosaic): path (below IN), patient_id, and labels (A|B) or a column a label (1, 0 or nothing), "
    "whose names and means become public (OUT/labels.csv). A file of nobody known is quarantined. "
    "[DICOM headers]",
)
@click.option(
    "--measured",
    type=common.PATH,
    metavar="RESULTS.json",
    help="Of `attacks evaluate` with the same such method: what attackers reached goes into the "
    "certificate, which has no such figures otherwise.",
)
@click.option(
    "--require-review",
    is_flag=True,
    help="Keep outputs in DIR/waiting until somebody accepts them (`anonymize review`); OUT has no "
    "manifest until all of them were looked at.",
)
@click.option(
    "--labels",
    multiple=True,
    type=common.PATH,
    metavar="PATH",
    help="Masks (PNG, NIfTI), COCO JSON, CSV of boxes, polygons or points, or a folder of them; "
    "may be repeated. They move with their images, to OUT/labels.",
)
@click.option(
    "--label-column",
    "label_columns",
    multiple=True,
    metavar="NAME",
    help="A further column of CSV labels that is released as it is; may be repeated. It must not "
    "tell who it is.",
)
@click.option(
    "--table",
    type=common.PATH,
    metavar="CSV",
    help="A table of yours with a row a file (column path, below IN) or a patient (column "
    "patient_id, as in DICOM headers). Its --columns, which must be given, go to "
    "OUT/labels/metadata.csv under the released names: ages from 90 on as 90, patients as "
    "pseudonyms.",
)
@click.option(
    "--columns",
    metavar="NAME,NAME,...",
    help="Columns of --table that are released, and no others: age, sex, view, labels (A|B), "
    "patient_id, or one of a finding (1, 0, -1 or nothing). Other columns, and cells that do not "
    "fit, refuse the table.",
)
@click.option(
    "--spare",
    type=float,
    metavar="MARGIN",
    help="Leave what --labels outlines (boxes, points, all of the box around a polygon) as it is; "
    "the displacement grows over MARGIN of the shorter side around it. What is spared is the real "
    "picture.",
)
@shared
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@common.device_option
def command(source, out, staging, files_from, spec, only_plan, as_json, device, **wanted) -> None:
    """Anonymize every DICOM, PNG, JPEG and TIFF radiograph under IN (a folder, one file, or
    s3://BUCKET/PREFIX).

    Each is written under OUT, at the same relative path or under a hash of it (--names), in its
    own format, size and bit depth, from pixels only (DICOM with a de-identified header), with
    OUT/manifest.csv (public). DIR is private: it tells which output was which input. Whatever
    cannot be anonymized is quarantined, and none of its pixels are in OUT.
    The same command again continues. Methods that make each output of several people (k-same,
    mosaic) write new files instead, with OUT/certificate.md, and need --canonical.

    Exit status: 0 all done, 3 some quarantined or put into no output, or nothing released, 2 wrong
    usage, 4 stopped: OUT cannot be written, no worker started, or an object storage does not
    answer.
    """
    from anonymize.release import early
    from anonymize.release.machines import upload

    source, listed = listed_in(source, files_from)
    out, address = staged(source, out, staging, wanted["shard"])
    find_places(source, out, wanted["private"], by_list=listed is not None)
    method, options = asked_for(spec, **wanted, listed=listed)
    places = early.refuse(source, out, options)  # before torch loads
    if address is not None:
        upload.check(address, places.private)

    from anonymize.release import pipeline

    started = time.monotonic()
    model, options = model_and_options(method, device, options, text=wanted["text"])
    with stopping_with_words():
        if only_plan:
            with progress_bar("looking") as progress:
                planned = pipeline.plan(source, out, model, options, progress=progress)
            click.echo(as_json_text(planned) if as_json else describe_plan(planned))
            raise SystemExit(QUARANTINED if any(p.action == "quarantine" for p in planned) else 0)
        with progress_bar("anonymizing") as progress:
            summary = pipeline.apply(source, out, model, options, progress=progress)
        if address is not None:
            with progress_bar("uploading") as progress:
                sent = upload.upload(
                    Path(summary.out), Path(summary.private), address, progress=progress
                )
    if (note := names_note(summary)) is not None:
        click.echo(note, err=True)
    seconds = time.monotonic() - started
    if as_json:
        told = {} if address is None else {"uploaded": asdict(sent)}
        click.echo(json.dumps({**asdict(summary), "seconds": round(seconds, 3), **told}, indent=2))
    else:
        place = str(source.resolve()) if isinstance(source, Path) else "IN"
        click.echo(describe(summary, seconds, spec, place))
        if address is not None:
            click.echo(describe_upload(sent))
    raise SystemExit(0 if summary.complete else QUARANTINED)
