"""The soft-biometric floor: age, sex and view read from the released images, and what they link.

A network learns to read the facts of the training images: of the real ones, and by an informed
attacker of the released ones too, since it reads both sides of a pair. For an image x it gives
probabilities P(a | x) of every level a of a fact, calibrated on the validation part, released for
probes and real for the gallery: of the age a normal density around the linear regression of the
true age on the network's, with its residual deviation; of sex and view a logistic regression on the
network's logit (Platt 1999). With the likelihood ratios R of
:mod:`attacks.knowledge.facts`, learnt on the training part, the link score of a probe x and a
gallery image y is the log likelihood ratio of "the same patient", were the facts independent given
the images:

    Σ over the facts of log Σ_a Σ_b P(a | x) R(a, b) P(b | y)

The facts of gallery images are read from the images too, although the adversary may know them:
measured, that links better (phantom 0.77 against 0.73, ChestX-ray14 at 64 px 0.77 against 0.74),
since a network errs alike on two images of one patient.
"""

from functools import partial
from typing import Literal, Self

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from anonymize.data.batches import HeldImages, augmentation
from anonymize.errors import UsageError
from anonymize.networks.build import build_classifier
from anonymize.networks.chexnet import Classifier
from anonymize.options import ClassifierOptions
from anonymize.seeds import derive_seed
from anonymize.training.compute import Compute, Part
from anonymize.training.loop import BatchStage, Figures
from anonymize.training.stages import Labelled, predict
from attacks.attacker import Attacker, Auxiliary, ImageSet
from attacks.knowledge.facts import FACTS, UNKNOWN, LinkModel, known_facts, not_said
from attacks.knowledge.levels import Ladder, Level
from attacks.measuring.metrics import Owners
from attacks.measuring.similarity import check_sets
from attacks.training.learning import Learning

READ = ("age", "sex", "view")


class SoftBiometrics(Attacker):
    """Links by what can be read from the pixels of the probe without looking for an identity.

    Args:
        frame: rows of the data table; ``Owners.image`` counts them. Only those of training and
            validation images are looked at.
        learning: of the network; None: on the CPU, and nothing is kept.
    """

    name = "soft-biometrics"

    @classmethod
    def ladder(cls) -> Ladder:
        return {"informed": cls._level("informed"), "ignorant": cls._level("ignorant")}

    @classmethod
    def _level(cls, knowledge: Literal["ignorant", "informed"]) -> Level:
        kind: Literal["real", "released"] = "released" if knowledge == "informed" else "real"
        shown = "released and real" if kind == "released" else "real"
        return Level(
            lambda setting: cls(
                setting.options.classifier,
                setting.data.table.frame,
                knowledge=knowledge,
                learning=setting.learning,
            ),
            lambda options: f"age, sex and view, read by a network trained on {shown} images",
            learns=kind,
            epochs=lambda options: options.classifier.epochs,
            missing=partial(not_said, READ),
            floor=True,
        )

    def __init__(
        self,
        options: ClassifierOptions,
        frame: pd.DataFrame,
        *,
        knowledge: Literal["ignorant", "informed"] = "informed",
        learning: Learning | None = None,
    ) -> None:
        self.options, self.frame, self.knowledge = options, frame, knowledge
        self.learning = learning or Learning()

    def fit(self, auxiliary: Auxiliary, *, seed: int) -> Self:
        """Trains the network, calibrates it and counts the likelihood ratios. Raises UsageError:
        age, sex and view are all unknown, or the same of all training images."""
        known, learn = auxiliary, [auxiliary.real]
        probes = check = known.validation_real
        if self.knowledge == "informed":
            learn, probes = [known.released, known.real], known.validation_released
        owners = learn[0].owners
        self.facts = known_facts(self.frame, owners.image, READ)
        if not self.facts:
            raise UsageError("attacker soft-biometrics finds no age, sex or view to learn")
        torch.manual_seed(derive_seed(seed, "soft-biometrics"))
        self.network = build_classifier(self.options, len(self.facts))
        values = np.concatenate([self._values(images.owners) for images in learn])
        checked = self._values(probes.owners)
        images = torch.cat([*(images.images for images in learn), probes.images])
        stage = ReadingStage(
            self.network,
            self.options,
            Labelled(
                HeldImages(images),
                np.concatenate((values, checked)),
                np.arange(len(values)),
                np.arange(len(values), len(images)),
            ),
            numeric=[name == "age" for name in self.facts],
            compute=self.learning.compute,
        )
        self.learning.train(stage, seed=seed)
        self.probes = self._calibrated(probes, values)
        self.gallery = self.probes if probes is check else self._calibrated(check, values)
        self.model = LinkModel.learn(self._codes(owners), owners)
        return self

    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """The link score, float32 (P, G)."""
        check_sets(probes, gallery)
        sides = (probes, self.probes), (gallery, self.gallery)
        return self.model.scores(*(self._probabilities(*side) for side in sides))

    def _calibrated(self, images: ImageSet, trained: np.ndarray) -> "list[Reading]":
        """By fact."""
        outputs, values = self._outputs(images.images), self._values(images.owners)
        return [
            Reading(name, outputs[:, k], values[:, k], trained[:, k])
            for k, name in enumerate(self.facts)
        ]

    def _probabilities(self, images: Tensor, read: "list[Reading]") -> dict[str, np.ndarray]:
        outputs = self._outputs(images)
        return {n: read[k].probabilities(outputs[:, k]) for k, n in enumerate(self.facts)}

    def _outputs(self, images: Tensor) -> np.ndarray:
        held = HeldImages(images)
        return predict(self.network, held, np.arange(len(held)), self.learning.device)

    def _codes(self, owners: Owners) -> dict[str, np.ndarray]:
        return {n: FACTS[n].codes(self.frame.iloc[owners.image]) for n in self.facts}

    def _values(self, owners: Owners) -> np.ndarray:
        """Levels of the facts, float32 (N, facts), NaN where unknown."""
        codes = np.stack(list(self._codes(owners).values()), axis=1)
        return np.where(codes == UNKNOWN, np.nan, codes).astype(np.float32)


