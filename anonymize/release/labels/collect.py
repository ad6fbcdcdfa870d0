"""What ``--labels`` names: read, checked and put to images before anything is written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from anonymize.errors import DataError, UsageError
from anonymize.release.formats import OTHER_EXTENSIONS, PICTURES, SYSTEM_FILES
from anonymize.release.labels import masks, read
from anonymize.release.labels.carry import Job, MaskFile
from anonymize.release.labels.coco import Coco
from anonymize.release.labels.images import Images
from anonymize.release.labels.options import LabelOptions
from anonymize.release.labels.read import TABLES
from anonymize.release.labels.table import Table
from anonymize.release.labels.texts import hides, is_common, without_extension
from anonymize.release.places import Places
from anonymize.release.reasons import Refused
from anonymize.release.workers.worker_pool import WorkerPool

FOLDER = "labels"  # under OUT
MANIFEST = "manifest.csv"  # of the labels
KINDS = "masks (.png, .nii, .nii.gz), COCO (.json) and tables (.csv)"
ASIDE = ("readme", "license", "licence")
USUAL = PICTURES | OTHER_EXTENSIONS | {".txt", ".xml", ".yaml", ".xlsx", ".docx"}


@dataclass(frozen=True)
class Source:
    """A folder of masks, or a single file; ``name`` is its own under OUT/labels.

    ``root`` is the folder that paths of masks are relative to.
    """

    number: int
    path: Path
    name: str
    root: Path

    @property
    def where(self) -> str:
        """How an error calls it."""
        return f"--labels {self.number}"


@dataclass
class Labels:
    """All labels of a release, by the image under IN that they belong to."""

    sources: dict[int, Source] = field(default_factory=dict)
    tables: dict[int, Coco | Table] = field(default_factory=dict)  # sources written as one file
    masks: dict[str, list[MaskFile]] = field(default_factory=dict)
    parts: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    orphans: list[tuple[int, str]] = field(default_factory=list)  # source, item: no image
    hashed: bool = False

    @property
    def images(self) -> set[str]:
        return self.masks.keys() | self.parts.keys()

    def job(self, image: str) -> Job | None:
        """The labels of one image, masks read now; None where it has none."""
        if image not in self.masks and image not in self.parts:
            return None
        files, refusal = [], ""
        for file in self.masks.get(image, ()):
            if not self.hashed and hides(file.path):
                refusal = "mask: a character in its name that nobody sees, or that controls"
                continue
            try:
                root = self.sources[file.source].root
                data = read.file(root / file.path, root)
            except (OSError, Refused) as error:
                refusal = f"mask: {type(error).__name__}"
                continue
            files.append(MaskFile(file.source, file.path, file.end, data))
        return Job(tuple(files), self.parts.get(image, {}), refusal)

    def texts(self, image: str) -> list[str]:
        """What is released with the labels of an image besides numbers: classes, paths of masks."""
        found = set()
        for number, part in self.parts.get(image, {}).items():
            found |= self.tables[number].texts(part)
        if not self.hashed:
            found |= {file.path for file in self.masks.get(image, ())}
        return sorted(found)

    def path(self, file: MaskFile, output: str) -> str:
        """Where a mask is written under OUT, that belongs to the image at ``output``."""
        source = self.sources[file.source]
        folder = f"{FOLDER}/{_mask_folder(source.name)}"
        if not self.hashed:
            several = file.source in self.tables or source.root == source.path
            return f"{folder}/{file.path}" if several else folder
        inner = "".join(f"{p}/" for p in PurePosixPath(file.path).parent.parts if is_common(p))
        inner = inner if is_common(inner + file.end) else ""  # numbers of folders, too
        stem = without_extension(output)
        return f"{folder}/{inner}{stem}{file.end}{masks.suffix_of(file.path)}"


def find_sources(wanted: LabelOptions, places: Places, *, hashed: bool) -> list[Source]:
    """Folders of masks and single files; tables in a folder stand for themselves. Raises
    UsageError: what is not there, of no known kind, or in a wrong place."""
    found: list[Path] = []
    for number, given in enumerate(wanted.paths, 1):
        where = f"--labels {number}"
        if not given.exists() or given.is_symlink():
            raise UsageError(f"{where} does not exist, or is a link; give a file or a folder")
        path = given.resolve()
        for name, other in (("OUT", places.out), ("the private folder", places.private)):
            if path.is_relative_to(other) or other.is_relative_to(path):
                raise UsageError(f"{where} and {name} must not lie in one another; move one")
        if path.is_file():
            if not masks.suffix_of(path.name) and path.suffix.lower() not in TABLES:
                raise UsageError(f"{where} is of no kind that is known: {KINDS}")
            found.append(path)
            continue
        files = _walk(path, where)
        if not files:
            raise UsageError(f"{where} holds no labels; known are {KINDS}")
        if any(masks.suffix_of(file.name) for file in files):
            found.append(path)
        found += [file for file in files if file.suffix.lower() in TABLES]
    sources = [
        Source(i, path, _name(i, path, hashed), path if path.is_dir() else path.parent)
        for i, path in enumerate(found, 1)
    ]
    names = [name.casefold() for s in sources for name in {s.name, _mask_folder(s.name)}]
    if len(set(names)) < len(names) or MANIFEST in names:
        raise UsageError(f"two of --labels have the same name, or {MANIFEST}; rename one")
    return sources


def _name(number: int, path: Path, hashed: bool) -> str:
    """Its own where that is common words or a letter: any other might be somebody's name. That of
    a single mask is looked at with its image."""
    stem = without_extension(path.name) if path.is_file() else path.name
    looked_at = path.is_file() and masks.suffix_of(path.name)
    if not hashed and (looked_at or len(stem) == 1 or is_common(stem)):
        return path.name
    suffix = path.suffix.lower()
    return f"{TABLES[suffix].kind}-{number}{suffix}" if suffix in TABLES else f"masks-{number}"


def _mask_folder(name: str) -> str:
    """Where the masks of a source are, under OUT/labels; a table's lie beside it."""
    pure = PurePosixPath(name)
    return f"{pure.stem}-masks" if pure.suffix.lower() in TABLES else name


