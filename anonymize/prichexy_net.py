"""PriCheXy-Net (Packhäuser et al., MICCAI 2023): a U-Net predicts the flow field that deforms."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from anonymize import flow
from anonymize.anonymizer import Anonymizer
from anonymize.errors import ModelError, UsageError
from anonymize.model_file import Card, load_weights, model_path, read_card, sha256, versions
from anonymize.networks.build import build_generator
from anonymize.options import GeneratorOptions, validated


class FlowGenerator(nn.Module):
    """Images to displacements at the network's size: −μ·G(x), Gaussian filtered (Eq. 1)."""

    def __init__(self, options: GeneratorOptions) -> None:
        super().__init__()
        self.unet = build_generator(options)
        self.options = options

    def forward(self, images: Tensor) -> Tensor:
        """(B, 1, H, W) in [0, 1] → displacement (B, 2, H, W), |·| ≤ μ with replicated borders."""
        o = self.options
        return flow.smooth(
            -o.mu * self.unet(images), kernel=o.kernel, sigma=o.sigma, border=o.border
        )


class PriCheXyNet(Anonymizer):
    """A trained flow generator as an anonymizer for images of any size.

    The displacement is predicted at the network's size and applied at the image's own.
    """

    name = "prichexy-net"

    def __init__(self, generator: FlowGenerator, *, size: int, fingerprint: str = "") -> None:
        self.generator = generator.eval().requires_grad_(False)
        self.size, self.fingerprint = size, fingerprint
        self.options = {**generator.options.model_dump(), "size": size}

    @classmethod
    def from_spec(cls, text: str) -> PriCheXyNet:
        """From a run directory or a model file."""
        if not text:
            raise UsageError("prichexy-net needs a run or a model file: prichexy-net:PATH")
        path = model_path(Path(text))
        card = read_card(path)
        if card.kind != "anonymizer" or card.method != cls.name:
            raise ModelError(f"{path} holds {card.method or card.kind}, not {cls.name}")
        generator = FlowGenerator(validated(GeneratorOptions, card.architecture))
        load_weights(generator.unet, path)
        return cls(generator, size=card.size, fingerprint=sha256(path))

    def card(self, *, data: dict, figures: dict[str, float]) -> Card:
        """The card of this model for its file."""
        return Card(
            kind="anonymizer",
            method=self.name,
            options=self.options,
            architecture=self.generator.options.model_dump(),
            size=self.size,
            data=data,
            versions=versions(),
            figures=figures,
        )

    @property
    def changes_nothing(self) -> bool:
        return self.generator.options.mu == 0

    def to(self, device: torch.device | str) -> PriCheXyNet:
        self.generator.to(device)
        return self

    @torch.no_grad()
    def displacement(self, images: Tensor) -> Tensor:
        size = (self.size, self.size)
        seen = images.float()
        if tuple(images.shape[-2:]) != size:
            seen = F.interpolate(seen, size=size, mode="bilinear", antialias=True).clamp(0, 1)
        return flow.resize(self.generator(seen), tuple(images.shape[-2:]))

    def anonymize(self, images: Tensor) -> Tensor:
        return flow.warp(images, self.displacement(images))
