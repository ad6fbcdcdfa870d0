"""A learning rate by trial (Smith 2017): steps with ever greater rates, until the loss explodes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

LOWEST, HIGHEST = 1e-5, 1.0
STEPS = 60
SMOOTHING = 0.9
EXPLODED = 4.0  # times the least loss
SAFE = 10.0  # the rate of the least loss is divided by it


def find_rate(step: Callable[[float], float], *, steps: int = STEPS) -> float:
    """A tenth of the rate at which the smoothed loss was least.

    Args:
        step: takes one training step with the rate, on a copy of the network, and gives the loss.
        steps: at most; rates rise from 10⁻⁵ to 1 by a constant factor.
    """
    rates = np.geomspace(LOWEST, HIGHEST, steps)
    smooth, least, best = 0.0, math.inf, rates[0]
    for number, rate in enumerate(rates, start=1):
        loss = step(float(rate))
        if not math.isfinite(loss):
            break
        smooth = SMOOTHING * smooth + (1 - SMOOTHING) * loss
        level = smooth / (1 - SMOOTHING**number)  # the first ones would weigh too little
        if level < least:
            least, best = level, rate
        if level > EXPLODED * least:
            break
    return float(max(best / SAFE, LOWEST))
