"""What the command lines of ``anonymize apply`` and ``receive`` ask for, as a release takes it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from anonymize.commands import common
from anonymize.commands.group import Failure
from anonymize.errors import UsageError
from anonymize.release.burned_in.options import FILLS, MODES
from anonymize.release.dicom.options import RETAINABLE, SYNTAX_WISHES
from anonymize.release.reasons import Reason

if TYPE_CHECKING:
    from anonymize.release.machines.object_store import Objects

QUARANTINED, STOPPED = 3, 4
NOT_LOOKED_FOR = (
    "warning: text burned into pictures is NOT LOOKED FOR: the OCR is not installed "
    "(pip install 'anonymize-cxr[ocr]'); --text keep says that this is meant"
)
REASONS = "\b\nReasons why a file is not released (in DIR/quarantine.csv):\n" + "\n".join(
    f"  {reason.value:<19} {reason.meaning}" for reason in Reason
)
shared = common.options_in_order(  # of every command that releases files
    click.option(
        "--model", "spec", metavar="RUN|FILE|METHOD", help="[the newest run under ./runs]"
    ),
    common.workers_option(
        "Processes that decode, write and check; the output is the same for any number."
    ),
    click.option(
        "--time-limit",
        type=common.FiniteRange(0.1, 86_400),
        default=60,
        metavar="SECONDS",
        help="Computing time that a worker may spend on reading, writing or checking one file; by "
        "the clock five times as much.",
    ),
    click.option(
        "--memory-limit",
        type=click.IntRange(64, 1 << 20),
        default=4096,
        metavar="MIB",
        help="Most memory that a worker may take for it, and that moving its pixels may.",
    ),
    click.option(
        "--strict",
        is_flag=True,
        help="Quarantine images of a size that the method's strength does not fit, which are "
        "released with a warning otherwise.",
    ),
    click.option(
        "--key-file",
        type=common.PATH,
        help="Secret of hashed names and DICOM pseudonyms, made if missing. Keep it: with it, "
        "later batches fit. [DIR/secret.key]",
    ),
    click.option(
        "--canonical",
        metavar="SIZE[,png|dicom]",
        help="Every file a gray square of SIZE pixels and 8 bits, in one format, so that neither "
        "links it to its original; smaller files are quarantined. Names are hashed.",
    ),
    click.option(
        "--sign",
        is_flag=True,
        help="Write OUT/manifest.sig, an Ed25519 signature under the secret key, for `anonymize "
        "verify --public-key`; the public key is written beside the secret one, as KEY.pub.",
    ),
    click.option(
        "--retain",
        multiple=True,
        type=click.Choice(RETAINABLE),
        help="Of DICOM headers (PS3.15 E.3), may be repeated: dates, shifted by a secret time for "
        "each patient; age, sex, size, weight; model, serial number, station.",
    ),
    click.option(
        "--clean-descriptors",
        is_flag=True,
        help="Of DICOM descriptions, keep the words that are terms of radiology, and how many "
        "views.",
    ),
    click.option(
        "--dicom-transfer-syntax",
        type=click.Choice(SYNTAX_WISHES),
        default="keep",
        help="How DICOM pixels are stored, always without loss. keep: compressed as JPEG 2000 "
        "where the input is compressed.",
    ),
    click.option(
        "--text",
        type=click.Choice(MODES),
        help="Text burned into pictures. remove: fill it, and look for it again in what is "
        "written; detect: quarantine its picture; keep: do not look. [remove where the extra "
        "ocr is installed, else keep]",
    ),
    click.option(
        "--text-fill",
        type=click.Choice(FILLS),
        default="inpaint",
        help="What takes its place: the surroundings continued, or black.",
    ),
    click.option(
        "--side-markers",
        type=click.Choice(["keep", "remove"]),
        default="keep",
        help="Whether L and R alone may stay; keep means they are no text.",
    ),
    click.option(
        "--private",
        type=common.PATH,
        metavar="DIR",
        help="Map, journal and quarantine list. [OUT-private]",
    ),
)


def options_of(
    *,
    retain,
    clean_descriptors,
    dicom_transfer_syntax,
    text,
    text_fill,
    side_markers,
    labels,
    label_columns,
    spare,
    table,
    columns,
    names,
    canonical,
    patients,
    shard,
    time_limit,
    memory_limit,
    **same,
):
    """What the command line asks for; those of ``same`` have their names in ReleaseOptions."""
    from anonymize.release.burned_in import reader
    from anonymize.release.burned_in.options import TextOptions
    from anonymize.release.dicom.options import DicomOptions
    from anonymize.release.labels.options import LabelOptions
    from anonymize.release.machines.shards import Shard
    from anonymize.release.metadata.table import TableOptions
    from anonymize.release.options import ReleaseOptions
    from anonymize.release.uniform import parse
    from anonymize.release.workers.worker_pool import Limits

    people = None
    if patients is not None:
        from anonymize.commands.patients import people_of

        people = people_of(patients)
    return ReleaseOptions(
        dicom=DicomOptions(frozenset(retain), clean_descriptors, dicom_transfer_syntax),
        text=TextOptions(text or reader.usual_mode(), text_fill, side_markers == "keep"),
        labels=LabelOptions(labels, label_columns, spare),
        table=TableOptions(table, () if columns is None else tuple(columns.split(","))),
        names=names or (None if canonical is None else "hashed"),
        uniform=None if canonical is None else parse(canonical),
        people=people,
        shard=None if shard is None else Shard.parse(shard),
        limits=Limits(seconds=time_limit, memory=memory_limit << 20),
        **same,
    )


def listed_in(
    source: Path | Objects, files_from: str | None
) -> tuple[Path | Objects, tuple[str, ...] | None]:
    """IN, and the names in the file list, None where there is none."""
    from anonymize.release.listing import parse_list

    if str(source) == "-":
        if files_from not in (None, "-"):
            raise UsageError("IN - reads the list from standard input; name a folder, or no FILE")
        source, files_from = Path(), "-"
    if files_from is None:
        return source, None
    if files_from == "-":
        return source, parse_list(sys.stdin.buffer.read())
    try:
        return source, parse_list(Path(files_from).read_bytes())
    except OSError:
        raise UsageError("--files-from cannot be read; name a file of paths, or -") from None


def staged(
    source: Path | Objects, out: Path | Objects, staging: Path | None, shard: str | None
) -> tuple[Path, Objects | None]:
    """The folder where OUT is made, and the address that it is uploaded to, None where it stays.
    Raises UsageError: IN and OUT lie in one another; a share of a release, which is none."""
    if isinstance(out, Path):
        if staging is not None:
            raise UsageError("--staging is for an OUT of s3://BUCKET/PREFIX; leave it out")
        return out, None
    if shard is not None:
        raise UsageError("--shard makes no release yet: give a folder as OUT")
    if not isinstance(source, Path) and source.overlaps(out):
        raise UsageError("IN and OUT must not lie in one another; choose another OUT")
    return staging or Path(out.prefix.rstrip("/").rpartition("/")[2] or out.bucket), out


def asked_for(spec: str | None, **wanted):
    """The method (RUN, FILE or METHOD), and how it is released; ``wanted``: the other options of
    the command line. What is wrong with them is said before torch is imported."""
    from anonymize import specs

    method = spec or str(common.required_run())
    specs.check(method)
    return method, options_of(**wanted)


def model_and_options(method: str, device: str, options, *, text: str | None):
    """The method on its device, and the options with it. Warns of what is not looked for unless
    ``text`` was asked for."""
    import anonymize
    from anonymize.release.sets import asked

    common.warn_of_readers(options.key_file)
    chosen = common.find_device(device)
    model = anonymize.load(method, device=chosen)
    asked.check_labels(model, asked=bool(options.labels.paths or options.labels.columns))
    if text is None and options.text.mode == "keep":
        click.echo(NOT_LOOKED_FOR, err=True)
    return model, replace(options, device=chosen)


@contextmanager
def stopping_with_words() -> Iterator[None]:
    """A release that cannot go on ends the command with a line and exit status ``STOPPED``."""
    from anonymize.release.storage import StorageError
    from anonymize.release.workers.worker_pool import WorkerPoolError

    try:
        yield
    except StorageError as error:
        raise Failure(f"stopped, {error.what}: {error}; {error.way_out}", STOPPED) from None
    except WorkerPoolError as error:
        raise Failure(
            f"stopped, no worker process can be started; {error.way_out}; "
            "the same command continues where it stopped",
            STOPPED,
        ) from None
