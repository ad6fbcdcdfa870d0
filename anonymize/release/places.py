"""Where a release reads and writes, checked before anything is touched; its secret; the name of an
output: the input's own, or a keyed hash of it.
"""

import hashlib
import hmac
import os
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Self

from anonymize.errors import UsageError
from anonymize.key_files import key_id, made_secret, read_secret
from anonymize.release.formats import EXTENSIONS, PICTURES
from anonymize.release.machines.object_store import Objects

MANIFEST = "manifest.csv"
SIGNATURE = "manifest.sig"
# Of methods that make each output of several images.
CERTIFICATE, PAGE, LABELS = SET_FILES = "certificate.json", "certificate.md", "labels.csv"
NOWHERE = Path(os.devnull)  # what has no files
KEY = "secret.key"  # in the private folder, unless another file is named


@dataclass(frozen=True)
class Places:
    """Absolute paths of one release. ``root`` is IN, or the folder of the single file IN; nothing
    where IN are ``objects``."""

    root: Path
    single: str | None
    out: Path
    private: Path
    objects: Objects | None = None

    @property
    def source(self) -> Path:
        return self.root if self.single is None else self.root / self.single

    @property
    def named(self) -> str:
        """IN, as the journal names it."""
        return str(self.source if self.objects is None else self.objects)

    def public(self, *, by_list: bool) -> dict[str, Path]:
        """Folders that others read, by what the user calls them: no place for a secret."""
        alone = by_list or self.objects is not None
        return {"OUT": self.out} if alone else {"IN": self.source, "OUT": self.out}


def private_beside(out: Path) -> Path:
    """The private folder of ``out``, where no other is named."""
    return out.parent / f"{out.name}-private"


def find_places(
    source: Path | Objects, out: Path, private: Path | None, *, by_list: bool = False
) -> Places:
    """Raises UsageError for a missing IN, or folders that lie in one another.

    ``by_list``: the inputs are listed, so OUT and the private folder may lie in IN.
    """
    objects = source if isinstance(source, Objects) else None
    if objects is not None and by_list:
        raise UsageError("--files-from names files of a folder; give a longer prefix as IN")
    if isinstance(source, Objects):
        source = NOWHERE
    elif not source.exists():
        raise UsageError("IN does not exist; give a folder of radiographs, or one file")
    source, out = source.resolve(), out.resolve()
    private = (private or private_beside(out)).resolve()
    named = {"IN": source, "OUT": out, "the private folder": private}
    for first, a in named.items():
        for second, b in named.items():
            if by_list and first == "IN" and a in b.parents:
                continue
            if first < second and (a == b or a in b.parents or b in a.parents):
                way = "another OUT" if second == "OUT" else "another OUT, or --private DIR"
                raise UsageError(
                    f"{first} and {second} must not be the same or lie in one another; choose {way}"
                )
    for name, path in (("OUT", out), ("the private folder", private)):
        above = next(p for p in (path, *path.parents) if p.exists())
        if not above.is_dir():
            raise UsageError(f"{name} must be a folder, and is a file or in one; choose another")
    if objects is not None or source.is_dir():
        return Places(source, None, out, private, objects)
    if by_list:
        raise UsageError("IN must be the folder that the file list is relative to")
    return Places(source.parent, source.name, out, private)


@dataclass(frozen=True)
class Naming:
    """How outputs are named: as the inputs, or ``hashed`` with the secret in ``file``.

    The secret is also that of DICOM's pseudonyms and dates. It is None until there is one.
    """

    file: Path
    hashed: bool = False
    secret: bytes | None = None

    def name(self, path: str, format: str) -> str:
        """The path under OUT for ``path`` under IN, a file of ``format``.

        Hashed: HMAC-SHA256 of the relative path, all in one folder, since folders would tell
        which images belong together. The extension is the input's where it is a usual one, else
        the format's.
        """
        if not self.hashed:
            return path
        assert self.secret is not None  # a release makes it before it writes
        digest = hmac.new(self.secret, os.fsencode(path), hashlib.sha256).hexdigest()
        extension = PurePosixPath(path).suffix.lower()
        return digest + (extension if extension in PICTURES else EXTENSIONS[format][0])

    @property
    def key_id(self) -> str:
        """Tells keys apart without telling the key; "" for none."""
        return "" if self.secret is None else key_id(self.secret)

    def with_secret(self) -> Self:
        """The same, with a new random secret in ``file`` (mode 0600) where one is missing. Raises
        UsageError, OSError: as :func:`made_secret`."""
        if self.secret is not None:
            return self
        return replace(self, secret=made_secret(self.file, "--key-file"))


def refuse_public(key: Path, option: str, folders: dict[str, Path]) -> None:
    """Raises UsageError for a secret in one of ``folders``, which are named as users do."""
    file = key.expanduser().resolve()
    for name, folder in folders.items():
        if folder == file or folder in file.parents:
            raise UsageError(f"{option} must not lie in {name}, where others may read it")


def find_naming(
    key_file: Path | None, *, hashed: bool, folders: dict[str, Path], private: Path
) -> Naming:
    """How outputs are named; the key is read where there is one. Raises UsageError: a key in one of
    ``folders``, or not readable."""
    file = (key_file or private / KEY).resolve()
    refuse_public(file, "--key-file", folders)
    secret = read_secret(file, "--key-file", private=False)
    if secret is None and key_file is not None and not file.parent.is_dir():
        raise UsageError("the folder of --key-file does not exist; make it first")
    return Naming(file, hashed, secret)
