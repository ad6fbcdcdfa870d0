"""A file of JSON objects, one a line, that only grows; each is on the disk before it counts."""

import json
import os
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Any

from anonymize.errors import UsageError
from anonymize.release import storage


class JsonLines:
    """The lines at ``path``; a half one at its end was never written, and is overwritten."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._whole = 0  # bytes of the file that are complete lines
        self._stream: FileIO | None = None

    def lines(self) -> Iterator[dict[str, Any]]:
        """The lines that are there; ValueError where one is no JSON."""
        self._whole = 0
        if not self.path.exists():
            return
        with self.path.open("rb") as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    return
                self._whole += len(line)
                yield json.loads(line)

    def open(self) -> None:
        """Opens the file, mode 0600, behind the last whole line that was read. Raises UsageError:
        it is a link."""
        if self.path.is_symlink():
            raise UsageError("the journal in the private folder is a link; put the file there")
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        self._stream = os.fdopen(descriptor, "r+b", buffering=0)
        self._stream.truncate(self._whole)
        self._stream.seek(self._whole)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()

    def _append(self, content: dict[str, Any]) -> None:
        line = json.dumps(content, sort_keys=True).encode() + b"\n"
        assert self._stream is not None  # open
        start = self._stream.tell()
        try:
            if self._stream.write(line) != len(line):
                raise storage.StorageError("No space left on device")
            os.fsync(self._stream.fileno())
        except BaseException:  # what is appended next must begin a line
            self._stream.truncate(start)
            self._stream.seek(start)
            raise