class ReadingStage(BatchStage):
    """Facts from images: squared error of numbers in units of their deviation, cross-entropy of
    the two-valued; Adam.

    Args:
        data: with the facts as targets.
        numeric: by fact, whether it is a number.
    """

    network: Classifier

    def __init__(
        self,
        network: Classifier,
        options: ClassifierOptions,
        data: Labelled,
        *,
        numeric: list[bool],
        compute: Compute,
    ) -> None:
        super().__init__("reading", options, {"reading": network}, compute)
        self.data, self.rows = data, data.rows
        self.augment = augmentation() if options.augment else nn.Identity()
        self.numeric = compute.put(torch.tensor(numeric))
        mean = np.where(numeric, np.nanmean(data.targets[data.rows], axis=0), 0)
        deviation = np.where(numeric, np.nanstd(data.targets[data.rows], axis=0), 1)
        self.targets = torch.from_numpy((data.targets - mean) / deviation).float()

    def inputs(self, part: Part) -> tuple[Tensor, ...]:
        images = self.augment(self.compute.put(self.data.images.batch(part.rows)))
        return images, self.compute.put(self.targets[torch.as_tensor(part.rows)])

    def loss(self, part: Part, *inputs: Tensor) -> Tensor:
        images, targets = inputs
        return self._loss(self.network(images), targets)

    def validate(self) -> Figures:
        rows = self.data.validation
        outputs = predict(self.network, self.data.images, rows, self.device)
        put, targets = self.compute.put, self.targets[torch.as_tensor(rows)]
        return {"loss": float(self._loss(put(torch.from_numpy(outputs)), put(targets)))}

    def _loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Sum over the facts, mean over the images."""
        known = ~torch.isnan(targets)
        targets = torch.where(known, targets, 0.0)
        squared = (outputs - targets) ** 2
        entropy = F.binary_cross_entropy_with_logits(outputs, targets.clamp(0, 1), reduction="none")
        return (torch.where(self.numeric, squared, entropy) * known).sum() / len(outputs)


class Reading:
    """From a network's output of a fact to probabilities of its levels.

    Args:
        name: of the fact.
        outputs, values: (n,) of validation images, values NaN where unknown; it is calibrated on
            them.
        trained: (m,) values of the training images, which stand in where validation has too few.
    """

    def __init__(
        self, name: str, outputs: np.ndarray, values: np.ndarray, trained: np.ndarray
    ) -> None:
        known = ~np.isnan(values)
        self._numeric, self.levels = name == "age", FACTS[name].levels
        fitted = self._fit_number if self._numeric else self._fit_choice
        fitted(outputs[known].astype(float), values[known], trained[~np.isnan(trained)])

    def _fit_number(self, outputs: np.ndarray, values: np.ndarray, trained: np.ndarray) -> None:
        self.slope, self.offset = float(trained.std()), float(trained.mean())
        self.deviation = self.slope
        if len(values) > 2 and np.ptp(outputs) > 0:
            self.slope, self.offset = np.polyfit(outputs, values, 1)
            residual = values - self.number(outputs)
            self.deviation = max(float(np.sqrt((residual**2).sum() / (len(values) - 2))), 0.5)

    def _fit_choice(self, outputs: np.ndarray, values: np.ndarray, trained: np.ndarray) -> None:
        self.slope, self.offset = 1.0, 0.0
        if len(np.unique(values)) > 1:
            found = LogisticRegression().fit(outputs[:, None], values)
            self.slope, self.offset = float(found.coef_[0, 0]), float(found.intercept_[0])

    def number(self, outputs: np.ndarray) -> np.ndarray:
        """The calibrated output: of a number its value, else the logit of level 1."""
        return self.slope * outputs + self.offset

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """float64 (n, levels) of outputs (n,); each row sums to 1."""
        read = self.number(outputs.astype(float))
        if not self._numeric:
            one = 1 / (1 + np.exp(-read))
            return np.stack((1 - one, one), axis=1)
        away = (
            np.arange(self.levels) - np.clip(read, 0, self.levels - 1)[:, None]
        ) / self.deviation
        density = np.exp(-0.5 * away**2)
        return density / density.sum(axis=1, keepdims=True)
