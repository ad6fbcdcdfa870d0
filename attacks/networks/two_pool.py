"""The head of the retrieval network (Packhäuser et al. 2022): it keeps where things lie."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class TwoPoolHead(nn.Module):
    """Average and max pooling to P × P cells, 1×1 convolution, two linear layers.

    Args:
        channels: of the feature maps (B, channels, h, w), of any size.
        pooled: P, the paper's 5.
        maps: after the convolution, the paper's 100.
        features: outputs (B, features), the paper's 128.
    """

    def __init__(self, channels: int, *, pooled: int, maps: int, features: int) -> None:
        super().__init__()
        self.average = nn.AdaptiveAvgPool2d(pooled)
        self.most = nn.AdaptiveMaxPool2d(pooled)
        self.reduce = nn.Conv2d(2 * channels, maps, 1)
        self.hidden = nn.Linear(maps * pooled**2, features)
        self.last = nn.Linear(features, features)

    def forward(self, maps: Tensor) -> Tensor:
        both = torch.cat((self.average(maps), self.most(maps)), dim=1)
        return self.last(F.relu(self.hidden(F.relu(self.reduce(both)).flatten(1))))


def feature_maps(network: nn.Module) -> tuple[list[nn.Module], int]:
    """What of a backbone stands before its global pooling, and its channels."""
    part = network.get_submodule
    if hasattr(network, "features"):  # DenseNet
        return [part("features"), nn.ReLU(inplace=True)], _inputs(part("classifier"))
    if hasattr(network, "stem"):  # ours
        return [part("stem"), part("blocks")], _inputs(part("fc"))
    parts = [module for name, module in network.named_children() if name not in ("avgpool", "fc")]
    return parts, _inputs(part("fc"))


def _inputs(layer: nn.Module) -> int:
    assert isinstance(layer, nn.Linear)
    return layer.in_features
