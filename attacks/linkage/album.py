"""Radiographs that a user names: a file, a folder of files, or a data set as ``source:root``.

Files are DICOM, PNG, JPEG and TIFF, and are read as `anonymize apply` reads them: upright, through
the first window of a DICOM file. In a folder that `anonymize apply` wrote they are those of its
manifest, and whatever else lies there and may be an image.
"""

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anonymize.data.cache import prepare
from anonymize.data.cached_images import ImageCache
from anonymize.data.skipped import problems_listed
from anonymize.data.sources.listing import ImageError, build
from anonymize.data.sources.registry import SOURCES, read
from anonymize.data.table import Table
from anonymize.errors import UsageError
from anonymize.fingerprint import sha256_file
from anonymize.options import DataOptions
from anonymize.release.labels import collect
from anonymize.release.listing import walk
from anonymize.release.places import MANIFEST, private_beside
from anonymize.release.records import manifests
from anonymize.release.records.tables import MAP
from attacks.attackers.format import facts
from attacks.linkage.any_file import is_candidate, load_any
from attacks.linkage.embeddings import Report, silent
from attacks.linkage.named import refuse_missing

LABELS = f"{collect.FOLDER}/{collect.MANIFEST}"
FILES = "images"  # source of what is no data set


@dataclass(frozen=True)
class Album:
    """Images, decoded and resized, and what is known of whom they show. ``table``: one row an
    image; ``image_id`` is the path below what the user named."""

    table: Table
    images: ImageCache

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def names(self) -> np.ndarray:
        """(N,) text: which image, below what the user named."""
        return self.table.frame["image_id"].to_numpy(str)

    @cached_property
    def identified(self) -> np.ndarray:
        """bool (N,): it is known whom the image shows."""
        return self.table.frame["identified"].to_numpy(bool)

    @cached_property
    def patients(self) -> np.ndarray:
        """(N,) text: the patient's id; "" where nobody knows it."""
        return np.where(self.identified, self.table.frame["patient_id"].to_numpy(str), "")

    @cached_property
    def people(self) -> np.ndarray:
        """int64 (N,): equal for images of one patient; an image of nobody known is a person."""
        who = np.where(self.identified, "p" + self.patients, np.char.add("i", self.names))
        return np.unique(who, return_inverse=True)[1]

    @cached_property
    def file_sizes(self) -> list[tuple[int, int]]:
        """Height and width of each file in its own pixels; of an image that is drawn, its size."""
        found = []
        for path in self.table.frame["path"]:
            size: Any = facts(path)[0] if path else (self.images.size,) * 2
            found.append((size[1], size[0]))
        return found

    @property
    def key(self) -> str:
        """Says which images these are, at which size."""
        return f"{self.images.path.stem} {len(self)}"


def open_album(
    given: str | Sequence[str],
    options: DataOptions,
    *,
    argument: str,
    progress: Report = silent,
    but: Sequence[Path] = (),
) -> Album:
    """The images of a file, folder or ``source:root``, or of several files and folders.

    Args:
        options: size, cache, workers and ``on_missing``; its source and root do not count.
        argument: what the user calls them, for the errors.
        but: folders below a folder whose files do not count; a data set has its own list.

    Raises:
        UsageError: nothing there, or no images in it; unreadable ones unless they are skipped.
    """
    texts = [given] if isinstance(given, str) else list(given)
    source, _, root = texts[0].partition(":")
    known = len(texts) == 1 and source in SOURCES and ":" in texts[0]
    where = {"source": source, "root": Path(root) if root else None}
    own = options.model_copy(update=where if known else {"source": FILES, "root": None})
    with problems_listed(own):
        try:
            paths = [Path(text) for text in texts]
            table = read(own) if known else _listed(paths, own, argument, but)
            return Album(*prepare(table, own, progress))
        except ImageError as error:
            raise ImageError(argument, error.total, error.images) from None


def open_both(
    given: Mapping[str, str | Sequence[str]], options: DataOptions, progress: Report = silent
) -> tuple[Album, Album]:
    """Two of them, by what the user calls each; as :func:`open_album`."""
    first, second = (
        open_album(place, options, argument=name, progress=progress)
        for name, place in given.items()
    )
    return first, second


