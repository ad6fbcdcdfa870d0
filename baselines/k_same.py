"""k-Same (Newton, Sweeney and Malin 2005) of patients: the mean of images of k different people."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from anonymize.data.batches import Images
from anonymize.set_anonymizer import Radiographs
from baselines.grouping import by_patient
from baselines.options import KSameOptions
from baselines.set_method import SetMethod


class KSame(SetMethod):
    """Patients are put into groups of k, for good; an output is the mean of one image of each.

    Published k-Same takes the k *nearest* images, and counts images, not people. Means of
    neighbours stay near them, and one patient's images may fill a group. Here a group is k
    patients (2k − 1 at most) of one utility code drawn by lot, every image is used once, and a
    patient's images stay in the group, so that all its outputs together are about the same k
    people. Patients of like many images are put together; images beyond what k patients of the
    group have are withheld. What is promised, and what is not: docs/methods.md.
    """

    name = "k-same"
    Options = KSameOptions

    @property
    def people(self) -> int:
        return self.settings.k

    @property
    def guess(self) -> float:
        return 1 / self.settings.k

    def mixed(self, given: Radiographs, rng: np.random.Generator) -> list[list[np.ndarray]]:
        images = by_patient(given.patients)
        counts = np.array([len(own) for own in images], int)
        return [
            self._outputs([images[i] for i in members], given.targets, rng)
            for members in self._groups(given, counts, rng)
        ]

    def made(
        self, images: Images, outputs: Sequence[np.ndarray], rng: np.random.Generator
    ) -> Tensor:
        return torch.stack([images.batch(rows).mean(dim=0) for rows in outputs]).clamp(0, 1)

    def _groups(
        self, given: Radiographs, counts: np.ndarray, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """k patients each or some more, of one code and like many images."""
        found, k = [], self.settings.k
        for cluster in self.clusters(given, rng):
            drawn = rng.permutation(cluster)
            drawn = drawn[np.argsort(-counts[drawn], kind="stable")]
            cuts = np.arange(1, len(drawn) // k) * k
            found += np.split(drawn, cuts)
        return found

    def _outputs(
        self, images: list[np.ndarray], targets: np.ndarray, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """One image of each patient that still has one, as long as k have; like labels first."""
        ordered = []
        for own in images:
            drawn = rng.permutation(own)
            known = np.nan_to_num(targets[drawn], nan=-1.0)
            ordered.append(drawn[np.lexsort(known.T)] if known.shape[1] else drawn)
        longest = sorted((len(own) for own in images), reverse=True)[self.settings.k - 1]
        return [np.array([own[t] for own in ordered if len(own) > t]) for t in range(longest)]
