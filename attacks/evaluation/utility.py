"""What the released images are still good for: reading findings from them."""

from __future__ import annotations

import torch

from anonymize.data.batches import Images
from anonymize.data.dataset import Dataset
from anonymize.networks.build import build_classifier
from anonymize.networks.chexnet import Classifier
from anonymize.options import TrainOptions
from anonymize.seeds import derive_seed
from anonymize.statistics import MeasuredLabels, measure_classification
from anonymize.training.compute import Compute
from anonymize.training.stages import ClassifierStage, Labelled, predict
from attacks.training.learning import Learning


def labels_read(
    classifier: Classifier,
    images: Images,
    data: Dataset,
    options: TrainOptions,
    compute: Compute,
) -> MeasuredLabels:
    """The findings that a classifier reads from ``images`` of the test part."""
    rows = data.table.part("test")
    return measure_classification(
        predict(classifier, images, rows, compute.device),
        data.targets[rows],
        data.table.frame.loc[rows, "patient_id"].to_numpy(),
        data.table.labels,
        resamplings=options.evaluation.resamplings,
        seed=options.seed,
    )


def retrained(
    released: Images, data: Dataset, options: TrainOptions, learning: Learning
) -> Classifier:
    """A classifier trained on the released training images.

    A user of the release does that: learns from it, then works on images of the clinic.

    Args:
        learning: where it is trained, and what is kept on the way.
    """
    torch.manual_seed(derive_seed(options.seed, "utility"))
    classifier = build_classifier(options.classifier, len(data.table.labels))
    stage = ClassifierStage(
        classifier,
        options.classifier,
        Labelled(released, data.targets, data.table.part("train"), data.table.part("validation")),
        compute=learning.compute,
        name="utility",
    )
    learning.train(stage, seed=options.seed)
    return classifier