def collect(
    sources: list[Source],
    columns: tuple[str, ...],
    inputs: list[str],
    places: Places,
    pool: WorkerPool,
    *,
    hashed: bool,
) -> Labels:
    """The labels in ``sources`` of the images ``inputs``; ``columns`` of tables to keep. Raises
    UsageError, DataError: what cannot be read, lies among the images, or could belong to several of
    them. The message quotes no name and no value."""
    labels, images = Labels(hashed=hashed), Images(inputs)
    for source in sorted(sources, key=lambda s: s.path.is_dir()):  # tables first
        labels.sources[source.number] = source
        if source.path.suffix.lower() in TABLES and source.path.is_file():
            found = read.table(source.path, source.number, columns, pool)
            labels.tables[source.number] = found
            _add_table(labels, found, images, source.where)
        else:
            _add_masks(labels, source, inputs, places, images)
    _check_columns(labels, columns)
    if hashed:
        _check_hashed(labels)
    return labels


def _check_columns(labels: Labels, columns: tuple[str, ...]) -> None:
    """Raises UsageError for a column that is asked for, and which no table has as a class."""
    tables = (found for found in labels.tables.values() if isinstance(found, Table))
    there = {name for found in tables for name in found.classes}
    for number, name in enumerate(columns, 1):
        if name not in there:
            raise UsageError(
                f"--label-column {number} names no column of a table of --labels that could be a "
                "class; see their headers, or leave it out"
            )


def refuse_inside(inputs: Iterable[str]) -> None:
    """Raises UsageError where an output would lie among the labels."""
    if any(f"{path}/".casefold().startswith(f"{FOLDER}/") for path in inputs):
        raise UsageError(
            f"IN holds a folder or file {FOLDER}, where OUT keeps the labels; rename it"
        )


