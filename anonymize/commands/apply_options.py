"""What the command line of ``anonymize apply`` asks for, as a release takes it."""

from __future__ import annotations

import sys
from pathlib import Path

from anonymize.errors import UsageError


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
    names,
    canonical,
    patients,
    shard,
    time_limit,
    memory_limit,
    **same,
):
    """What the command line asks for; those of ``same`` have their names in ReleaseOptions."""
    from anonymize.release.burned_in.options import TextOptions
    from anonymize.release.dicom.options import DicomOptions
    from anonymize.release.labels.options import LabelOptions
    from anonymize.release.options import ReleaseOptions
    from anonymize.release.shards import Shard
    from anonymize.release.uniform import parse
    from anonymize.release.worker_pool import Limits

    people = None
    if patients is not None:
        from anonymize.commands.patients import people_of

        people = people_of(patients)
    return ReleaseOptions(
        dicom=DicomOptions(frozenset(retain), clean_descriptors, dicom_transfer_syntax),
        text=TextOptions(text or _text_mode(), text_fill, side_markers == "keep"),
        labels=LabelOptions(labels, label_columns, spare),
        names=names or ("keep" if canonical is None else "hashed"),
        uniform=None if canonical is None else parse(canonical),
        people=people,
        shard=None if shard is None else Shard.parse(shard),
        limits=Limits(seconds=time_limit, memory=memory_limit << 20),
        **same,
    )


def _text_mode() -> str:
    """What is done about burned-in text unless it is said."""
    from anonymize.release.burned_in import reader

    return "remove" if reader.available() else "keep"


def listed_in(source: Path, files_from: str | None) -> tuple[Path, tuple[str, ...] | None]:
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
