"""Embeddings of many images on disk: written a batch at a time, continued after a stop.

An embedding file is a NumPy array, float32 (N, D), read through a memory map. While it is made it
has another name, and beside it stands how many rows are on the disk; so a process that is killed
costs one batch, and a file of the right name is whole.
"""

import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from anonymize import whole_file
from anonymize.errors import UsageError
from anonymize.fingerprint import fingerprint
from attacks.measuring.similarity import check_finite

BATCH = 512
Report = Callable[[int, int], None]  # rows done, rows in all


def silent(done: int, total: int) -> None:
    """Reports to nobody."""


def stored_embeddings(
    path: Path,
    embed: Callable[[np.ndarray], np.ndarray],
    *,
    shape: tuple[int, int],
    made_from: str,
    batch: int = BATCH,
    progress: Report = silent,
) -> np.ndarray:
    """The embeddings in ``path``, computed where they are not there yet.

    Args:
        path: a ``.npy`` file.
        embed: float32 (n, features) of the images of the given row numbers (n,).
        shape: images and features of the whole.
        made_from: says which images and which network; embeddings of others are made anew.
        batch: rows computed, and written to the disk, at a time.

    Returns:
        float32 (images, features), read-only, on the disk.

    Raises:
        DataError: embeddings that are not finite; nothing of their batch is kept.
        UsageError: no images, or a folder that cannot be written.
    """
    images, features = shape
    if images < 1:
        raise UsageError("there is no image to embed; name a part of the data that has some")
    target = _Target(path, made_from, shape)
    if target.holds(path, images) and target.noted() == images:
        return np.load(path, mmap_mode="r")
    with _writing(path):
        done = target.begin()
    for start in range(done, images, batch):
        rows = np.arange(start, min(start + batch, images))
        found = embed(rows)
        if found.shape != (len(rows), features):
            raise ValueError(
                f"embeddings must have shape {(len(rows), features)}, got {found.shape}"
            )
        check_finite(found)
        end = start + len(rows)
        with _writing(path):
            target.append(found, end)
        progress(end, images)
    whole_file.publish(target.partial, path)
    return np.load(path, mmap_mode="r")


class _Target:
    """The file, its unfinished predecessor, and a note of how many rows they hold."""

    def __init__(self, path: Path, made_from: str, shape: tuple[int, int]) -> None:
        self.path, self.row_bytes = path, 4 * shape[1]
        self.partial = path.with_name(f".{path.name}.partial")
        self.notes = path.with_name(f"{path.name}.json")
        self.made_from = fingerprint(made_from)
        header = io.BytesIO()
        description = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(header, description)
        self.header = header.getvalue()

    def begin(self) -> int:
        """How many rows the unfinished file has; it is made where there is none."""
        done = self.noted()
        if done and self.holds(self.partial, done):
            os.truncate(self.partial, self._size(done))
            return done
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)
        self.partial.unlink(missing_ok=True)
        whole_file.create(self.partial, self.header, 0o600)  # it tells people apart
        self._note(0)
        return 0

    def append(self, rows: np.ndarray, done: int) -> None:
        """Adds rows, so that ``done`` are there; the disk has them before this is noted."""
        with self.partial.open("ab") as file:
            file.write(np.ascontiguousarray(rows, "<f4").tobytes())
            file.flush()
            os.fsync(file.fileno())
        self._note(done)

    def noted(self) -> int:
        """Rows done of what was asked for; 0 where nothing is known of it."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            noted = json.loads(self.notes.read_text())
            if noted["made_from"] == self.made_from:
                return int(noted["rows"])
        return 0

    def holds(self, path: Path, rows: int) -> bool:
        """The file is of this shape, and so many rows are in it."""
        with suppress(OSError), path.open("rb") as file:
            same = file.read(len(self.header)) == self.header
            return same and path.stat().st_size >= self._size(rows)
        return False

    def _note(self, done: int) -> None:
        whole_file.write(self.notes, json.dumps({"made_from": self.made_from, "rows": done}))

    def _size(self, rows: int) -> int:
        return len(self.header) + rows * self.row_bytes


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"embeddings cannot be written to {path.parent} ({type(error).__name__}); "
            "free some space, or name another folder"
        ) from None
