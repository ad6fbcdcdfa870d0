"""Run lengths of COCO masks: column by column, beginning with zeros; plain or as a string.

The string holds each count in groups of five bits, lowest first, as characters from "0"; from the
fourth count on, the difference to the count before the last (COCO API, ``maskApi``).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from anonymize.release.radiograph import MAX_PIXELS

LARGEST = 1 << 40


def decode(segmentation: dict[str, Any]) -> np.ndarray:
    """The mask, bool (H, W), of ``{"size": [H, W], "counts": [...] or "..."}``. Raises ValueError:
    counts that do not fill the size exactly, or a size beyond bounds."""
    height, width = segmentation["size"]
    counts = checked(segmentation)
    flat = np.repeat(np.arange(len(counts)) % 2 == 1, counts)
    return flat.reshape(width, height).T


def checked(segmentation: dict[str, Any]) -> list[int]:
    """The counts of a segmentation, without making its mask. Raises ValueError: as ``decode``; or a
    mask of more pixels than any image has."""
    height, width = segmentation["size"]
    counts = segmentation["counts"]
    counts = _read(counts) if isinstance(counts, str) else counts
    if min(height, width) < 1 or height * width > MAX_PIXELS:
        raise ValueError("run lengths of no mask, or of one that is too large")
    if min(counts, default=0) < 0 or sum(counts) != height * width:
        raise ValueError("the run lengths do not fill the mask")
    return counts


def encode(mask: np.ndarray, *, as_string: bool) -> dict[str, Any]:
    """The run lengths of a bool (H, W) mask."""
    flat = np.concatenate([[False], mask.T.ravel(), [not mask[-1, -1]]])
    changes = np.flatnonzero(flat[1:] != flat[:-1])
    counts = np.diff(changes, prepend=0).tolist()
    size = [int(n) for n in mask.shape]
    return {"size": size, "counts": _written(counts) if as_string else counts}


def _read(text: str) -> list[int]:
    counts: list[int] = []
    characters = iter(text)
    for first in characters:
        value = 0
        for place, character in enumerate(itertools.chain([first], characters)):
            bits = ord(character) - 48
            if not 0 <= bits < 64 or place > 8:
                raise ValueError("no COCO run lengths")
            value |= (bits & 31) << (5 * place)
            if not bits & 32:
                if bits & 16:
                    value -= 1 << (5 * place + 5)
                break
        else:
            raise ValueError("COCO run lengths end in the middle")
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
        if not 0 <= counts[-1] < LARGEST:
            raise ValueError("no COCO run lengths")
    return counts


def _written(counts: list[int]) -> str:
    text = []
    for i, count in enumerate(counts):
        value = count - counts[i - 2] if i > 2 else count
        while True:
            bits = value & 31
            value >>= 5
            last = value == (-1 if bits & 16 else 0)
            text.append(chr(48 + bits + (0 if last else 32)))
            if last:
                break
    return "".join(text)
