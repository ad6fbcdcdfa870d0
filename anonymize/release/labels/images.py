"""Which image a label belongs to, told by paths alone.

A reference is compared with the paths under IN, then with the base names; extensions may differ.
The folders that a table gives must be the image's as far as both have some: ``b/1.png`` is of
another patient than ``a/1.png``. A mask lies in whatever folder, and may carry something behind the
image's name: ``a/b_lungs.png`` belongs to ``a/b.jpg``.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from anonymize.errors import DataError
from anonymize.release.formats import PICTURES
from anonymize.release.labels.texts import without_extension

PARTING = re.compile(r"[_\-. ]")


class Images:
    """The images under IN by their paths, their stems, base names and base names' stems."""

    def __init__(self, paths: list[str]) -> None:
        self._found: tuple[dict[str, list[str]], ...] = ({}, {}, {}, {})
        for path in paths:
            extension = PurePosixPath(path).suffix.lower()
            if not extension or extension in PICTURES or extension[1:].isdigit():
                for table, key in zip(self._found, _keys(path), strict=True):
                    table.setdefault(key, []).append(path)

    def named(self, reference: str, where: str) -> str | None:
        """The image that a table means by ``reference``; None where there is none. Raises
        DataError: several images could be meant; the message tells ``where``, not which."""
        path = reference.replace("\\", "/").removeprefix("./")
        for table, key in zip(self._found, _keys(path), strict=True):
            if found := [image for image in table.get(key, ()) if _agree(image, path)]:
                return _one(found, where)
        return None

    def of_mask(self, path: str, where: str) -> tuple[str, str] | None:
        """(image, what the mask's name has behind the image's) of a mask's path. Raises DataError:
        several images could be meant."""
        stem = without_extension(path)
        for table, whole in ((self._found[1], stem), (self._found[3], PurePosixPath(stem).name)):
            for end in (len(whole), *(m.start() for m in reversed([*PARTING.finditer(whole)]))):
                if found := table.get(whole[:end]):
                    return _one(found, where), whole[end:]
        return None


def _one(found: list[str], where: str) -> str:
    if len(found) > 1:
        raise DataError(
            f"{where}: {len(found)} images could be meant; "
            "give the path under IN, and images different names"
        )
    return found[0]


def _agree(image: str, path: str) -> bool:
    """Whether two paths lie in equal folders, from the innermost on, as far as both have some."""
    folders = (PurePosixPath(one).parts[-2::-1] for one in (image, path))
    return all(own == other for own, other in zip(*folders, strict=False))


def _keys(path: str) -> tuple[str, str, str, str]:
    """Path, its stem, base name, its stem; only the extension of a picture is one ("1.2.840")."""
    extension = PurePosixPath(path).suffix
    stem = path[: len(path) - len(extension)] if extension.lower() in PICTURES else path
    return path, stem, PurePosixPath(path).name, PurePosixPath(stem).name
