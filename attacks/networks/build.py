"""The numbers: embedding networks from their options."""

from __future__ import annotations

from torch import nn

from anonymize.errors import UsageError
from anonymize.identity_options import ContrastiveOptions, RetrievalOptions
from anonymize.networks.backbones import backbone, input_of
from attacks.networks.gradient_net import GradientNet
from attacks.networks.resolution import Averaged
from attacks.networks.two_pool import TwoPoolHead
from attacks.networks.two_stream import TwoStream

OWN = {"gradients": GradientNet, "two-stream": TwoStream}


def build_contrastive(options: ContrastiveOptions) -> nn.Module:
    """Gray images (B, 1, H, W) in [0, 1] → embeddings (B, features)."""
    name = options.architecture
    if name in OWN:
        if options.weights is not None:
            raise UsageError(f"architecture {name} has no published weights; leave weights empty")
        parts = [OWN[name](options.features, width=options.width)]
    else:
        network = backbone(name, options.features, weights=options.weights, width=options.width)
        parts = [input_of(name), network]
    return nn.Sequential(*_resolution(options), *parts)


def build_retrieval(options: RetrievalOptions) -> nn.Sequential:
    """Gray images (B, 1, H, W) in [0, 1] → embeddings (B, features); ``[0]`` is the backbone,
    which the first phase keeps as it is, and ``[1]`` the head."""
    name = options.architecture
    body, channels = _feature_maps(backbone(name, 1, weights=options.weights, width=options.width))
    head = TwoPoolHead(
        channels, pooled=options.pooled, maps=options.maps, features=options.features
    )
    return nn.Sequential(nn.Sequential(*_resolution(options), input_of(name), *body), head)


def _resolution(options: ContrastiveOptions | RetrievalOptions) -> list[nn.Module]:
    return [] if options.side is None else [Averaged(options.side)]


def _feature_maps(network: nn.Module) -> tuple[list[nn.Module], int]:
    """What of a backbone stands before its global pooling, and its channels."""
    if hasattr(network, "features"):  # DenseNet
        return [network.features, nn.ReLU(inplace=True)], network.classifier.in_features
    if hasattr(network, "stem"):  # ours
        return [network.stem, network.blocks], network.fc.in_features
    parts = [module for name, module in network.named_children() if name not in ("avgpool", "fc")]
    return parts, network.fc.in_features