def contents_of(arguments: Iterable[str], *albums: Album) -> dict[str, str]:
    """Fingerprints of what albums hold, by what the user calls them."""
    return {a: album.table.fingerprint for a, album in zip(arguments, albums, strict=True)}


def _listed(
    paths: Sequence[Path], options: DataOptions, argument: str, but: Sequence[Path]
) -> Table:
    found: dict[str, Path] = {}
    for path in paths:
        refuse_missing(str(path), argument)
        inside = _below(path) if path.is_dir() else [path]
        for other in but:
            if other.resolve().is_relative_to(path.resolve()):
                below = path / other.resolve().relative_to(path.resolve())
                inside = [file for file in inside if below not in file.parents]
        if not inside:
            raise UsageError(
                f"{argument} holds no image; give a folder with DICOM, PNG, JPEG or TIFF files"
            )
        for file in inside:
            name = file.relative_to(path).as_posix() if path.is_dir() else file.name
            found[name if name not in found else str(file)] = file
    root = Path(os.path.commonpath([file.absolute() for file in found.values()]))
    listing = pd.DataFrame({"image_id": list(found), "path": [str(p) for p in found.values()]})
    listing = listing.assign(patient_id=listing["image_id"], identified=False)
    meaning: dict[str, object] = {"root": str(root), "reader": "any file"}
    table = build(listing, options, labels=(), root=root, meaning=meaning)
    return replace(table, load=load_any)


def is_release(folder: Path) -> bool:
    """Whether `anonymize apply` wrote it: it has a manifest, sound or not, or its private folder
    lies beside it."""
    beside = private_beside(folder.resolve())
    return os.path.lexists(folder / MANIFEST) or (beside / MAP).is_file()


def unlisted(folder: Path) -> list[Path] | None:
    """Files of a release that may be images, hidden ones too, and that its manifest does not name:
    somebody put them there. None: nobody knows, for it has no manifest that can be read."""
    named = _named(folder)
    if named is None:
        return None
    return _pictures(folder, but={*named, *_labels(folder, named)}, hidden=True)


def changed(folder: Path) -> int:
    """How many images of a release have another content than its manifest says: whose they are,
    nobody knows. Those that are gone, or links, are no images."""
    return sum(
        path.is_file() and not path.is_symlink() and sha256_file(path) != digest
        for path, digest in (_named(folder) or {}).items()
    )


def _below(folder: Path) -> list[Path]:
    """The files of a release, by its manifest, also those that are gone, and what it does not name;
    of any other folder all that may be images, and those below it, hidden ones left out."""
    if (named := _named(folder)) is not None:
        return [*named, *(unlisted(folder) or ())]
    return _pictures(folder, hidden=is_release(folder))


def _named(folder: Path) -> dict[Path, str] | None:
    """The images that the manifest of a release names, and their sha256; None where it cannot be
    read, or names none."""
    try:
        with (folder / MANIFEST).open("rb") as stream:
            rows = manifests.images(stream, counted=lambda first, number: None)
            return {folder / row.output: row.sha256 for row in rows} or None
    except (OSError, manifests.ManifestError):
        return None


def _labels(folder: Path, images: Iterable[Path]) -> list[Path]:
    """The labels that a release names; none where their table cannot be read."""
    outputs = {path.relative_to(folder).as_posix() for path in images}
    try:
        with (folder / LABELS).open("rb") as stream:
            return [folder / row.output for row in manifests.labels(stream, outputs)]
    except (OSError, manifests.ManifestError):
        return []


def _pictures(folder: Path, but: Container[Path] = (), *, hidden: bool = False) -> list[Path]:
    """What may be an image below a folder, in order of its name; links that lead to no file, and
    folders that cannot be listed, are counted, as files that cannot be read."""
    return sorted(
        path
        for path in (folder / found.path for found in walk(folder))
        if path not in but
        and (hidden or not any(p.startswith(".") for p in path.relative_to(folder).parts))
        and is_candidate(path)
    )


def only_image(album: Album, argument: str) -> Album:
    """The album, which holds one image. Raises UsageError: it holds several."""
    if len(album) != 1:
        raise UsageError(
            f"{argument} must be one image, got {len(album):,}; `attacks retrieve` and "
            "`attacks overlap` compare many"
        )
    return album