def _walk(root: Path, where: str) -> list[Path]:
    """The label files below a folder. Whatever is not known is an error, not a loss."""

    def unlisted(error: OSError) -> None:
        raise UsageError(f"{where} holds a folder that cannot be opened; make it readable")

    files = []
    for folder, folders, names in os.walk(root, onerror=unlisted):
        folders.sort()
        if any(Path(folder, name).is_symlink() for name in (*folders, *names)):
            raise UsageError(f"{where} holds a link; links are never followed")
        for name in sorted(names):
            suffix = PurePosixPath(name).suffix.lower()
            if name.lower() in SYSTEM_FILES or name.lower().startswith(ASIDE):
                continue
            if not masks.suffix_of(name) and suffix not in TABLES:
                # What stands behind the last dot may be half of somebody's name.
                kind = f"the kind {suffix}" if suffix in USUAL else "another kind"
                raise UsageError(
                    f"{where} holds a file of {kind}; known are {KINDS}: move the others away"
                )
            files.append(Path(folder, name))
    return files


def _add_masks(
    labels: Labels, source: Source, inputs: list[str], places: Places, images: Images
) -> None:
    where, path = source.where, source.path
    if any((places.root / image).is_relative_to(path) for image in inputs):
        raise UsageError(
            f"{where} lies in IN: its masks would be released as radiographs; "
            "give the folder that holds nothing but images as IN"
        )
    in_tables = {
        labels.sources[f.source].root / f.path
        for files in labels.masks.values()
        for f in files
        if f.source in labels.tables
    }
    for file in _walk(path, where) if path.is_dir() else [path]:
        if masks.suffix_of(file.name) and file not in in_tables:
            own = file.relative_to(source.root).as_posix()
            found = images.of_mask(own, where)
            if found is None:
                labels.orphans.append((source.number, own))
                continue
            image, end = found
            labels.masks.setdefault(image, []).append(MaskFile(source.number, own, end))


def _add_table(labels: Labels, source: Coco | Table, images: Images, where: str) -> None:
    keys: dict[str, list[int]] = {}
    for key, reference in source.references():
        image = images.named(reference, where)
        if image is None:
            labels.orphans.append((source.number, source.item(source.labels_of([key]))))
        else:
            keys.setdefault(image, []).append(key)
    owners: dict[str, str] = {}
    for image, found in keys.items():
        part = source.labels_of(found)
        labels.parts.setdefault(image, {})[source.number] = part
        for count, own in enumerate(source.mask_paths(part), 1):
            pure = PurePosixPath(own)
            if pure.is_absolute() or ".." in pure.parts or not masks.suffix_of(own):
                raise DataError(
                    f"{where}: mask files must lie beside the table or below, as .png, .nii or "
                    ".nii.gz; give relative paths"
                )
            if owners.setdefault(str(pure), image) != image:
                raise DataError(f"{where}: a mask file belongs to one image; one has several")
            file = MaskFile(source.number, str(pure), f"-{count}")
            labels.masks.setdefault(image, []).append(file)


def _check_hashed(labels: Labels) -> None:
    """Nothing but words for masks and organs behind a hashed name, and no two of one name."""
    for files in labels.masks.values():
        if len({labels.path(f, "x") for f in files}) != len(files):
            raise DataError(
                "with --names hashed, two masks of one image would have the same name; name them "
                "for what they show (_lungs, _heart), or list them in a table (path, mask, label)"
            )
        for file in files:
            if file.source not in labels.tables and not is_common(file.end):
                raise DataError(
                    f"--labels {file.source}: with --names hashed, what follows an image's name in "
                    "the name of its mask must be common words (mask, lungs, heart, left, ...) and "
                    "one number of two digits at most; rename, or list the masks in a table (path, "
                    "mask, label)"
                )
