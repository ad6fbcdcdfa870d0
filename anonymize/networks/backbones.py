"""Backbones by name: torchvision's with their published weights, and our compact one.

Every backbone takes gray images (B, 1, H, W) in [0, 1]; what torchvision's were trained on
(three channels, ImageNet mean and deviation) is a matter of what stands before it.
"""

import torch
from torch import Tensor, nn

from anonymize.errors import UsageError
from anonymize.networks.compact import CompactResNet

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
TORCHVISION = ("densenet121", "resnet18", "resnet34", "resnet50")
XRV = "densenet121-xrv"
NAMES = ("compact", *TORCHVISION, XRV)
_DECLARED: list[torch.library.Library] = []


def backbone(name: str, features: int, *, weights: str | None = None, width: int = 32) -> nn.Module:
    """The network ``name`` with ``features`` outputs, before any activation.

    Args:
        weights: torchvision's published weights by name ("DEFAULT", "IMAGENET1K_V2"), fetched
            when they are not in torch's hub cache; None: random.
        width: first channels of "compact".

    Raises:
        UsageError: unknown name or weights, or weights that cannot be fetched.
    """
    if name == "compact":
        if weights is not None:
            raise UsageError("architecture compact has no published weights; leave weights empty")
        return CompactResNet(features, width=width)
    if name == XRV:
        if weights is not None:
            raise UsageError(
                f"the published weights of {XRV} are taken with --classifier xrv:NAME; leave "
                "weights empty"
            )
        network = backbone("densenet121", features)
        layers = network.get_submodule("features")
        layers.conv0 = nn.Conv2d(1, 64, 7, stride=2, padding=3, bias=False)
        return network
    if name not in TORCHVISION:
        raise UsageError(f"architecture must be one of {', '.join(NAMES)}; got {name!r}")
    models = torchvision_models()
    try:
        network = models.get_model(name, weights=weights)
    except (KeyError, ValueError) as error:
        known = ", ".join(w.name for w in models.get_model_weights(name))
        raise UsageError(f"{name} has the weights {known}; got {weights!r}") from error
    except OSError as error:
        raise UsageError(
            f"the weights {weights} of {name} could not be fetched ({type(error).__name__}); go "
            "online, put the file into torch's hub cache, or train from scratch with weights=null"
        ) from error
    if name == "densenet121":
        network.classifier = nn.Linear(network.classifier.in_features, features)
    else:
        network.fc = nn.Linear(network.fc.in_features, features)
    return network


class Standardize(nn.Module):
    """Gray images to zero mean and unit deviation over each image."""

    def forward(self, images: Tensor) -> Tensor:
        mean = images.mean((2, 3), keepdim=True)
        return (images - mean) / (images.std((2, 3), keepdim=True, correction=0) + 1e-3)


class ImageNetInput(nn.Module):
    """Gray (B, 1, H, W) in [0, 1] to three equal channels with ImageNet's mean and deviation."""

    mean: Tensor
    std: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name, values in (("mean", IMAGENET_MEAN), ("std", IMAGENET_STD)):
            self.register_buffer(name, torch.tensor(values).view(1, 3, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        return (images - self.mean) / self.std


class XRayVisionInput(nn.Module):
    """Gray (B, 1, H, W) in [0, 1] to [−1024, 1024], which torchxrayvision's networks expect."""

    def forward(self, images: Tensor) -> Tensor:
        return (2 * images - 1) * 1024


def input_of(name: str) -> nn.Module:
    """What stands between a gray image and the backbone ``name``."""
    if name == "compact":
        return Standardize()
    return XRayVisionInput() if name == XRV else ImageNetInput()


def torchvision_models():
    """``torchvision.models``, wherever it can be imported at all."""
    try:
        from torchvision import models
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
        # A torchvision built for CUDA beside a torch built for the CPU finds its compiled
        # operators missing. The models need none of them: declared, they let it be imported.
        _DECLARED.append(torch.library.Library("torchvision", "FRAGMENT"))
        for operator in ("nms", "qnms"):
            _DECLARED[0].define(
                f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            )
        from torchvision import models
    return models
