"""Training sets of a given number of pairs, smaller ones within larger ones."""

from collections.abc import Callable

import numpy as np

from anonymize.data.pairs import Pairs, balanced, genuine
from anonymize.data.table import Table
from anonymize.errors import UsageError


def training_pairs(
    table: Table, rows: np.ndarray, *, pairs: int, negatives: str, seed: int
) -> Callable[[int], Pairs]:
    """The pairs of an epoch from its seed; with one ``seed`` the genuine pairs of a smaller number
    are among those of a larger one. Raises UsageError: more than the rows have."""
    available = 2 * len(genuine(table, rows))
    if pairs > available:
        raise UsageError(
            f"--pairs {pairs} are more than the training part has: {available // 2} genuine pairs "
            f"and as many impostors make {available}"
        )
    once = balanced(table, rows, most=pairs, seed=seed)
    if negatives == "fixed":
        return lambda epoch_seed: once

    def fresh(epoch_seed: int) -> Pairs:
        drawn = balanced(table, rows, most=pairs, seed=epoch_seed)
        return _joined(_of(once, once.same), _of(drawn, ~drawn.same))

    return fresh


def repeated(pairs: Pairs, count: int, seed: int) -> Pairs:
    """``count`` of the pairs in an order that the seed decides; all of them n times before one is
    shown n + 1 times."""
    rng = np.random.default_rng(seed)
    rounds = [rng.permutation(len(pairs)) for _ in range(-(-count // len(pairs)))]
    return _of(pairs, np.concatenate(rounds)[:count])


def _of(pairs: Pairs, chosen: np.ndarray) -> Pairs:
    return Pairs(pairs.first[chosen], pairs.second[chosen], pairs.same[chosen])


def _joined(one: Pairs, other: Pairs) -> Pairs:
    return Pairs(
        np.concatenate((one.first, other.first)),
        np.concatenate((one.second, other.second)),
        np.concatenate((one.same, other.same)),
    )
