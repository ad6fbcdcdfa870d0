"""The auxiliary classifier (CheXNet, Rajpurkar et al. 2017): which findings does an image show?"""

import torch.nn.functional as F
from torch import Tensor, nn


class Classifier(nn.Module):
    """Resizes to the network's input, prepares the channels and gives one logit a finding.

    ``entry`` prepares gray images (B, 1, H, W) in [0, 1] for the backbone; ``size`` is the input's
    in pixels (the paper: 224 from 256); None: as it comes.
    """

    def __init__(self, entry: nn.Module, backbone: nn.Module, *, size: int | None) -> None:
        super().__init__()
        self.entry, self.backbone, self.size = entry, backbone, size

    def forward(self, images: Tensor) -> Tensor:
        """Logits (B, labels); sigmoid of it is the probability of each finding."""
        if self.size is not None and images.shape[-1] != self.size:
            images = F.interpolate(
                images, size=(self.size, self.size), mode="bilinear", antialias=True
            )
        return self.backbone(self.entry(images))

    def with_features(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, labels), and the features (B, n) that the last linear layer reads."""
        seen: list[Tensor] = []
        last = [layer for layer in self.backbone.modules() if isinstance(layer, nn.Linear)][-1]
        hook = last.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        try:
            return self(images), seen[-1]
        finally:
            hook.remove()
