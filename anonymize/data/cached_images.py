"""The images of a table from its HDF5 cache, by row, in any order."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np

if TYPE_CHECKING:
    import torch

IN_MEMORY = 2**30


@dataclass(eq=False)
class ImageCache:
    """The images of a table, by row.

    It may be pickled, and used after a fork: each process opens the file for itself.
    """

    path: Path  # the complete HDF5 file
    slots: np.ndarray  # int64, the entry of each table row in the file
    depths: np.ndarray  # uint8, 8 or 16 for each table row
    size: int  # side of the images in pixels
    limit: int = IN_MEMORY  # bytes up to which all are held in memory from the first use on
    _memory: np.ndarray | None = field(default=None, init=False, repr=False)
    _file: h5py.File | None = field(default=None, init=False, repr=False)
    _pid: int = field(default=-1, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.slots)

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__ | {"_memory": None, "_file": None, "_pid": -1}

    @property
    def dtype(self) -> np.dtype:
        """uint16 if any image has 16 bits, else uint8."""
        return np.dtype(np.uint16 if (self.depths == 16).any() else np.uint8)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(n, H, W)."""
        return len(self), self.size, self.size

    @property
    def nbytes(self) -> int:
        """Of all images together."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def array(self, rows: np.ndarray) -> np.ndarray:
        """The images of the rows in their order, repeats allowed: (n, H, W), :attr:`dtype`.

        Images of 8 bits among such of 16 are scaled to the full range.
        """
        rows = np.asarray(rows, np.int64).reshape(-1)
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self):
            raise IndexError(f"rows must lie in 0 … {len(self) - 1}")
        if self._memory is None and self.nbytes <= self.limit:
            self._memory = self._read(np.arange(len(self)))
        if self._memory is not None:
            return self._memory[rows]
        unique, places = np.unique(rows, return_inverse=True)
        return self._read(unique)[places]

    def batch(self, rows: np.ndarray) -> torch.Tensor:
        """The images of the rows in their order: float32 (n, 1, H, W) in [0, 1]."""
        import torch

        pixels = self.array(rows).astype(np.float32)
        pixels /= np.iinfo(self.dtype).max
        return torch.from_numpy(pixels).unsqueeze(1)

    def _read(self, rows: np.ndarray) -> np.ndarray:
        file = self._open()
        out = np.empty((len(rows), self.size, self.size), self.dtype)
        for depth in (8, 16):
            images = file[f"gray{depth}"]
            for i in np.flatnonzero(self.depths[rows] == depth):
                images.read_direct(out, np.s_[self.slots[rows[i]]], np.s_[i])
            if depth == 8 and out.dtype == np.uint16:
                out[self.depths[rows] == 8] *= 257
        return out

    def _open(self) -> h5py.File:
        if self._file is None or self._pid != os.getpid():
            # The file never changes once it has its name, so readers need no lock.
            self._file, self._pid = h5py.File(self.path, "r", locking=False), os.getpid()
        return self._file
