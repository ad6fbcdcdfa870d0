"""What the released images are still good for: reading findings from them."""

from __future__ import annotations

import torch

from anonymize.data.batches import Images
from anonymize.data.dataset import Dataset
from anonymize.networks.build import build_classifier
from anonymize.networks.chexnet import Classifier
from anonymize.options import ClassifierOptions
from anonymize.seeds import derive_seed
from anonymize.statistics import MeasuredLabels, measure_classification
from anonymize.training.compute import Compute
from anonymize.training.stages import ClassifierStage, Labelled, predict
from attacks.training.learning import Learning


def frozen_utility(
    classifier: Classifier,
    released: Images,
    data: Dataset,
    *,
    compute: Compute,
    resamplings: int,
    seed: int,
) -> MeasuredLabels:
    """A classifier trained on real images reads the released test images."""
    return _measure(classifier, released, data, compute, resamplings, seed)


def retrained_utility(
    options: ClassifierOptions,
    released: Images,
    data: Dataset,
    *,
    learning: Learning,
    resamplings: int,
    seed: int,
) -> MeasuredLabels:
    """A classifier trained on the released training images reads the real test images.

    This is what a user of the release does: learn from it, then work on images of the clinic.

    Args:
        learning: where it is trained, and what is kept on the way.
    """
    torch.manual_seed(derive_seed(seed, "utility"))
    classifier = build_classifier(options, len(data.table.labels))
    stage = ClassifierStage(
        classifier,
        options,
        Labelled(released, data.targets, data.table.part("train"), data.table.part("validation")),
        compute=learning.compute,
        name="utility",
    )
    learning.train(stage, seed=seed)
    return _measure(classifier, data.images, data, learning.compute, resamplings, seed)


def _measure(
    classifier: Classifier,
    images: Images,
    data: Dataset,
    compute: Compute,
    resamplings: int,
    seed: int,
) -> MeasuredLabels:
    rows = data.table.part("test")
    return measure_classification(
        predict(classifier, images, rows, compute.device),
        data.targets[rows],
        data.table.frame.loc[rows, "patient_id"].to_numpy(),
        data.table.labels,
        resamplings=resamplings,
        seed=seed,
    )
