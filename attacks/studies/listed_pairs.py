"""What a verifier reaches on the listed test pairs, and on those of them that are matched."""

from functools import cached_property

import numpy as np

from anonymize.data.dataset import Dataset
from anonymize.options import TrainOptions
from anonymize.statistics import Measured, measure_auc
from attacks.measuring.covariates import covariates_of

AUC, MATCHED_AUC = "auc", "matched"


class ListedPairs:
    """The fixed test pairs of a data set, half of them genuine, and the figures of their scores."""

    def __init__(self, data: Dataset, options: TrainOptions) -> None:
        self.data, self.pairs = data, data.fixed_pairs("test")
        self._drawn = {"resamplings": options.evaluation.resamplings, "seed": options.seed}

    @property
    def patients(self) -> np.ndarray:
        """(n,) of the first images; they are resampled."""
        return self.data.patients[self.pairs.first]

    @cached_property
    def alike(self) -> np.ndarray:
        """bool (n,): matched, as `metrics` defines it."""
        table, (first, second) = self.data.table, (self.pairs.first, self.pairs.second)
        known, identified = covariates_of(table), table.frame["identified"].to_numpy(bool)
        return known[first].like(known[second]) & identified[first] & identified[second]

    def figures(self, scores: np.ndarray) -> dict[str, Measured]:
        """AUC of scores (n,) over all of the pairs, and over matched ones, where there are both
        genuine ones and impostors."""
        found = {AUC: self._auc(scores, np.ones(len(scores), bool))}
        if len(np.unique(self.pairs.same[self.alike])) == 2:
            found[MATCHED_AUC] = self._auc(scores, self.alike)
        return found

    def _auc(self, scores: np.ndarray, of: np.ndarray) -> Measured:
        return measure_auc(scores[of], self.pairs.same[of], self.patients[of], **self._drawn)

    @property
    def matched(self) -> tuple[int, int]:
        """How many genuine and impostor pairs are matched."""
        same = self.pairs.same[self.alike]
        return int(same.sum()), int((~same).sum())
