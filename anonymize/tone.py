"""Tone: gray levels changed by a bounded amount that varies smoothly over an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:  # workers of a release do without torch
    from torch import Tensor

Values = TypeVar("Values", "Tensor", np.ndarray)
LARGEST = 0.25  # beyond, two gray levels could become one


def toned(images: Values, tone: Values | None) -> Values:
    """x → x + 4·t·x·(1 − x): ``images`` in [0, 1] stay there, and no level changes by more than t.

    Black and white stay, and brighter stays brighter. Differentiable in both arguments.

    Args:
        images: (B, C, H, W) in [0, 1].
        tone: t, (B, 1, H, W) in [−1/4, 1/4]; 0 gives the input back bit for bit, None itself.
    """
    if tone is None:
        return images
    return images + 4 * tone * images * (1 - images)
