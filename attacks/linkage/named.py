"""Where images lie that a user names: a file, a folder, or a data set as ``source:root``."""

from pathlib import Path

from anonymize.data.sources.registry import SOURCES
from anonymize.errors import UsageError
from anonymize.release.places import MANIFEST


def places(given: str) -> Path | None:
    """Where the images lie; None where they are drawn."""
    source, colon, root = given.partition(":")
    if colon and source in SOURCES:
        return Path(root).expanduser().resolve() if root else None
    return Path(given).resolve()


def apart(first: str, second: str) -> None:
    """Raises UsageError where A and B are, or lie in, one another: they would share images."""
    a, b = places(first), places(second)
    if a and b and (a == b or a in b.parents or b in a.parents):
        raise UsageError(
            "A and B must not be the same or lie in one another: every image would be found again; "
            "give two folders that lie apart"
        )


def refuse_missing(given: str, argument: str) -> None:
    """Raises UsageError, which names the ``argument``, where no such file or folder is there."""
    place = places(given)
    if place is not None and not place.exists():
        raise UsageError(
            f"{argument} must be an image, a folder or source:root (a source is one of "
            f"{', '.join(SOURCES)}), and there is no such file or folder"
        )


def refuse_inside(out: Path, given: str, argument: str, *, option: str = "--out") -> None:
    """Raises UsageError, which names the ``argument`` and the ``option``, where ``out`` lies in its
    folder: private files would go on with a release, and their pictures be taken for some of it the
    next time."""
    place, folder = places(given), out.expanduser().resolve()
    if place is not None and (place == folder or place in folder.parents):
        raise UsageError(
            f"{option} must not lie in {argument}: private pictures and names would lie among its "
            "files; choose another"
        )


def refuse_no_release(real: str, released: Path) -> None:
    """Raises UsageError where the folder of the release is none, or that of the real images, or
    these lie in it."""
    if not released.is_dir():
        raise UsageError("RELEASED must be the folder of a release, and is none")
    place = places(real)
    if place and place.is_relative_to(released.resolve()):
        raise UsageError(
            "REAL must not be RELEASED, or lie in it: every file would be found again; give the "
            "real images, which were released"
        )
    if place and (place / MANIFEST).is_file() and not (released / MANIFEST).exists():
        raise UsageError(
            f"REAL holds the {MANIFEST} of a release, and RELEASED holds none: give the real "
            "images first"
        )
