"""The code of a probe beside what is read from a real image: who has the method, and its pool.

Where an output depends on its patient through one of a few codes, there is nothing else to be
found. Whoever has the method knows the code of every output, since it knows whom the method draws
from, and reads in gallery images what the method reads. What an image of a patient of a code looks
like is taken to be normal around the code's centre, with one covariance for all (linear
discriminant analysis); the score is the likelihood ratio of the probe's code.
"""

from typing import Self

import numpy as np
from torch import Tensor

from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import HeldImages
from anonymize.errors import DataError, UsageError
from anonymize.set_anonymizer import Coding, SetAnonymizer
from attacks.attacker import Attacker, Auxiliary, Remembered
from attacks.knowledge.levels import Ladder, Level
from attacks.measuring.metrics import genuine_pairs
from attacks.measuring.similarity import check_sets

RIDGE = 1e-3  # of the mean variance, where pairs are few or labels are told apart by nothing


class Codes(Attacker):
    """Likelihood ratios of the codes that a method sends. ``coding``: of the method; None: it has
    none, and nothing can be learnt."""

    name = "codes"
    knowledge = "informed"

    @classmethod
    def ladder(cls) -> Ladder:
        return {
            "white-box": Level(
                lambda setting: cls(None if setting.model is None else _coding(setting.model)),
                lambda options: (
                    "the code of a released image, known from the method and its pool, "
                    "and what the method reads in real ones"
                ),
                learns="released",
                once=True,
                compares="released-real",
                trained_on=lambda options: "released-real",
                not_of=lambda model: (
                    "" if _coding(model) else f"outputs of {model.name} follow from no codes alone"
                ),
                not_of_files=lambda options: "it needs the pool of the method",
            )
        }

    def __init__(self, coding: Coding | None = None) -> None:
        super().__init__()
        self.coding = coding

    def fit(self, auxiliary: Auxiliary, *, seed: int) -> Self:
        """Learns how far images of a patient lie from his code, and how frequent each code is.

        Raises:
            UsageError: a method without codes.
            DataError: no patient of the training part has several images.
        """
        if self.coding is None:
            raise UsageError("attacker codes needs a method of codes, utility-code for instance")
        centres = self.coding.centres
        self._read = Remembered(self._described)
        sent = self.coding.sent(HeldImages(auxiliary.released.images))
        probe, other = np.nonzero(genuine_pairs(auxiliary.released.owners, auxiliary.real.owners))
        if not len(probe):
            raise DataError("attacker codes needs a patient of several images in the training part")
        away = self._read(auxiliary.real.images)[other] - centres[sent[probe]]
        spread = away.T @ away / len(away)
        ridge = RIDGE * (np.trace(spread) / len(spread) or 1)
        self._precision = np.linalg.inv(spread + ridge * np.eye(len(spread)))
        counts = np.bincount(sent, minlength=len(centres)) + 1
        self._share = np.log(counts / counts.sum())
        return self

    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """float32 (P, G): log-likelihood ratios."""
        check_sets(probes, gallery)
        assert self.coding is not None  # it has learnt
        away = self._read(gallery)[:, None] - self.coding.centres
        likely = -np.einsum("gkl,lm,gkm->gk", away, self._precision, away) / 2
        ratio = likely - np.logaddexp.reduce(likely + self._share, axis=1, keepdims=True)
        return ratio[:, self.coding.sent(HeldImages(probes))].T.astype(np.float32)

    def _described(self, images: Tensor) -> np.ndarray:
        assert self.coding is not None  # it has learnt
        return self.coding.read(HeldImages(images))


def _coding(model: Anonymizer) -> Coding | None:
    return model.coding if isinstance(model, SetAnonymizer) else None
