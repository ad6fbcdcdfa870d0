"""``anonymize apply``."""

from __future__ import annotations

import json
import os
import resource
import time
from dataclasses import asdict

import click

from anonymize.commands import common
from anonymize.commands.apply_options import listed_in, options_of
from anonymize.commands.apply_report import as_json_text, describe, describe_plan, names_note
from anonymize.commands.group import Failure
from anonymize.commands.progress import progress_bar
from anonymize.release.burned_in.options import FILLS, MODES
from anonymize.release.dicom.options import RETAINABLE, SYNTAX_WISHES
from anonymize.release.places import find_places
from anonymize.release.reasons import Reason

QUARANTINED, STOPPED = 3, 4
NOT_LOOKED_FOR = (
    "warning: text burned into pictures is NOT LOOKED FOR: the OCR is not installed "
    "(pip install 'anonymize-cxr[ocr]'); --text keep says that this is meant"
)

EPILOG = "\b\nReasons why a file is not released (in DIR/quarantine.csv):\n" + "\n".join(
    f"  {reason.value:<19} {reason.meaning}" for reason in Reason
)
EPILOG += "\n\nExample: anonymize apply radiographs released --model runs/cxr8"


@click.command(epilog=EPILOG)
@click.argument("source", metavar="IN", type=common.PATH)
@click.argument("out", metavar="OUT", type=common.PATH)
@click.option(
    "--files-from",
    metavar="FILE|-",
    help="Take only the files (or folders) named in FILE, or on standard input: a path below IN "
    "a line, or ended by NUL. IN - stands for the current folder and a list on standard input.",
)
@click.option("--model", "spec", metavar="RUN|FILE|METHOD", help="[the newest run under ./runs]")
@click.option(
    "--plan",
    "only_plan",
    is_flag=True,
    help="Say what would happen to each file, by its name; write nothing.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    default=min(4, os.cpu_count() or 1),
    help="Processes that decode, write and check; the output is the same for any number.",
)
@click.option(
    "--time-limit",
    type=common.FiniteRange(0.1, 86_400),
    default=60,
    metavar="SECONDS",
    help="Computing time that a worker may spend on reading, writing or checking one file; by the "
    "clock five times as much.",
)
@click.option(
    "--memory-limit",
    type=click.IntRange(64, 1 << 20),
    default=4096,
    metavar="MIB",
    help="Most memory that a worker may take for it, and that moving its pixels may.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(1, 1024),
    default=1,
    help="Images of one size that the network sees at once. Above 1, the last bits of a "
    "displacement depend on which ones.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Quarantine images of a size that the method's strength does not fit, which are released "
    "with a warning otherwise.",
)
@click.option(
    "--names",
    type=click.Choice(["auto", "keep", "hashed"]),
    help="keep: the paths under IN. hashed: HMAC-SHA256 of the path, in one folder. auto: hashed "
    "where patients are known, by DICOM or a table in IN or --labels that names them; else keep. "
    "[keep; hashed with --canonical]",
)
@click.option(
    "--key-file",
    type=common.PATH,
    help="Secret of hashed names and DICOM pseudonyms, made if missing. Keep it: with it, "
    "later batches fit. [DIR/secret.key]",
)
@click.option(
    "--canonical",
    metavar="SIZE[,png|dicom]",
    help="Every file a gray square of SIZE pixels and 8 bits, in one format, so that neither links "
    "it to its original; smaller files are quarantined. Names are hashed.",
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
    "--require-review",
    is_flag=True,
    help="Keep outputs in DIR/waiting until somebody accepts them (`anonymize review`); OUT has no "
    "manifest until all of them were looked at.",
)
@click.option(
    "--sign",
    is_flag=True,
    help="Write OUT/manifest.sig, an Ed25519 signature under the secret key, for `anonymize verify "
    "--public-key`; the public key is written beside the secret one, as KEY.pub.",
)
@click.option(
    "--retain",
    multiple=True,
    type=click.Choice(RETAINABLE),
    help="Of DICOM headers (PS3.15 E.3), may be repeated: dates, shifted by a secret time for each "
    "patient; age, sex, size, weight; model, serial number, station.",
)
@click.option(
    "--clean-descriptors",
    is_flag=True,
    help="Of DICOM descriptions, keep the words that are terms of radiology, and how many views.",
)
@click.option(
    "--dicom-transfer-syntax",
    type=click.Choice(SYNTAX_WISHES),
    default="keep",
    help="How DICOM pixels are stored, always without loss. keep: compressed as JPEG 2000 where "
    "the input is compressed.",
)
@click.option(
    "--text",
    type=click.Choice(MODES),
    help="Text burned into pictures. remove: fill it, and look for it again in what is written; "
    "detect: quarantine its picture; keep: do not look. [remove where the extra ocr is installed, "
    "else keep]",
)
@click.option(
    "--text-fill",
    type=click.Choice(FILLS),
    default="inpaint",
    help="What takes its place: the surroundings continued, or black.",
)
@click.option(
    "--side-markers",
    type=click.Choice(["keep", "remove"]),
    default="keep",
    help="Whether L and R alone may stay; keep means they are no text.",
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
    "--spare",
    type=float,
    metavar="MARGIN",
    help="Leave what --labels outlines (boxes, polygons, points) as it is; the displacement grows "
    "over MARGIN of the shorter side around it. What is spared is the real picture.",
)
@click.option(
    "--private",
    type=common.PATH,
    metavar="DIR",
    help="Map, journal and quarantine list. [OUT-private]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@common.device_option
def command(source, out, files_from, spec, only_plan, as_json, device, **wanted) -> None:
    """Anonymize every DICOM, PNG, JPEG and TIFF radiograph under IN (a folder, or one file).

    Each is written under OUT, at the same relative path or under a hash of it (--names), in its
    own format, size and bit depth, from pixels only (DICOM with a de-identified header), with
    OUT/manifest.csv (public). DIR is private: it tells which output was which input. Whatever
    cannot be anonymized is quarantined, and none of its pixels are in OUT.
    The same command again continues. Methods that make each output of several people (k-same,
    mosaic) write new files instead, with OUT/certificate.md, and need --canonical.

    Exit status: 0 all done, 3 some quarantined or put into no output, 2 wrong usage, 4 stopped: OUT
    cannot be written, or no worker started.
    """
    source, listed = listed_in(source, files_from)
    find_places(source, out, wanted["private"], by_list=listed is not None)  # before torch loads

    import anonymize
    from anonymize.release import pipeline
    from anonymize.release.sets import asked
    from anonymize.release.storage import StorageError
    from anonymize.release.worker_pool import WorkerPoolError

    started = time.monotonic()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    common.warn_of_readers(wanted["key_file"])
    chosen = common.find_device(device)
    model = anonymize.load(spec or common.required_run(), device=chosen)
    asked.check_labels(model, asked=bool(wanted["labels"] or wanted["label_columns"]))
    options = options_of(**wanted, listed=listed, device=chosen)
    if wanted["text"] is None and options.text.mode == "keep":
        click.echo(NOT_LOOKED_FOR, err=True)
    try:
        if only_plan:
            with progress_bar("looking") as progress:
                planned = pipeline.plan(source, out, model, options, progress=progress)
            click.echo(as_json_text(planned) if as_json else describe_plan(planned))
            raise SystemExit(QUARANTINED if any(p.action == "quarantine" for p in planned) else 0)
        with progress_bar("anonymizing") as progress:
            summary = pipeline.apply(source, out, model, options, progress=progress)
    except StorageError as error:
        raise Failure(
            f"stopped, OUT or its private folder cannot be written: {error}; make room or make it "
            "writable, and the same command continues; or choose another OUT or --private",
            STOPPED,
        ) from None
    except WorkerPoolError:
        raise Failure(
            "stopped, no worker process can be started; free memory or processes, "
            "the same command continues where it stopped",
            STOPPED,
        ) from None
    if (note := names_note(summary, options.names)) is not None:
        click.echo(note, err=True)
    seconds = time.monotonic() - started
    if as_json:
        click.echo(json.dumps({**asdict(summary), "seconds": round(seconds, 3)}, indent=2))
    else:
        click.echo(describe(summary, seconds, spec, str(source.resolve())))
    raise SystemExit(0 if summary.complete else QUARANTINED)
