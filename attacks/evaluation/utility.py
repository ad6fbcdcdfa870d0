"""Who uses a release: a classifier that learns to read findings from it."""

from dataclasses import replace

import torch

from anonymize.networks.build import build_classifier
from anonymize.networks.chexnet import Classifier
from anonymize.options import TrainOptions
from anonymize.seeds import derive_seed
from anonymize.training.stages import ClassifierStage, Labelled
from attacks.training.learning import Learning


def retrained(
    learns: Labelled, options: TrainOptions, learning: Learning, repeat: int
) -> Classifier:
    """A classifier of all labels that learnt from these images alone.

    On a release: its user learns from it, then works on images of the clinic.

    Args:
        learns: images, those that it learns from, and those that decide when training ends. An
            output of several people stands in as many rows as images contributed, with the findings
            of each: together as if with their mean.
        repeat: which of several independent trainings. It alone decides on the start and the
            order, so that two sets of images are compared with the same luck.
    """
    seed = derive_seed(options.seed, "utility", repeat)
    torch.manual_seed(seed)
    classifier = build_classifier(options.classifier, learns.targets.shape[1])
    learns = replace(learns, images=learning.compute.held(learns.images))
    stage = ClassifierStage(
        classifier, options.classifier, learns, compute=learning.compute, name="utility"
    )
    learning.train(stage, seed=seed)
    return classifier
