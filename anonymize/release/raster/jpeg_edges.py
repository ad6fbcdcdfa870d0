"""What a baseline JPEG file holds beyond the edges of its picture.

Blocks are 8 samples wide and high, and the picture may end within the last ones. There libjpeg
repeats the last row and column, and blocks that lie wholly beyond repeat the mean of the one before
(jcprepct.c, jccoefct.c). What was lost by quantisation hides this a little, so it is asked how far
a block is from any that is repeated.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

SIDE = 8
# Of the coefficients' errors, in steps of quantisation: uniform, so of variance 1/12, and 1/180 of
# their squares. So many deviations of the sum are no accident.
DEVIATIONS = 10
# Half a gray level, by which whole numbers are off where samples are averaged (jcsample.c).
ROUNDING = 1 / 4
ZIGZAG = sorted(
    ((row, column) for row in range(SIDE) for column in range(SIDE)),
    key=lambda at: (sum(at), at[0] if sum(at) % 2 else at[1]),
)


class EdgeBlock(NamedTuple):
    """A block at an edge: samples of it that the picture tells, its table, its coefficients."""

    columns: int
    rows: int
    quantisation: bytes  # in the order of the file
    coefficients: list[int]  # in steps; the first is the mean's difference to the block before


def repeated(blocks: list[EdgeBlock]) -> bool:
    """True where all that is not seen of ``blocks`` repeats what is."""
    kinds: dict[tuple[int, int, bytes], list[list[int]]] = {}
    for block in blocks:
        kinds.setdefault(block[:3], []).append(block.coefficients)
    # What lies wholly beyond is the mean of the block before, and nothing else.
    beyond = [f for (columns, rows, _), f in kinds.items() if not columns or not rows]
    if any(any(map(any, found)) for found in beyond):
        return False
    return all(
        _excess(kind, np.array(found)) <= 0 for kind, found in kinds.items() if kind[0] and kind[1]
    )


def _excess(kind: tuple[int, int, bytes], coefficients: np.ndarray) -> float:
    """How much farther the worst of ``coefficients`` (N, 64) is from repeated ones than chance."""
    columns, rows, quantisation = kind
    free = SIDE * SIDE - columns * rows
    basis = _basis(columns, rows, quantisation)
    # The mean itself is of no account: a level block repeats itself.
    apart = coefficients - coefficients @ basis @ basis.T
    chance = free * (1 / 12 + ROUNDING / min(quantisation) ** 2)
    return float((apart**2).sum(1).max() - chance - DEVIATIONS * np.sqrt(free / 180))


@lru_cache(maxsize=256)
def _basis(columns: int, rows: int, quantisation: bytes) -> np.ndarray:
    """Orthonormal coefficients (64, K), in steps, of the blocks that repeat their last samples."""
    frequency, sample = np.mgrid[:SIDE, :SIDE]
    cosines = np.cos(np.pi * (2 * sample + 1) * frequency / (2 * SIDE)) / 2
    cosines[0] /= np.sqrt(2)
    across, down = (
        cosines @ np.eye(SIDE)[np.minimum(np.arange(SIDE), n - 1), :n] for n in (columns, rows)
    )
    order = [SIDE * row + column for row, column in ZIGZAG]
    steps = np.frombuffer(quantisation, np.uint8).astype(np.float64)
    return np.linalg.qr(np.kron(down, across)[order] / steps[:, None])[0]
