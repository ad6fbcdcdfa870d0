"""Codes of a method whose outputs depend on a patient through one of a few alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anonymize.data.batches import Images


@dataclass(frozen=True)
class Coding:
    """What whoever has such a method can work out.

    Attributes:
        centres: float64 (K, L), what is read from images of each code on average.
        read: what the method reads from real images, float64 (N, L); a patient's code follows from
            the mean of his.
        sent: the code of each output, int64 (N,) in 0 … K − 1.
    """

    centres: np.ndarray
    read: Callable[[Images], np.ndarray]
    sent: Callable[[Images], np.ndarray]
