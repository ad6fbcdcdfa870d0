"""Objects that were received and are not settled yet: whole files in a private folder.

An object is a file ``UID.dcm``, named by its SOP Instance UID. Other content under a UID that came
before is ``UID-sha256.dcm``, and is never released.
"""

import hashlib
import re
import shutil
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from anonymize.errors import UsageError
from anonymize.fingerprint import sha256_file
from anonymize.folder_lock import LOCK
from anonymize.receive.options import SpoolOptions
from anonymize.release import storage
from anonymize.release.archives import Found
from anonymize.release.reasons import Reason
from anonymize.whole_file import TEMPORARY

LONGEST_UID = 64
UID = re.compile(r"[0-9]+(?:\.[0-9]+)+")  # PS3.5 9.1; zeros in front are met, and taken
NAME = re.compile(rf"(?P<uid>{UID.pattern})(?P<other>-[0-9a-f]{{64}})?\.dcm")


class Full(Exception):
    """There is no room for now; the sender may come again."""


class Spool:
    """The folder and what is known of its objects; safe for several threads."""

    def __init__(
        self,
        folder: Path,
        options: SpoolOptions,
        journalled: Mapping[str, str],
        disks: Sequence[Path] = (),
    ) -> None:
        """Takes up what an earlier node left there.

        Args:
            journalled: sha256 of every object that a journal accounts for, by its name.
            disks: further folders whose disks must not fill up.

        Raises:
            UsageError: the folder holds anything else.
        """
        self.folder, self._options, self._disks = folder, options, (folder, *disks)
        self._lock = threading.Lock()
        self._known: dict[str, str | None] = {}
        for name, digest in journalled.items():
            self._account(name, digest)
        self._sizes: dict[str, int] = {}
        for path in sorted(folder.iterdir()):
            if path.name.startswith(TEMPORARY):  # its sender was never told that it is here
                path.unlink()
            elif path.name != LOCK:
                if not NAME.fullmatch(path.name) or path.is_symlink() or not path.is_file():
                    raise UsageError("--spool holds files that no node put there; name another")
                self._sizes[path.name] = path.stat().st_size
                self._known[path.name] = None  # read when it is asked for
        self._waiting = deque(self._sizes)

    def put(self, uid: str, data: bytes) -> bool:
        """Keeps an object; it is on the disk when this returns. False where it came before.

        Raises:
            Full: it would be too many, too large, or leave too little of a disk free.
            OSError: it cannot be written.
        """
        digest = hashlib.sha256(data).hexdigest()
        with self._lock:
            name = f"{uid}.dcm"
            if name in self._known and self._digest(name) != digest:
                name = f"{uid}-{digest}.dcm"
            if name in self._known:
                return False
            self._check_room(len(data))
            storage.write_whole(self.folder / name, data, mode=0o600)
            self._known[name], self._sizes[name] = digest, len(data)
            self._waiting.append(name)
        return True

    def take(self, most: int) -> list[Found]:
        """The next objects to release, at most so many; each is given once."""
        with self._lock:
            return [found(self._waiting.popleft()) for _ in range(min(most, len(self._waiting)))]

    def settled(self, name: str, digest: str) -> None:
        """Removes an object whose fate is journalled, with its sha256; it stays known."""
        with self._lock:
            self._account(name, digest)
            storage.remove(self.folder / name)
            self._sizes.pop(name, None)

    def __len__(self) -> int:
        """Number of objects that are not settled."""
        return len(self._sizes)

    def _account(self, name: str, digest: str) -> None:
        """An object that is known by its name or sha256; one that was gone before it was read is
        taken again."""
        self._known.pop(name, None)
        if digest or found(name).refusal:
            self._known[name] = digest

    def _digest(self, name: str) -> str:
        known = self._known[name]
        if known is None:
            known = self._known[name] = sha256_file(self.folder / name)
        return known

    def _check_room(self, size: int) -> None:
        options = self._options
        if len(self._sizes) >= options.files or sum(self._sizes.values()) + size > options.size:
            raise Full
        if any(shutil.disk_usage(disk).free - size < options.spare for disk in self._disks):
            raise Full


def is_uid(text: str) -> bool:
    """Whether it is a UID, and so fit for a file's name."""
    return len(text) <= LONGEST_UID and UID.fullmatch(text) is not None


def found(name: str) -> Found:
    """An object as an input of a release."""
    match = NAME.fullmatch(name)
    assert match is not None  # every name was made, or looked at, before
    if match["other"]:
        return Found(name, Reason.INSTANCE, "other content came before under its UID")
    return Found(name, instance=match["uid"])
