"""Gradient histograms, compared by a metric that patients teach.

Histograms at several scales are reduced by principal components and whitened by what varies within
patients, and between changed copies of one image (within-class covariance normalization, Hatch et
al. 2006): a direction in which images of one patient differ counts little. It learns in seconds
from a few hundred images, where a network of the same data is still below plain histograms.

Who has pairs of a real image and its release also learns a linear map from the one to the other
(:mod:`attacks.training.restoration`), and looks at probes through it where that is better on the
validation part: noise that hides every gradient does not hide where an image is bright.
"""

from dataclasses import replace
from functools import partial
from typing import Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from sklearn.decomposition import PCA
from torch import Tensor

from anonymize.data.batches import augmentation
from anonymize.model_file import load_tensors, save_tensors
from anonymize.networks.gradients import histograms
from anonymize.seeds import derive_seed
from anonymize.whitening import whitening
from attacks.attacker import Attacker, Auxiliary, Described, ImageSet, Remembered, unit_batches
from attacks.knowledge.levels import Ladder, Setting, learner, own
from attacks.measuring.judged import judged_on
from attacks.measuring.metrics import Owners, pair_auc
from attacks.measuring.similarity import similarity
from attacks.training.learning import LearnerOptions, Learning
from attacks.training.once import once
from attacks.training.restoration import Restoration, gray_levels
from attacks.training.whitening import Metric, Taught, learnt_matrices

BATCH = 32
POWER = 2  # iterations of the randomized decomposition: trailing components need not be exact
Changes = torch.nn.Module


class HistogramMetricOptions(LearnerOptions):
    """The attacker ``histogram-metric``: gradient histograms, compared as patients teach."""

    cells: tuple[int, ...] = Field((6, 8, 12, 16), description="cells along a side, scale by scale")
    components: tuple[int, ...] = Field(
        (100, 200, 400), description="principal components; the best on validation is taken"
    )
    shrinkage: tuple[float, ...] = Field(
        (0.1, 0.3), description="of the scatter towards a multiple of the identity, likewise"
    )
    restoration: tuple[float, ...] = Field(
        (1.0, 10.0),
        description="ridges of a linear map that takes released images back to real ones, in "
        "units of the mean variance; the best on validation, or no map, is taken",
    )
    copies: int = Field(4, ge=0, description="changed copies of each training image")
    most: int = Field(6000, ge=2, description="training images, drawn where there are more")

    @model_validator(mode="after")
    def _grid(self) -> Self:
        if not self.cells or not self.components or not self.shrinkage:
            raise ValueError("cells, components and shrinkage need one value or more each")
        if min(self.cells) < 3 or min(self.components) < 2:
            raise ValueError("cells must be at least 3 (a block), components at least 2")
        if not all(0 < s <= 1 for s in self.shrinkage):
            raise ValueError("shrinkage must lie in (0, 1]")
        if not all(r > 0 for r in self.restoration):
            raise ValueError("restoration must be above 0; leave it empty for no map")
        return self


