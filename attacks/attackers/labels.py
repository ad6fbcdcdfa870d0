"""What a release says of its outputs, beside what is read in real images: labels link, too.

Where a method says itself what its outputs show, its labels are no patient's, and may tell more of
those who went in than true findings do. A network learns from real images to read findings; the
nearer what it reads in an image of the gallery comes to an output's labels, the more alike they
are. It looks at no output, so it adds to who does.
"""

from typing import Self

import numpy as np
import torch
from scipy.spatial.distance import cdist
from scipy.special import expit
from torch import Tensor

from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import HeldImages
from anonymize.errors import UsageError
from anonymize.networks.build import build_classifier
from anonymize.options import ClassifierOptions
from anonymize.seeds import derive_seed
from anonymize.set_anonymizer import SetAnonymizer
from anonymize.training.stages import ClassifierStage, Labelled, predict
from attacks.attacker import Attacker, Auxiliary, ImageSet, Remembered
from attacks.knowledge.levels import Ladder, Level
from attacks.measuring.similarity import check_sets
from attacks.training.learning import Learning


def labels_alike(said: np.ndarray, read: np.ndarray) -> np.ndarray:
    """Minus the sum of absolute differences, float32 (P, G).

    Args:
        said: (P, L) labels of outputs; what is not known of one is as in the mean of the others,
            and a label that is known of none counts nothing.
        read: (G, L) logits.
    """
    known = ~np.isnan(said).all(axis=0)
    said, read = said[:, known], expit(read[:, known])
    said = np.where(np.isnan(said), np.nanmean(said, axis=0), said)
    return -cdist(said, read, "cityblock").astype(np.float32)


class Labels(Attacker):
    """Links by the labels that a method says of its outputs.

    Args:
        targets: (N, L) findings, NaN unknown; ``Owners.image`` counts them. Only those of training
            and validation images are looked at.
        learning: of the network; None: on the CPU, and nothing is kept.
    """

    name = "labels"

    @classmethod
    def ladder(cls) -> Ladder:
        return {
            "ignorant": Level(
                lambda setting: cls(
                    setting.options.classifier, setting.data.told.targets, setting.learning
                ),
                lambda options: (
                    "labels that the method says of its outputs, and what a network trained on "
                    "real images reads in others; looks at no output"
                ),
                learns="real",
                epochs=lambda options: options.classifier.epochs,
                not_of=_says_nothing,
                not_of_files=lambda options: (
                    "attacker labels needs what a method said of its outputs; attacks evaluate has "
                    "it, and files do not hold it"
                ),
            )
        }

    def __init__(
        self, options: ClassifierOptions, targets: np.ndarray, learning: Learning | None = None
    ) -> None:
        super().__init__()
        self.options, self.targets = options, targets
        self.learning = learning or Learning()

    def fit(self, auxiliary: Auxiliary, *, seed: int) -> Self:
        """Trains the network."""
        learn, check = auxiliary.real, auxiliary.validation_real
        torch.manual_seed(derive_seed(seed, self.name))
        self.network = build_classifier(self.options, self.targets.shape[1])
        known = Labelled(
            HeldImages(torch.cat((learn.images, check.images))),
            self.targets[np.concatenate((learn.owners.image, check.owners.image))],
            np.arange(len(learn)),
            np.arange(len(learn), len(learn) + len(check)),
        )
        compute = self.learning.compute
        stage = ClassifierStage(
            self.network, self.options, known, compute=compute, name="reader of labels"
        )
        self.learning.train(stage, seed=seed)
        self._read = Remembered(self._logits)
        return self

    def link(self, probes: ImageSet, gallery: ImageSet) -> np.ndarray:
        """:func:`labels_alike` of the probes' labels, float32 (P, G). Raises UsageError: nothing is
        said of the probes."""
        check_sets(probes, gallery)
        if probes.labels is None:
            raise UsageError("attacker labels needs a method that says what its outputs show")
        return labels_alike(probes.labels, self._read(gallery.images))

    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """There is nothing to look at."""
        raise UsageError(f"attacker {self.name} looks at no output; call link with sets of images")

    def _logits(self, images: Tensor) -> np.ndarray:
        held = HeldImages(images)
        return predict(self.network, held, np.arange(len(held)), self.learning.device)


def _says_nothing(model: Anonymizer) -> str:
    says = isinstance(model, SetAnonymizer) and model.says
    return "" if says else f"{model.name} says nothing of its own of its outputs"
