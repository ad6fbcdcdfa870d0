"""What is wrong with a release whatever its method: said before torch is imported, in a second."""

from pathlib import Path

from anonymize import ray_cluster
from anonymize.errors import UsageError
from anonymize.release import listing
from anonymize.release.burned_in import reader
from anonymize.release.machines.object_store import Objects
from anonymize.release.options import ReleaseOptions
from anonymize.release.places import MANIFEST, Places, find_naming, find_places


def refuse(
    source: Path | Objects, out: Path, options: ReleaseOptions, *, empty: bool = False
) -> Places:
    """The places of a release that may be one; nothing is changed.

    ``empty``: there may be no inputs; they are still to come.

    Raises UsageError: folders in one another, no inputs, a secret or labels that cannot be read,
    text to be looked for without the OCR; a table that is none."""
    if options.text.looks:
        reader.require(options.text.mode)
    if options.engine == "ray":
        ray_cluster.require(options.address)
    by_list = options.listed is not None
    places = find_places(source, out, options.private, by_list=by_list)
    folders = places.public(by_list=by_list)
    find_naming(options.key_file, hashed=False, folders=folders, private=places.private)
    options.table.check(places)
    if options.labels.paths:
        from anonymize.release.labels.collect import find_sources  # with all that moves them

        find_sources(options.labels, places, hashed=False)
    if places.objects is not None:
        there = places.objects.check("IN")
    else:
        there = bool(options.listed) if by_list else not listing.is_empty(places.source)
    refuse_none(empty or there or places.single is not None, by_list=by_list)
    return places


def refuse_none(there: bool, *, by_list: bool) -> None:
    """Raises UsageError where no file is ``there``."""
    if not there:
        raise UsageError(
            "the file list names no files"
            if by_list
            else "IN holds no files; give the folder that holds the radiographs"
        )


def refuse_no_folder(out: Path) -> None:
    """Raises UsageError where there is no folder ``out``."""
    if not out.is_dir():
        raise UsageError("OUT is no folder that is there; name the OUT of `anonymize apply`")


def refuse_no_release(out: Path) -> None:
    """Raises UsageError where ``out`` holds no finished release."""
    refuse_no_folder(out)
    if not (out / MANIFEST).is_file():
        raise UsageError(
            f"OUT holds no {MANIFEST}; name the folder of a finished release (with "
            "--require-review it is, when every picture was looked at: `anonymize review OUT`)"
        )
