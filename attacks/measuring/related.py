"""Which of P × G pairs share a patient or an image, found without looking at every pair."""

from __future__ import annotations

import numpy as np

from attacks.measuring.metrics import Owners, slices

ROWS = 4096


class Related:
    """The pairs of probes and gallery images that `metrics` does not count as impostors."""

    def __init__(self, probes: Owners, gallery: Owners) -> None:
        self._probes, self._gallery = probes, gallery
        self._shared = [
            _Shared(probes.patient, gallery.patient),
            _Shared(probes.image, gallery.image),
        ]

    def pairs(self, rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows (n,) and columns (n,) of the related pairs of some probes, each once, and which of
        them are genuine, bool (n,); the others are excluded."""
        found = np.hstack([shared.pairs(rows) for shared in self._shared])
        row, column = np.unique(found, axis=1)
        return row, column, self.genuine(row, column)

    def genuine(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """bool: the pairs are genuine; rows and columns broadcast."""
        probes, gallery = self._probes, self._gallery
        known = probes.identified[row] & gallery.identified[column]
        same_image = probes.image[row] == gallery.image[column]
        return known & (probes.patient[row] == gallery.patient[column]) & ~same_image

    def impostor(self, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """bool: the pairs are impostor pairs; rows and columns broadcast."""
        probes, gallery = self._probes, self._gallery
        other_image = probes.image[row] != gallery.image[column]
        return other_image & (probes.patient[row] != gallery.patient[column])

    def tally(self) -> tuple[np.ndarray, np.ndarray]:
        """int64 (P,): how many genuine, and how many excluded, gallery images a probe has."""
        counts = np.zeros((2, len(self._probes)), np.int64)
        for rows in slices(len(self._probes), ROWS):
            row, _, genuine = self.pairs(rows)
            np.add.at(counts, (np.where(genuine, 0, 1), row), 1)
        return counts[0], counts[1]


class _Shared:
    """Pairs of equal codes."""

    def __init__(self, first: np.ndarray, second: np.ndarray) -> None:
        self._order = np.argsort(second, kind="stable")
        ordered = second[self._order]
        self._start = np.searchsorted(ordered, first, side="left")
        self._count = np.searchsorted(ordered, first, side="right") - self._start

    def pairs(self, rows: slice) -> np.ndarray:
        """int64 (2, n): row and column of the pairs of some rows."""
        start, count = self._start[rows], self._count[rows]
        row = np.repeat(np.arange(rows.start, rows.stop), count)
        # 0, 1, …, count − 1 for each row
        within = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        return np.stack([row, self._order[np.repeat(start, count) + within]])
