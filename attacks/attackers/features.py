"""Re-identification by the features of a network that was trained on other pictures.

After the linkage attack of "privacy risk analysis for whole-slide images": features of networks
trained on ImageNet, of the whole image, of its centre, or of crops shifted against each other.
"""

from pathlib import Path
from typing import Literal, Self

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor

from anonymize.errors import UsageError
from anonymize.section import Options
from attacks.attacker import Attacker, Remembered, unit_batches
from attacks.knowledge.levels import Ladder, Level, ladder_of_untaught, own
from attacks.measuring.similarity import check_sets, similarity
from attacks.networks.pretrained import pretrained

Place = tuple[float, float]  # of a crop, from 0 (top, left) to 1 (bottom, right)
CENTRE: Place = (0.5, 0.5)
SHIFTED: tuple[Place, ...] = tuple((y, x) for y in (0.0, 0.5, 1.0) for x in (0.0, 0.5, 1.0))


class FeaturesOptions(Options):
    """The attacker ``features``: a network with published weights."""

    network: str = Field("resnet50", description="of torchvision; timm:NAME for one of timm")
    weights: str = Field(
        "DEFAULT",
        description="published weights by name (timm: by tag), fetched where they are not in the "
        "cache; 'random' for a network that learnt nothing",
    )
    file: Path | None = Field(
        None, description="a file of published weights instead (.safetensors, or torch.save's)"
    )
    crop: Literal["whole", "central", "shifted"] = Field(
        "whole",
        description="what of an image is looked at; 'shifted': the probe's centre, the most alike "
        "of nine crops of the gallery image",
    )
    fraction: float = Field(0.8, gt=0, lt=1, description="side of a crop, as a share of the image")
    size: int = Field(224, ge=32, le=1024, description="a crop is resized to size × size pixels")
    distance: Literal["cosine", "euclidean"] = Field("cosine", description="of two features")
    batch: int = Field(32, ge=1, description="crops a step")

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if self.file is not None and self.weights != "DEFAULT":
            raise ValueError(
                f"weights come from a file or by name, not both; got {self.weights!r} beside a file"
            )
        return self


def described(options: FeaturesOptions) -> str:
    """The attacker in words."""
    weights = f"weights {options.weights}" if options.file is None else "weights of a file"
    shown = {"whole": "the whole image", "central": "its centre", "shifted": "shifted crops"}
    what = f"{options.distance} of features of {options.network}"
    return f"{what}, {weights}, {shown[options.crop]}"


class NetworkFeatures(Attacker):
    """Compares features of a network with published weights; nothing is learnt here.

    With shifted crops the centre of a probe is compared with nine crops of every gallery image, on
    a 3 × 3 grid over it, and the most alike counts: a registration by shifts. The crops of each
    place are centred on a mean of their own.

    Raises UsageError, ModelError: as :func:`attacks.networks.pretrained.pretrained`."""

    name = "features"
    Options = FeaturesOptions

    @classmethod
    def ladder(cls) -> Ladder:
        return ladder_of_untaught(
            Level(
                lambda setting: cls(own(cls, setting.options), device=setting.learning.device),
                lambda options: described(own(cls, options)),
                floor=True,
            )
        )

    def __init__(self, options: FeaturesOptions, *, device: torch.device | str = "cpu") -> None:
        self.options, self.device = options, torch.device(device)
        self.network = pretrained(options.network, weights=options.weights, file=options.file).to(
            self.device
        )
        self._gallery = Remembered(
            lambda images: self.features(
                images, SHIFTED if options.crop == "shifted" else (CENTRE,)
            )
        )

    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """float32 (P, G).

        Raises:
            DataError: an empty set, or features that are not finite.
            UsageError: the network takes no images of this size.
        """
        check_sets(probes, gallery)
        known = self._gallery(gallery)
        (asked,) = self.features(probes, (CENTRE,))
        return np.max([similarity(asked, k, self.options.distance) for k in known], axis=0)

    def features(self, images: Tensor, places: tuple[Place, ...]) -> np.ndarray:
        """float32 (places, N, D) of images (N, 1, H, W), neither centred nor scaled."""
        found = []
        for batch in unit_batches(images, self.options.batch, self.device):
            crops = torch.cat([self._crop(batch, place) for place in places])
            parts = [self._describe(part) for part in crops.split(self.options.batch)]
            found.append(torch.cat(parts).unflatten(0, (len(places), len(batch))).cpu())
        return torch.cat(found, dim=1).numpy()

    def _crop(self, images: Tensor, place: Place) -> Tensor:
        """(N, 1, size, size) of the place, or of the whole image."""
        if self.options.crop != "whole":
            for axis, where in zip((2, 3), place, strict=True):
                side = images.shape[axis]
                kept = max(1, round(side * self.options.fraction))
                images = images.narrow(axis, round((side - kept) * where), kept)
        return F.interpolate(
            images, (self.options.size, self.options.size), mode="bilinear", antialias=True
        )

    def _describe(self, crops: Tensor) -> Tensor:
        try:
            return self.network(crops)
        except (AssertionError, RuntimeError, ValueError) as error:
            if "out of memory" in str(error):
                raise
            raise UsageError(
                f"network {self.options.network} takes no images of {self.options.size} × "
                f"{self.options.size} pixels; set evaluation.features.size to its own"
            ) from None
