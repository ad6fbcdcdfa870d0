"""The area under the ROC curve of a list of scores, exact, ties half."""

import numpy as np

CHUNK = 1 << 22  # weights held at a time


def plain_auc(scores: np.ndarray, present: np.ndarray) -> float:
    """AUC of a list (n,), ties half; ``present`` is bool and holds both values."""
    return float(weighted_auc(scores, present, np.zeros(len(scores), int), np.ones((1, 1)))[0])


def weighted_auc(
    scores: np.ndarray, same: np.ndarray, owner: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """AUC (B,) of a list (n,) in which entry i counts ``weights[b, owner[i]]`` times.

    Where no genuine or no impostor entry remains, the AUC is NaN.
    """
    order = np.argsort(scores, kind="stable")
    same, owner = same[order], owner[order]
    starts = np.flatnonzero(np.r_[True, np.diff(scores[order]) != 0])
    rows = max(1, CHUNK // max(1, len(scores)))
    found = []
    for i in range(0, len(weights), rows):
        weight = weights[i : i + rows][:, owner]
        genuine = np.add.reduceat(weight * same, starts, axis=1)
        impostor = np.add.reduceat(weight * ~same, starts, axis=1)
        below = np.cumsum(impostor, axis=1) - impostor
        won = (genuine * (below + impostor / 2)).sum(axis=1)
        found.append(ratio(won, genuine.sum(axis=1) * impostor.sum(axis=1)))
    return np.concatenate(found)


def structural_components(scores: np.ndarray, present: np.ndarray) -> np.ndarray:
    """What each entry of a list (n,) moves its AUC by, to the first order, if it counts once more:
    the share of the other side that it wins against, less the AUC, over the size of its own side
    (DeLong, DeLong and Clarke-Pearson, Biometrics 44, 1988). Their sum is 0; ties half."""
    found = np.empty(len(scores))
    for side in (True, False):
        own, others = scores[present == side], np.sort(scores[present != side])
        below = np.searchsorted(others, own, "left") + np.searchsorted(others, own, "right")
        won = below / (2 * len(others))
        found[present == side] = (won - won.mean()) / (len(own) if side else -len(own))
    return found


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Quotients (n,); NaN where there is nothing to divide by."""
    undefined = np.full(len(numerator), np.nan)
    return np.divide(numerator, denominator, out=undefined, where=denominator > 0)
