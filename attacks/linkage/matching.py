"""Scores that mean the same in every call, so that one calibration serves them all.

Features are compared around a mean, and two images have none worth the name: up to ``COMPANY``
reference images stand beside every set, large or small, and the mean is that of all of them. A set
of thousands is thus centred on itself, a single image on the reference.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anonymize.data.batches import HeldImages, Images, in_batches
from anonymize.errors import DataError, UsageError
from anonymize.fingerprint import fingerprint
from anonymize.statistics import Measured
from attacks.attacker import Attacker, Described
from attacks.linkage.embeddings import BATCH, Report, silent, stored_embeddings
from attacks.measuring.metrics import Owners, of_several
from attacks.measuring.search import exact_index
from attacks.measuring.similarity import check_finite, check_sets, products
from attacks.measuring.statistics import measure_identification
from attacks.measuring.streamed import measure_vectors

COMPANY = 100  # reference images beside each set
EVERY = slice(None)
Rows = np.ndarray | slice
MAX_SCORES = 1 << 28  # scores of a matrix: 1 GiB
QUERIES = 4096


@dataclass(frozen=True)
class Pictures:
    """Images to compare.

    Attributes:
        images: by row.
        key: says which they are, so that what was made of them is found again; "": nothing is kept.
    """

    images: Images
    key: str = ""

    def __len__(self) -> int:
        return len(self.images)


class Matcher:
    """Compares probes with a gallery of images of one size, by a matrix of their scores. ``probe``
    and ``gallery``: reference images, as released and real ones."""

    def __init__(self, attacker: Attacker, probe: Tensor, gallery: Tensor) -> None:
        self.attacker, self.reference = attacker, (probe, gallery)

    def scores(self, probes: Pictures, gallery: Pictures) -> np.ndarray:
        """float32 (P, G), higher = rather the same patient.

        Raises:
            DataError: an empty set, or scores that are no numbers.
            UsageError: too many pairs for one matrix.
        """
        check_sets(probes, gallery)
        if len(probes) * len(gallery) > MAX_SCORES:
            raise UsageError(
                f"this attacker scores at most {MAX_SCORES:,} pairs, got {len(probes):,} × "
                f"{len(gallery):,}; take one that describes images, for instance --attacker "
                "histogram-metric"
            )
        scores = self._scores(probes, gallery)
        wrong = int((~np.isfinite(scores)).any(axis=1).sum())
        if wrong:
            raise DataError(
                f"attacker {self.attacker.name} gave no number for {wrong} of {len(scores)} "
                "probes; look for NaN in its images and weights"
            )
        return scores

    def nearest(
        self, probes: Pictures, gallery: Pictures, k: int, report: Report
    ) -> tuple[np.ndarray, np.ndarray]:
        """Scores, float32 (P, k), and rows, int64 (P, k), of the ``k`` most alike gallery images of
        each probe, the most alike first; of all where there are fewer."""
        scores = self.scores(probes, gallery)
        columns = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(scores, columns, axis=1), columns

    def measure(
        self,
        probes: Pictures,
        gallery: Pictures,
        owners: tuple[Owners, Owners],
        *,
        counted: Rows = EVERY,
        **drawn: Any,
    ) -> dict[str, Measured]:
        """The figures of `statistics.measure_identification`, ``drawn`` as there; of the probes
        that are ``counted`` alone, whose owners are given. Raises ValueError: no genuine or no
        impostor pairs."""
        return measure_identification(self.scores(probes, gallery)[counted], *owners, **drawn)

    def _scores(self, probes: Pictures, gallery: Pictures) -> np.ndarray:
        beside = [
            torch.cat([pictures.images.batch(np.arange(len(pictures))), reference])
            for pictures, reference in zip((probes, gallery), self.reference, strict=True)
        ]
        return self.attacker.score(*beside)[: len(probes), : len(gallery)]


class Known(Matcher):
    """Of scores (P, G) that are known already, finite ones, of the only images it is asked for."""

    def __init__(self, scores: np.ndarray) -> None:
        self._known = scores

    def _scores(self, probes: Pictures, gallery: Pictures) -> np.ndarray:
        return self._known


class VectorMatcher(Matcher):
    """Of an attacker that describes each image: but for ``scores``, nothing grows with P × G.
    ``folder``: where descriptions of images with a key are kept."""

    attacker: Described

    def __init__(
        self, attacker: Described, probe: Tensor, gallery: Tensor, *, folder: Path, key: str
    ) -> None:
        super().__init__(attacker, probe, gallery)
        self.folder, self.key = folder, key
        check_sets(probe, gallery)
        self._beside = [
            self._features(Pictures(HeldImages(images)), probes=asking)
            for images, asking in ((probe, True), (gallery, False))
        ]

    def nearest(
        self, probes: Pictures, gallery: Pictures, k: int, report: Report
    ) -> tuple[np.ndarray, np.ndarray]:
        asked, known = self._vectors(probes, gallery, report)
        index, k = exact_index(known), min(k, len(known))
        found = [index.search(some, k) for some in in_batches(asked, QUERIES)]
        scores, columns = (np.concatenate(part) for part in zip(*found, strict=True))
        return scores, columns

    def measure(
        self,
        probes: Pictures,
        gallery: Pictures,
        owners: tuple[Owners, Owners],
        *,
        counted: Rows = EVERY,
        **drawn: Any,
    ) -> dict[str, Measured]:
        if of_several(*owners):  # of which the streamed figures know nothing
            return super().measure(probes, gallery, owners, counted=counted, **drawn)
        asked, known = self._vectors(probes, gallery)
        return measure_vectors(asked[counted], known, *owners, **drawn)

    def _scores(self, probes: Pictures, gallery: Pictures) -> np.ndarray:
        asked, known = self._vectors(probes, gallery)
        return asked @ known.T

    def _vectors(
        self, probes: Pictures, gallery: Pictures, report: Report = silent
    ) -> tuple[np.ndarray, np.ndarray]:
        check_sets(probes, gallery)
        centred = []
        sets = ((probes, True), (gallery, False))
        for (pictures, asking), reference in zip(sets, self._beside, strict=True):
            own = self._features(pictures, report, probes=asking)
            total = own.sum(axis=0, dtype=np.float64) + reference.sum(axis=0, dtype=np.float64)
            centred.append(own - (total / (len(own) + len(reference))).astype(np.float32))
        asked, known = centred
        return products(asked, known, self.attacker.distance)

    def _features(self, pictures: Pictures, report: Report = silent, *, probes: bool) -> np.ndarray:
        """float32 (N, D), all finite."""
        describe, key = self.attacker.features, f"{self.key} {pictures.key}"
        if probes and self.attacker.asymmetric:
            describe, key = self.attacker.probe_features, f"{key} probes"

        def described(rows: np.ndarray) -> np.ndarray:
            return describe(pictures.images.batch(rows))

        rows = np.arange(len(pictures))
        if pictures.key:
            return stored_embeddings(
                self.folder / f"embeddings-{fingerprint(key)[:16]}.npy",
                described,
                shape=(len(rows), described(rows[:1]).shape[1]),
                made_from=key,
                progress=report,
            )
        found = np.concatenate([described(some) for some in in_batches(rows, BATCH)])
        check_finite(found)
        return found


def matcher_of(
    attacker: Attacker, probe: Tensor, gallery: Tensor, *, folder: Path, key: str
) -> Matcher:
    """How an attacker compares; reference images float32 (n, 1, H, W) in [0, 1]."""
    if isinstance(attacker, Described):
        return VectorMatcher(attacker, probe, gallery, folder=folder, key=key)
    return Matcher(attacker, probe, gallery)
