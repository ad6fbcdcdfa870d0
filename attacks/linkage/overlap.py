"""Patients who occur in two collections: the positive use that Packhäuser et al. 2022 name.

The evidence of two patients is the mean likelihood ratio over all pairs of their images. The pairs
depend on each other, so their ratios must not be multiplied; the mean of ratios is on average 1
for strangers whatever the dependence (Vovk and Wang, "E-values: calibration, combination and
applications", Annals of Statistics 49(3), 2021), so many images alone make nobody probable.
"""

from dataclasses import dataclass

import numpy as np

from anonymize.errors import UsageError
from attacks.linkage.album import Album
from attacks.linkage.duplicates import FILE, PIXELS, duplicates
from attacks.linkage.embeddings import Report, silent
from attacks.linkage.learnt import Prepared
from attacks.linkage.ranking import pictures
from attacks.measuring.calibration import posterior

NEIGHBOURS = 50  # of each image; the ratios of all others count as 0
EXPECTED = 0.01  # of the patients of the smaller collection, where nothing else is known
PROBABLE = 0.5


@dataclass(frozen=True)
class Overlap:
    """Pairs of patients, one of each collection: identical images first, then by probability.

    Attributes:
        rows: int64 (n, 2), the most alike images of each pair of patients.
        scores: (n,) of these.
        sizes: int64 (n, 2), images that each of the two patients has.
        log_ratios: (n,) ln of the mean likelihood ratio.
        probabilities: (n,); 1 where images are identical.
        identical: n times "file", "pixels" or "".
        shared: patients that were expected in both.
        prior: that a pair of patients is one person.
    """

    first: Album
    second: Album
    rows: np.ndarray
    scores: np.ndarray
    sizes: np.ndarray
    log_ratios: np.ndarray
    probabilities: np.ndarray
    identical: tuple[str, ...]
    shared: float
    prior: float

    @property
    def patients(self) -> tuple[int, int]:
        """How many are in each; an image of nobody known is one."""
        return len(np.unique(self.first.people)), len(np.unique(self.second.people))

    @property
    def probable(self) -> np.ndarray:
        """bool (n,): not identical, and rather one person than two."""
        return (self.probabilities >= PROBABLE) & ~self.is_identical

    @property
    def is_identical(self) -> np.ndarray:
        """bool (n,)."""
        return np.array([bool(kind) for kind in self.identical], bool)

    @property
    def expected_false(self) -> float:
        """How many of the probable pairs are two persons, if the probabilities hold."""
        return float((1 - self.probabilities[self.probable]).sum())

    def lines(self) -> list[dict[str, object]]:
        """One a pair. They hold names: for private files."""
        return [
            {
                "rank": n + 1,
                "identical": self.identical[n],
                "probability": float(self.probabilities[n]),
                "log10_likelihood_ratio": float(self.log_ratios[n] / np.log(10)),
                "score": float(self.scores[n]),
                "a": self.first.names[a],
                "b": self.second.names[b],
                "a_patient": self.first.patients[a],
                "b_patient": self.second.patients[b],
                "a_images": int(self.sizes[n, 0]),
                "b_images": int(self.sizes[n, 1]),
            }
            for n, (a, b) in enumerate(self.rows.tolist())
        ]


def find_overlap(
    prepared: Prepared,
    first: Album,
    second: Album,
    *,
    shared: float,
    top: int = 1000,
    report: Report = silent,
) -> Overlap:
    """The ``top`` most probable pairs of patients, and all with identical images; ``shared`` as
    :func:`expected_shared` gives it."""
    number = [len(np.unique(album.people)) for album in (first, second)]
    prior = min(shared / (number[0] * number[1]), PROBABLE)
    same = duplicates(first, second)
    nearest = prepared.matcher.nearest(pictures(first), pictures(second), NEIGHBOURS, report)
    row, column, score = _with_identical(*nearest, same)
    ratios = np.exp(prepared.learnt.calibration.log_ratios(score))
    pair = first.people[row] * number[1] + second.people[column]
    best = np.lexsort((-score, pair))
    best = best[np.unique(pair[best], return_index=True)[1]]
    codes, group = np.unique(pair, return_inverse=True)
    images = [np.bincount(album.people)[album.people] for album in (first, second)]
    sizes = np.stack([images[0][row[best]], images[1][column[best]]], axis=1)
    log_ratios = np.log(np.bincount(group, ratios) / sizes.prod(axis=1))
    kinds = _kinds(codes, same, first, second, number[1])
    probabilities = np.where(kinds != "", 1.0, posterior(log_ratios, prior))
    certain = np.select([kinds == FILE, kinds == PIXELS], [0, 1], default=2)
    order = np.lexsort((-score[best], -log_ratios, certain))
    order = order[: max(top, int((kinds != "").sum()))]
    return Overlap(
        first,
        second,
        np.stack([row[best], column[best]], axis=1)[order],
        score[best][order],
        sizes[order],
        log_ratios[order],
        probabilities[order],
        tuple(kinds[order].tolist()),
        shared,
        prior,
    )


def expected_shared(first: Album, second: Album, shared: float | None) -> float:
    """Patients in both: ``shared``, or ``EXPECTED`` of the smaller collection, at least one. Raises
    UsageError: more than it has, or none."""
    smaller = min(len(np.unique(album.people)) for album in (first, second))
    if shared is None:
        return max(1.0, EXPECTED * smaller)
    if not 0 < shared <= smaller:
        raise UsageError(
            f"--shared must lie above 0 and be at most {smaller}, the patients of the smaller "
            f"collection; got {shared:g}"
        )
    return shared


def _with_identical(
    scores: np.ndarray, columns: np.ndarray, same: dict[tuple[int, int], str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, column and score (n,) of all pairs found. Where many images are identical to one, some
    are not among its nearest; they score as those do."""
    row = np.repeat(np.arange(len(columns)), columns.shape[1])
    beyond = [(a, b) for a, b in same if b not in columns[a]]
    missed = np.array(beyond, np.int64).reshape(-1, 2)
    return (
        np.concatenate([row, missed[:, 0]]),
        np.concatenate([columns.ravel(), missed[:, 1]]),
        np.concatenate([scores.ravel(), scores[missed[:, 0], 0]]),
    )


def _kinds(
    codes: np.ndarray, same: dict[tuple[int, int], str], first: Album, second: Album, width: int
) -> np.ndarray:
    """ "file", "pixels" or "" (n,) of the pairs of patients with ascending codes."""
    kinds = np.full(len(codes), "", "U6")
    weak_first = sorted(same.items(), key=lambda pair: pair[1] == FILE)  # the stronger one stays
    for (a, b), kind in weak_first:
        kinds[np.searchsorted(codes, first.people[a] * width + second.people[b])] = kind
    return kinds
