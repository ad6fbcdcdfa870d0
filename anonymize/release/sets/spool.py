"""Pictures that wait in the private folder until all are read: one file each, whole or not there.

A file holds what is known of an image and its gray levels of 16 bits (:mod:`plain`): what is
anonymous only once it is mixed with others, so the folder goes when the release is whole.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import cv2
import numpy as np
import torch
from torch import Tensor

from anonymize.release import listing, storage
from anonymize.release.burned_in.options import TextReport
from anonymize.release.intake import Candidate
from anonymize.release.radiograph import MAX_BYTES, Radiograph
from anonymize.release.records.tables import sheet_of
from anonymize.release.workers import plain

FOLDER = "spool"  # in the private folder
TOP = (1 << 16) - 1
KIND = "<u2"
SKETCH = 32  # pixels along a side


@dataclass(frozen=True)
class Spooled:
    """An image that waits. ``digest`` is the sha256 of its gray levels, ``sketch`` what it looks
    like (float16, of mean 0 and length 1, or all 0), ``patient`` the pseudonym of whom its header
    names."""

    path: str
    sha256: str
    patient: str
    words: frozenset[bytes]
    text: TextReport | None
    digest: str
    sketch: bytes

    @classmethod
    def of(cls, candidate: Candidate) -> Self:
        assert candidate.radiograph is not None
        digest = hashlib.sha256(_stored(candidate.radiograph).tobytes()).hexdigest()
        known = candidate.path, candidate.sha256, candidate.patient, candidate.words
        return cls(*known, candidate.text, digest, _sketch(candidate.radiograph))


class Spool:
    """The images of a release that wait, squares of ``size`` pixels, below ``private``."""

    def __init__(self, private: Path, size: int) -> None:
        self._private, self._size = private, size

    def holds(self, path: str, sha256: str) -> bool:
        """True where this very file was put there before."""
        try:
            image, pixels = self._read(path)
            return image.sha256 == sha256 and pixels.shape == (self._size, self._size)
        except (OSError, ValueError, TypeError, AttributeError):
            return False

    def add(self, candidate: Candidate) -> None:
        """Puts a picture there, and what was seen of its text beside the others of the release."""
        assert candidate.radiograph is not None
        if candidate.sheet is not None:
            sheet = self._private / sheet_of(candidate.path)
            storage.write_whole(sheet, candidate.sheet, mode=0o600)
        data = plain.written((Spooled.of(candidate), _stored(candidate.radiograph)))
        storage.write_whole(self._file(candidate.path), data, mode=0o600)

    def image(self, path: str) -> Spooled:
        """What is known of an image that is there."""
        return self._read(path)[0]

    def gray(self, path: str) -> np.ndarray:
        """uint16 (H, W) of an image that is there."""
        return self._read(path)[1]

    def clear(self) -> None:
        folder = self._private / FOLDER
        for path in listing.output_files(folder):
            storage.remove(folder / path)
        if folder.is_dir():
            folder.rmdir()

    def _file(self, path: str) -> Path:
        return self._private / FOLDER / hashlib.sha256(os.fsencode(path)).hexdigest()

    def _read(self, path: str) -> tuple[Spooled, np.ndarray]:
        image, pixels = plain.read(storage.read_regular(self._file(path), MAX_BYTES)[0])
        return image, pixels


def _stored(radiograph: Radiograph) -> np.ndarray:
    """The gray levels of a gray radiograph (H, W)."""
    return radiograph.pixels[..., 0].astype(KIND)


def _sketch(radiograph: Radiograph) -> bytes:
    small = cv2.resize(
        radiograph.pixels[..., 0].astype(np.float32), (SKETCH, SKETCH), interpolation=cv2.INTER_AREA
    )
    small -= small.mean()
    return (small / (np.linalg.norm(small) or 1)).astype(np.float16).tobytes()


class SpooledImages:
    """Images for a method, read from the disk when they are asked for; one a path."""

    def __init__(self, spool: Spool, paths: Sequence[str], size: int) -> None:
        self._spool, self._paths, self._size = spool, list(paths), size

    def __len__(self) -> int:
        return len(self._paths)

    def batch(self, rows: np.ndarray) -> Tensor:
        """float32 (n, 1, H, W) in [0, 1]."""
        made = np.empty((len(rows), 1, self._size, self._size), np.float32)
        for place, row in enumerate(rows):
            made[place, 0] = self._spool.gray(self._paths[row]).astype(np.float32) / np.float32(TOP)
        return torch.from_numpy(made)
