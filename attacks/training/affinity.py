"""Do two patches at different places show one person? Learnt from real images, cut along the grid.

Gray levels of two patches of one image are jointly Gaussian; those of two people are independent.
In canonical variables (Hotelling 1936), whose correlations s are all that connects the two, the
log-likelihood ratio is a sum of −½ log(1 − s²) − ½ (s² x² + s² y² − 2 s x y) / (1 − s²). What the
release did to the patches makes it overconfident, so a logistic regression on pairs that are known
says what it is worth (Platt 1999), for neighbours and for others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from anonymize.errors import UsageError

LARGEST = 0.99  # canonical correlation
EACH_SIDE = 8.0  # log-likelihood ratio that no pair of patches exceeds
KINDS = ("neighbours", "distant")


def kind_of(first: int, second: int, g: int) -> str:
    """ "neighbours" where two places of a grid have a border in common, else "distant"."""
    down, across = (abs(a - b) for a, b in zip(divmod(first, g), divmod(second, g), strict=True))
    return KINDS[down + across != 1]


@dataclass(frozen=True)
class Worth:
    """What the Gaussian ratio of a pair of patches is worth.

    Attributes:
        slope, offset: of its logarithm.
        auc: of telling pairs of one person from others; NaN where it was not measured.
        pairs: of one person that it was measured on.
    """

    slope: float = 0.0
    offset: float = 0.0
    auc: float = float("nan")
    pairs: int = 0

    @classmethod
    def of(cls, scores: np.ndarray, same: np.ndarray) -> Self:
        """By scores (N,) of pairs, and bool (N,) whether they are of one person; nothing where
        either kind is missing or scores tell no more than a coin."""
        known = int(same.sum())
        if not 0 < known < len(same):
            return cls()
        auc = float(roc_auc_score(same, scores))
        if auc <= 0.5:
            return cls(auc=auc, pairs=known)
        scale = max(float(scores.std()), 1e-9)
        fit = LogisticRegression(class_weight="balanced").fit(scores[:, None] / scale, same)
        return cls(float(fit.coef_[0, 0]) / scale, float(fit.intercept_[0]), auc, known)


@dataclass(frozen=True)
class Affinity:
    """Log-likelihood ratios that two patches are of one person.

    Attributes:
        g: patches along a side.
        mean, axes: (g², D) and (g², D, C): whitened principal components of each place.
        across: by two places p < q the canonical directions (C, C) of both, and correlations (C,).
        worth: of the ratio, by kind of pair.
    """

    g: int
    mean: np.ndarray
    axes: np.ndarray
    across: Mapping[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray]]
    worth: Mapping[str, Worth]

    @classmethod
    def taught(cls, patches: np.ndarray, *, components: int) -> Self:
        """Of patches (N, g², 12, 12) of real images, before its worth is known. Raises UsageError:
        fewer than four images."""
        count, places = patches.shape[:2]
        if count < 4:
            raise UsageError(f"patches that go together need 4 images to learn from, got {count}")
        flat = patches.reshape(count, places, -1).astype(np.float64)
        mean = flat.mean(axis=0)
        kept = min(components, count // 2, flat.shape[2])
        axes, reduced = [], []
        for place in range(places):
            away = flat[:, place] - mean[place]
            values, vectors = np.linalg.eigh(away.T @ away / count)
            values, vectors = values[::-1][:kept], vectors[:, ::-1][:, :kept]
            axes.append(vectors / np.sqrt(values.clip(min=values[0] * 1e-6 + 1e-12)))
            reduced.append(away @ axes[-1])
        across = {}
        for p in range(places):
            for q in range(p + 1, places):
                left, s, right = np.linalg.svd(reduced[p].T @ reduced[q] / count)
                s = np.sqrt((s**2 - kept / count).clip(min=0))  # what chance alone correlates
                across[p, q] = left, right.T, s.clip(max=LARGEST)
        return cls(int(np.sqrt(places)), mean, np.stack(axes), across, {k: Worth() for k in KINDS})

    def judged(self, patches: np.ndarray, whose: np.ndarray) -> "Affinity":
        """The same, whose worth is known from patches (U, g², 12, 12) of released images and the
        patient (U, g²) of each, −1 unknown. Patches of one output are no pair."""
        own, others = self.reduced(patches), ~np.eye(len(patches), dtype=bool)
        scores: dict[str, list[np.ndarray]] = {kind: [np.zeros(0)] for kind in KINDS}
        same: dict[str, list[np.ndarray]] = {kind: [np.zeros(0, bool)] for kind in KINDS}
        for p, q in self.across:
            usable = others & (whose[:, p] >= 0)[:, None] & (whose[:, q] >= 0)
            kind = kind_of(p, q, self.g)
            scores[kind].append(self.gaussian(own, p, q)[usable])
            same[kind].append((whose[:, p][:, None] == whose[:, q])[usable])
        worth = {k: Worth.of(np.concatenate(scores[k]), np.concatenate(same[k])) for k in KINDS}
        return Affinity(self.g, self.mean, self.axes, self.across, worth)

    @property
    def tells(self) -> bool:
        """Whether pairs of any kind are told by more than chance."""
        return any(worth.slope > 0 for worth in self.worth.values())

    def reduced(self, patches: np.ndarray) -> np.ndarray:
        """float64 (g², U, C): whitened components of patches (U, g², 12, 12)."""
        flat = patches.reshape(*patches.shape[:2], -1) - self.mean
        return np.einsum("upd,pdc->puc", flat, self.axes)

    def gaussian(self, reduced: np.ndarray, p: int, q: int) -> np.ndarray:
        """(U, U): the ratio of each :meth:`reduced` patch at place p and each at place q."""
        if p > q:
            return self.gaussian(reduced, q, p).T
        left, right, s = self.across[p, q]
        x, y = reduced[p] @ left, reduced[q] @ right
        sharp = s / (1 - s**2)
        own = -np.log1p(-(s**2)).sum() / 2
        ends = (x**2 @ (s * sharp))[:, None] + y**2 @ (s * sharp)
        return own - ends / 2 + (x * sharp) @ y.T

    def ratios(self, reduced: np.ndarray, p: int, q: int) -> np.ndarray:
        """(U, U): :meth:`gaussian`, by what it is worth."""
        worth = self.worth[kind_of(p, q, self.g)]
        found = worth.slope * self.gaussian(reduced, p, q) + worth.offset
        return found.clip(-EACH_SIDE, EACH_SIDE)
