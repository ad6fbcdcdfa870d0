"""The pair figures of every draw of patients: AUC, equal error rate, false non-matches.

Patients are drawn on both sides. One who is drawn w times brings w times the genuine pairs of the
own images, and an impostor pair of patients p and g counts w_p · w_g times: the pigeonhole
bootstrap (Owen, Annals of Applied Statistics 1(2), 2007). Two copies of one patient are not two
patients, so no impostor pair comes of them.

A draw costs about one pass over the impostor scores. Of more than ``MANY`` patients, or more than
``EXACT`` scores, the draws are therefore those of a first order: of the AUCs from structural
components (:func:`projected_auc`); of false non-matches at the threshold of all patients; and of
the equal error rate none.
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from anonymize.auc import ratio
from anonymize.statistics import Measured, effective
from attacks.measuring.error_rates import (
    PairCounts,
    equal_error_rates,
    lost_shares,
    non_match_rates,
    roc_corners,
)
from attacks.measuring.estimates import MISSED
from attacks.measuring.metrics import (
    FALSE_MATCH_RATES,
    Owners,
    genuine_places,
    impostor_pairs,
    slices,
)

MANY = 1000  # patients
EXACT = 1 << 21  # scores of a matrix
BLOCK = 1 << 22  # numbers held at a time


class DrawnPairs:
    """The scores of all pairs, ready to be drawn.

    A *level* is a genuine score; an impostor score is known by its *slot*: 2k between level k and
    the level before, 2k + 1 where it equals level k.

    Args:
        scores: (P, G), without NaN.
        probes, gallery: their owners.
        codes: (K,) patient codes, ascending, of both.

    Attributes:
        counts: of every pair once.

    Raises:
        ValueError: no genuine or no impostor pair.
    """

    def __init__(
        self, scores: np.ndarray, probes: Owners, gallery: Owners, codes: np.ndarray
    ) -> None:
        self._scores, self._probes, self._gallery = scores, probes, gallery
        self._asked, self._known = (np.searchsorted(codes, o.patient) for o in (probes, gallery))
        row, column = genuine_places(probes, gallery)
        genuine, whose = scores[row, column], self._known[column]
        self._rows = np.unique(row)
        self._levels, level = np.unique(genuine, return_inverse=True)
        self._each = each = np.bincount(whose, minlength=len(codes))
        shape = (len(self._levels), len(codes))
        # What a draw of one patient adds to each level: all genuine pairs, or one.
        self._every = sparse.csr_matrix((np.ones(len(row)), (level, whose)), shape)
        self._alone = sparse.csr_matrix((1 / each[whose], (level, whose)), shape)
        tally = np.zeros(2 * len(self._levels) + 1, np.int64)
        for _, _, slots in self._impostors():
            tally += np.bincount(slots, minlength=len(tally))
        self._below, self._tied, self._met = _cumulated(tally[:, None])
        rising = np.sort(level)
        below, tied = self._below[rising, 0], self._tied[rising, 0]
        self.counts = PairCounts(np.sort(genuine), below, tied, int(self._met[0]))

    def figures(self, weights: np.ndarray) -> dict[str, Measured]:
        """By name, of patients drawn ``weights`` (B, K) times: ``auc``, ``auc_patient`` (expected
        where one genuine pair of each patient is drawn), ``equal_error_rate``, and the false
        non-match rates ``fnmr|RATE``."""
        once = np.ones((len(self._each), 1))
        found = self._of(once, self._below, self._tied, self._met)
        found |= {"auc": np.array([self.counts.auc])}
        few = len(self._each) <= MANY and self._scores.size <= EXACT
        drawn = self._exact(weights) if few else self._first_order(weights)
        # Images and not pairs: 2 images of one patient are 2 pairs, 20 are 380 that are much alike.
        every = effective(np.bincount(self._asked[self._rows]))
        none, alone = np.zeros(0), {"auc_patient": float(np.count_nonzero(self._each))}
        return {
            n: Measured(
                float(v[0]), drawn.get(n, none), alone.get(n, every), rate=n.startswith(MISSED)
            )
            for n, v in found.items()
        }

    def _exact(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """Every figure (B,) of patients drawn so often."""
        table, first, second = self._pair_table()
        # Of sets two patients have one score, asked for either of them, whatever their images.
        of_sets = bool((table.getnnz(axis=0) <= 2).all() and table.max() > 1)
        few = self._probes.matched or of_sets
        shares = self._steadied(table, first, second) if few else {}
        found = []
        for part in slices(len(weights), max(1, BLOCK // max(len(first), table.shape[0]))):
            drawn = weights[part].T
            tally = table @ (drawn[first] * drawn[second])
            found.append(self._of(drawn, *_cumulated(tally)))
        whole = {name: np.concatenate([f[name] for f in found]) for name in found[0]}
        for name, (value, share) in shares.items():
            whole[name] = value + share * (whole[name] - value)
        return whole

    def _steadied(
        self, table: sparse.csr_matrix, first: np.ndarray, second: np.ndarray
    ) -> dict[str, tuple[float, float]]:
        """By name, a figure, and the share of its draws' deviation that is that of other patients.

        A pair of patients varies by itself, too. Drawn on both sides, with a variance of 3 where
        one patient alone has 1, that counts three times; where matched impostors are few, or two
        patients have one score, hardly anything else is there (Owen 2007). What moves a figure with
        each patient and with each pair says how much it is: the variance of dyads (Aronow, Samii
        and Assenova, Political Analysis 23, 2015), which is no less than that of patients and pairs
        that depend on nothing. Among all impostors pairs by themselves are next to nothing, so
        there draws stay as they are.
        """
        met, found = self._met[0], {}
        share = (self._below[:, 0] + self._tied[:, 0] / 2) / met
        for name, genuine in (("auc", self._every), ("auc_patient", self._alone)):
            own = np.asarray(genuine.sum(axis=0)).ravel()
            won, lost = genuine.T @ share, lost_shares(np.asarray(genuine.sum(axis=1)).ravel())
            auc = won.sum() / own.sum()
            alone, pairs = (won - auc * own) / own.sum(), table.T @ (lost - auc) / met
            found[name] = float(auc), _share_of_patients(alone, pairs, first, second)
        for rate in FALSE_MATCH_RATES:
            missed, alone, pairs = self._moving(rate, table)
            found[f"{MISSED}|{rate:g}"] = missed, _share_of_patients(alone, pairs, first, second)
        equal = self.counts.equal_error_rate
        _, alone, pairs = self._moving(equal, table)  # times a factor of both, which makes no share
        found["equal_error_rate"] = equal, _share_of_patients(alone, pairs, first, second)
        return found

    def _moving(
        self, rate: float, table: sparse.csr_matrix
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """The false non-matches at a false match rate, and what moves them: each patient's genuine
        scores (K,), and impostor scores (n,), which move the threshold."""
        met = self._met[0]
        rejected = met - self._below[:, 0] > rate * met
        passing = np.arange(table.shape[0]) > 2 * np.count_nonzero(rejected)
        missed = float(self.counts.non_match_rates(np.array([rate]))[0])
        alone = self._every.T @ (rejected - missed) / self._each.sum()
        pairs = table.T @ (passing - (table.T @ passing).sum() / met) / met
        return missed, alone, self._steep(rate) * pairs

    def _steep(self, rate: float) -> float:
        """By how much the ROC rises around a false match rate: the genuine scores that a threshold
        passes when it passes an impostor's (Bahadur, Annals of Mathematical Statistics 37, 1966).
        """
        around = np.array([rate / 2, min(2 * rate, 1.0)])
        missed = self.counts.non_match_rates(around)
        return float((missed[0] - missed[1]) / (around[1] - around[0])) if rate else 0.0

    def _of(
        self, drawn: np.ndarray, below: np.ndarray, tied: np.ndarray, met: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Every figure (B,) of patients drawn (K, B) times; the others as `roc_corners` has them.
        NaN without a genuine or an impostor pair."""
        every, alone = self._every @ drawn, self._alone @ drawn
        won = below + tied / 2
        with np.errstate(invalid="ignore", divide="ignore"):
            found = {
                "auc": (every * won).sum(axis=0) / (every.sum(axis=0) * met),
                "auc_patient": (alone * won).sum(axis=0) / (alone.sum(axis=0) * met),
                "equal_error_rate": equal_error_rates(*roc_corners(every, below, tied, met)),
            }
            for rate in FALSE_MATCH_RATES:
                found[f"{MISSED}|{rate:g}"] = non_match_rates(every, below, met, rate)
        undefined = ~((every.sum(axis=0) > 0) & (met > 0))
        return {name: np.where(undefined, np.nan, values) for name, values in found.items()}

    def _pair_table(self) -> tuple[sparse.csr_matrix, np.ndarray, np.ndarray]:
        """How many impostor scores of two patients lie in each slot (slots, n), and both patients
        (n,) of each column; which of them is asked for makes no difference to a draw."""
        keys, slots = [], []
        for asked, known, slot in self._impostors():
            low, high = np.minimum(asked, known), np.maximum(asked, known)
            keys.append(low.astype(np.int64) * self._every.shape[1] + high)
            slots.append(slot)
        pairs, column = np.unique(np.concatenate(keys), return_inverse=True)
        places = (np.concatenate(slots), column)
        shape = (2 * len(self._levels) + 1, len(pairs))
        table = sparse.csr_matrix((np.ones(len(column)), places), shape)
        return table, *np.divmod(pairs, self._every.shape[1])

    def _first_order(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """The figures (B,) of patients drawn so often, as far as they have a first order."""
        met, below = self._met[0], self._below[:, 0]
        share = (below + self._tied[:, 0] / 2) / met
        genuine = {"auc": self._every, "auc_patient": self._alone}
        lost = {
            name: lost_shares(np.asarray(one.sum(axis=1)).ravel()) for name, one in genuine.items()
        }
        beaten = {name: np.zeros(len(self._each)) for name in genuine}
        pairs = np.zeros(len(self._each))
        for asked, known, slots in self._impostors():
            for whose in (asked, known):
                pairs += np.bincount(whose, minlength=len(pairs))
                for name, of_slot in lost.items():
                    beaten[name] += np.bincount(whose, of_slot[slots], len(pairs))
        found = {}
        for name, one in genuine.items():
            own = np.asarray(one.sum(axis=0)).ravel()
            found[name] = projected_auc((one.T @ share, own), (beaten[name], pairs), weights)
        for rate in FALSE_MATCH_RATES:
            rejected = self._every.T @ (met - below > rate * met)
            found[f"{MISSED}|{rate:g}"] = ratio(weights @ rejected, weights @ self._each)
        return found

    def _impostors(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Patients (n,) of probe and gallery image and slots (n,) of the impostor pairs, a block of
        rows at a time."""
        for rows in slices(len(self._scores), max(1, BLOCK // max(1, len(self._gallery)))):
            row, column = np.nonzero(impostor_pairs(self._probes[rows], self._gallery))
            score = self._scores[rows][row, column]
            level = np.searchsorted(self._levels, score)
            equal = level < len(self._levels)
            equal[equal] = self._levels[level[equal]] == score[equal]
            yield self._asked[rows][row], self._known[column], 2 * level + equal


def _share_of_patients(
    alone: np.ndarray, pairs: np.ndarray, first: np.ndarray, second: np.ndarray
) -> float:
    """Of the deviation of draws on both sides, what is that of other patients; from what moves a
    figure with each patient alone (K,) and with each pair (n,) of the ``first`` and ``second``."""
    together = alone + sum(np.bincount(w, pairs, len(alone)) for w in (first, second))
    every, once = (together**2).sum(), (pairs**2).sum()
    variance = max(every - once, (alone**2).sum() + once)
    return float(np.sqrt(variance / (every + once))) if every + once else 1.0


def projected_auc(
    genuine: tuple[np.ndarray, np.ndarray],
    impostors: tuple[np.ndarray, np.ndarray],
    weights: np.ndarray,
) -> np.ndarray:
    """AUC (B,) of patients drawn ``weights`` (B, K) times, to the first order: each patient's share
    in the genuine and in the impostor side moves it by itself (structural components, DeLong,
    DeLong and Clarke-Pearson, Biometrics 44, 1988; of clusters: Obuchowski, Biometrics 53, 1997).
    What is left out falls with one over the number of patients.

    Args:
        genuine: (K,) of each patient's genuine pairs, the sum of the shares of impostor scores
            below, those equal half; and how many pairs there are.
        impostors: (K,) likewise of the impostor pairs, the shares of genuine scores above; a pair
            counts for both its patients.
    """
    won, own = genuine
    beaten, met = impostors
    first = ratio(weights @ won, weights @ own)
    # w_p · w_g is w_p + w_g − 1 to the first order.
    second = ratio(weights @ beaten - beaten.sum() / 2, weights @ met - met.sum() / 2)
    return first + second - won.sum() / own.sum()


def _cumulated(tally: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Impostor scores below and equal to each level (m, B), and all (B,); from those in each slot
    (2 m + 1, B)."""
    total = np.cumsum(tally, axis=0)
    return total[:-1:2], tally[1::2], total[-1]