class HistogramMetric(Described):
    """Cosine of whitened histograms; components, shrinkage and restoration are those with the best
    pair AUC on the validation part.

    Args:
        learning: where histograms are computed; its checkpoint holds what was learnt once it was.
    """

    name = "histogram-metric"
    Options = HistogramMetricOptions

    @classmethod
    def ladder(cls) -> Ladder:
        return learner(cls, "a metric of gradient histograms", cls._at)

    @classmethod
    def _at(cls, knowledge: Literal["ignorant", "informed"], setting: Setting) -> Attacker:
        options = own(cls, setting.options)
        if setting.options.evaluation.scenario == "released-released":
            options = options.model_copy(update={"restoration": ()})  # the gallery is released too
        return cls(options, knowledge=knowledge, learning=setting.learning)

    def __init__(
        self,
        options: HistogramMetricOptions | None = None,
        *,
        knowledge: Literal["ignorant", "informed"] = "informed",
        learning: Learning | None = None,
    ) -> None:
        super().__init__(options)
        self.options, self.knowledge = self.settings, knowledge
        self.learning = learning or Learning()

    def fit(self, auxiliary: Auxiliary, *, seed: int) -> Self:
        """Learns the metric."""
        kept = self.learning.checkpoint
        if kept is not None and kept.is_file():
            self._know({name: tensor.numpy() for name, tensor in load_tensors(kept)[0].items()})
            return self
        rng = np.random.default_rng(derive_seed(seed, self.name))
        torch.manual_seed(int(rng.integers(2**31)))
        rows = np.sort(rng.permutation(len(auxiliary.real))[: self.options.most])
        real, released = auxiliary.real, auxiliary.released
        if len(rows) < len(real):
            auxiliary = replace(auxiliary, real=real[rows], released=released[rows])
        shown, probes = self._shown(auxiliary)
        learnt = self._learn(shown, probes, auxiliary.validation_real)
        self._know(learnt)
        if kept is not None:
            tensors = {name: torch.from_numpy(a).contiguous() for name, a in learnt.items()}
            save_tensors(tensors, {}, kept)
        return self

    def features(self, images: Tensor) -> np.ndarray:
        """float32 (N, D) of images (N, 1, H, W), of mirrored ones beside them if so chosen."""
        return np.hstack(
            [self._describe(s) @ self._learnt["projection"] for s in self._sides(images)]
        )

    @property
    def asymmetric(self) -> bool:
        """Probes are restored."""
        return "restoration" in self._learnt

    def probe_features(self, images: Tensor) -> np.ndarray:
        """The same, of what the images were before their release, as far as that is known."""
        if not self.asymmetric:
            return self.features(images)
        matrix, offset = self._learnt["restoration"], self._learnt["offset"]
        wide = (np.hstack([self._describe(s), gray_levels(s)]) for s in self._sides(images))
        return np.hstack([side @ matrix + offset for side in wide])

    def _shown(self, known: Auxiliary) -> tuple[list[ImageSet], ImageSet]:
        """Training images of each kind, and validation probes."""
        if self.knowledge == "ignorant":
            return [known.real], known.validation_real
        if self.options.trained_on == "released-released":
            return [known.released], known.validation_released
        return [known.real, known.released], known.validation_released

    def _learn(
        self, shown: list[ImageSet], probes: ImageSet, gallery: ImageSet
    ) -> dict[str, np.ndarray]:
        """What :meth:`_know` takes."""
        taught = self._teach(shown)
        asked, known = once(
            lambda: [
                [taught.basis.transform(self._describe(side)) for side in self._sides(s.images)]
                for s in (probes, gallery)
            ],
            probes.images,
            *(gallery.images, taught.basis, self.options.test_flip, *self._describing),
        )
        owners = (probes.owners, gallery.owners)
        found = [self._best(taught.within(), asked, known, owners)]
        if len(shown) == 1:
            return learnt_matrices(found[0], taught, None)
        gray = gray_levels(shown[1].images)
        wide = [
            np.hstack([side, gray_levels(images)])
            for side, images in zip(asked, self._sides(probes.images), strict=True)
        ]
        of_real, (real, released) = taught.within(slice(1)), taught.reduced
        for ridge in self.options.restoration:
            back = Restoration.fit(released, gray, real, ridge=ridge)
            restored = [back.restored(side) for side in wide]
            found.append(self._best(of_real, restored, known, owners, back))
        return learnt_matrices(max(found, key=lambda metric: metric.auc), taught, gray)

    def _teach(self, shown: list[ImageSet]) -> Taught:
        *others, last = (images.images for images in shown)
        most = max(self.options.components)
        reduction = partial(self._reduced, shown)
        basis, means, reduced = once(reduction, last, *others, most, *self._describing)
        copies: list[list[np.ndarray]] = [[] for _ in shown]
        for number in range(self.options.copies):  # of each kind in turn
            which = number % len(shown)
            changed = self._describe(shown[which].images, augmentation()) - means[which]
            copies[which].append(basis.transform(changed))
        return Taught(basis, means, reduced, copies, [images.owners for images in shown])

    def _reduced(self, shown: list[ImageSet]) -> tuple[PCA, list[np.ndarray], list[np.ndarray]]:
        """Principal components of all histograms, the mean of each kind, and what it has of them;
        copies, which are drawn, have no part in them."""
        found = [self._describe(images.images) for images in shown]
        means = [kind.mean(axis=0) for kind in found]
        for kind, mean in zip(found, means, strict=True):
            kind -= mean
        basis = PCA(
            min(max(self.options.components), len(shown[0]) - 1),
            svd_solver="randomized",
            iterated_power=POWER,
            random_state=0,
        ).fit(np.concatenate(found))
        return basis, means, [basis.transform(kind) for kind in found]

    @property
    def _describing(self) -> tuple[object, ...]:
        """What histograms of given images depend on."""
        return self.options.cells, str(self.learning.device)

    def _know(self, learnt: dict[str, np.ndarray]) -> None:
        """Histograms (N, D) @ "projection" (D, E) are its features; those of probes, where there is
        a "restoration" (D + gray levels, E), are of both."""
        self._learnt = learnt
        self._gallery = Remembered(self.features)

    def _describe(self, images: Tensor, changes: Changes | None = None) -> np.ndarray:
        parts = []
        for batch in unit_batches(images, BATCH, self.learning.device):
            batch = changes(batch) if changes else batch
            parts.append(histograms(batch, *self.options.cells).cpu())
        return torch.cat(parts).numpy()

    def _best(
        self,
        covariance: np.ndarray,
        asked: list[np.ndarray],
        known: list[np.ndarray],
        owners: tuple[Owners, Owners],
        restoration: Restoration | None = None,
    ) -> Metric:
        """The whitening of the components that tells patients of the validation part apart best."""
        found = []
        for components in dict.fromkeys(min(c, len(covariance)) for c in self.options.components):
            for shrinkage in self.options.shrinkage:
                metric = whitening(covariance[:components, :components], shrinkage)
                probes, gallery = (
                    np.hstack([side[:, :components] @ metric for side in sides])
                    for sides in (asked, known)
                )
                with judged_on("the validation part"):
                    auc = pair_auc(similarity(probes, gallery, self.distance), *owners)
                found.append(Metric(auc, metric, restoration))
        return max(found, key=lambda metric: metric.auc)

    def _sides(self, images: Tensor) -> list[Tensor]:
        return [images, images.flip(-1)] if self.options.test_flip else [images]
