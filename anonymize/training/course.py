"""How far the training of a generator went, from the figures of its epochs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

STAGE = "adversarial"
FEWEST = 4  # epochs below which nothing can be said to have come to rest
STILL = 0.05  # share by which the release may change over the last quarter of the epochs


def course(lines: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """ "steps" of the generator, and "converged": 1 where what it does to the images had come to
    rest in the last quarter of its epochs, else 0.

    Args:
        lines: of ``metrics.jsonl``; root mean square changes of the validation images are in
            ``validation_change``.
    """
    own = [line for line in lines if line["stage"] == STAGE]
    found = {}
    if own and all("train_steps" in line for line in own):
        found["steps"] = float(sum(line["train_steps"] for line in own))
    if own and all("validation_change" in line for line in own):
        change = [line["validation_change"] for line in own]
        before = change[-1 - max(1, len(change) // 4)] if len(change) >= FEWEST else 0.0
        rests = abs(change[-1] - before) <= STILL * change[-1]
        found["converged"] = float(len(change) >= FEWEST and rests)
    return found
