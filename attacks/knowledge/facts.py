"""What a release may say of an image beside its pixels, and how far that tells whose it is.

A fact has few levels: age in whole years, sex, view, and the follow-up number in ranges. How much
two levels speak for one patient is a likelihood ratio, counted on pairs of training images:

    R(a, b) = (O(a, b) + 1) / (E(a, b) + 1)

O(a, b) is the number of patients whose pairs of images have the levels a and b (every patient
counts once, in equal shares for its pairs), E(a, b) the number expected if the two images were
drawn independently. The 1 draws levels that were hardly seen to R = 1, where a fact says nothing.
Of ages only the difference counts. Facts are taken as independent of each other, so that the link
score of a pair is the sum of log R over them (naive Bayes).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from anonymize.data.dataset import Dataset
from anonymize.data.sources.columns import OLDEST
from attacks.measuring.covariates import codes_of
from attacks.measuring.metrics import Owners

UNKNOWN = -1
FEW = 20  # known training images below which a fact is not learnt
DIFFERENCES = (0, 1, 2, 3, 5, 8, 12, 18, 26, 40, OLDEST + 1)  # years at which a range begins
FOLLOW_UPS = (0, 1, 2, 3, 5, 9, 17, 33)  # numbers at which a range begins


@dataclass(frozen=True)
class Fact:
    """Something known of an image.

    Attributes:
        levels: how many it has.
        codes: levels of a table's rows, int64 (N,), −1 where unknown.
        by_difference: only the difference of two levels counts.
    """

    levels: int
    codes: Callable[[pd.DataFrame], np.ndarray]
    by_difference: bool = False


def _years(frame: pd.DataFrame) -> np.ndarray:
    years = frame["age"].to_numpy(float)
    return np.where(np.isnan(years), UNKNOWN, np.rint(years)).astype(np.int64)


def _range_of_follow_up(frame: pd.DataFrame) -> np.ndarray:
    return np.searchsorted(FOLLOW_UPS, frame["follow_up"].to_numpy(), side="right") - 1


FACTS: Mapping[str, Fact] = {
    "age": Fact(OLDEST + 1, _years, by_difference=True),
    "sex": Fact(2, lambda frame: codes_of(frame["sex"], ("F", "M"))),
    "view": Fact(2, lambda frame: codes_of(frame["view"], ("AP", "PA"))),
    "follow_up": Fact(len(FOLLOW_UPS), _range_of_follow_up),
}


def in_words(names: Iterable[str], between: str = "or") -> str:
    """ "age, sex or view"."""
    *first, last = (name.replace("follow_up", "follow-up number") for name in names)
    return f"{', '.join(first)} {between} {last}" if first else last


def known_facts(frame: pd.DataFrame, rows: np.ndarray, names: Iterable[str]) -> tuple[str, ...]:
    """The facts that can be learnt from the rows: known of enough images, not the same of all."""
    found = []
    for name in names:
        codes = FACTS[name].codes(frame.iloc[rows])
        known = codes[codes != UNKNOWN]
        if len(known) >= FEW and len(np.unique(known)) > 1:
            found.append(name)
    return tuple(found)


def certain(codes: np.ndarray, levels: int) -> np.ndarray:
    """float64 (N, levels): probability 1 of the level known, NaN throughout where it is unknown."""
    sure = np.eye(levels)[np.maximum(codes, 0)]
    sure[codes == UNKNOWN] = np.nan
    return sure


@dataclass(frozen=True)
class LinkModel:
    """The likelihood ratios of facts. ``ratios``: by fact, float64 (levels, levels), symmetric."""

    ratios: Mapping[str, np.ndarray]

    @classmethod
    def learn(cls, codes: Mapping[str, np.ndarray], owners: Owners) -> Self:
        """Counts pairs of the images whose levels are given, int64 (N,) by fact."""
        own = owners.identified
        return cls({n: _ratio(FACTS[n], c[own], owners.patient[own]) for n, c in codes.items()})

    def scores(
        self, probes: Mapping[str, np.ndarray], gallery: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """Σ log E[R(a, b)], float32 (P, G), for probabilities (N, levels) of the levels by fact.

        A fact that is unknown (NaN) of one of the two images contributes 0.
        """
        shape = (len(next(iter(probes.values()))), len(next(iter(gallery.values()))))
        total = np.zeros(shape, np.float32)
        for name, ratio in self.ratios.items():
            expected = probes[name] @ ratio @ gallery[name].T
            total += np.log(np.where(np.isnan(expected), 1.0, expected)).astype(np.float32)
        return total


def _ratio(fact: Fact, codes: np.ndarray, patient: np.ndarray) -> np.ndarray:
    known = codes != UNKNOWN
    who = np.unique(patient[known], return_inverse=True)[1]
    counts = np.zeros((who.max(initial=-1) + 1, fact.levels))
    np.add.at(counts, (who, codes[known]), 1)
    images = counts.sum(1)
    several = counts[images > 1]
    share = 1 / (images[images > 1] * (images[images > 1] - 1))
    observed = (several * share[:, None]).T @ several - np.diag(share @ several)
    level = counts.sum(0) / max(images.sum(), 1)
    expected = len(several) * np.outer(level, level)
    if fact.by_difference:
        apart = np.abs(np.subtract.outer(np.arange(fact.levels), np.arange(fact.levels)))
        ranges = np.searchsorted(DIFFERENCES, apart, side="right") - 1
        observed, expected = (
            np.bincount(ranges.ravel(), table.ravel())[ranges] for table in (observed, expected)
        )
    return (observed + 1) / (expected + 1)


def not_said(names: Iterable[str], data: Dataset) -> str:
    """That of the training images of ``data`` none of these facts can be learnt, in words; ""
    where one can."""
    if known_facts(data.table.frame, data.table.part("train"), names):
        return ""
    said = f"{data.table.source} does not say {in_words(names)} of its training images"
    return f"{said}, or the same of all"
