"""The siamese verifier (Packhäuser et al. 2022): do two radiographs show the same person?"""

import torch
from torch import Tensor, nn


class Siamese(nn.Module):
    """One backbone for both images, then sigmoid, |z1 − z2| and a linear layer to one logit.

    Parameter names (``model``, ``fc_end``) are those of the published weights. ``entry`` prepares
    gray images (B, 1, H, W) in [0, 1] for the backbone, which gives ``features`` values (the
    paper's 128).
    """

    def __init__(self, entry: nn.Module, backbone: nn.Module, *, features: int) -> None:
        super().__init__()
        self.entry, self.model = entry, backbone
        self.fc_end = nn.Linear(features, 1)

    def embed(self, images: Tensor) -> Tensor:
        """Embeddings (B, features), before the sigmoid."""
        return self.model(self.entry(images))

    def compare(self, first: Tensor, second: Tensor) -> Tensor:
        """Logits (…,) of two sets of embeddings (…, features) that broadcast."""
        difference = (torch.sigmoid(first) - torch.sigmoid(second)).abs()
        return self.fc_end(difference).squeeze(-1)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Logits (B,) of pairs of images; sigmoid of it is the paper's similarity score."""
        z = self.embed(torch.cat((first, second)))
        return self.compare(*z.chunk(2))
