"""The numbers: networks from their options."""

import torch

from anonymize.generator_options import FlowOptions
from anonymize.networks.backbones import backbone, input_of
from anonymize.networks.chexnet import Classifier
from anonymize.networks.siamese import Siamese
from anonymize.networks.unet import UNet
from anonymize.options import ClassifierOptions, VerifierOptions


def build_generator(options: FlowOptions) -> UNet:
    """PriCheXy-Net's generator: gray image → raw field (B, 2, H, W) in (−1, 1), or its length alone
    (B, 1, H, W) where the direction is drawn; and a channel for the tone."""
    outputs = (2 if options.drawn is None else 1) + (options.tone is not None)
    return UNet(1, outputs, features=options.features, levels=options.levels, activation=torch.tanh)


def build_classifier(options: ClassifierOptions, labels: int) -> Classifier:
    """The auxiliary classifier with ``labels`` outputs."""
    network = backbone(options.architecture, labels, weights=options.weights, width=options.width)
    return Classifier(input_of(options.architecture), network, size=options.size)


def build_verifier(options: VerifierOptions) -> Siamese:
    """The siamese verifier."""
    network = backbone(
        options.architecture, options.features, weights=options.weights, width=options.width
    )
    return Siamese(input_of(options.architecture), network, features=options.features)
