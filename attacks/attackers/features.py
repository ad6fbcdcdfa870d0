"""Re-identification by the features of a network that was trained on other pictures.

After the linkage attack of "privacy risk analysis for whole-slide images": features of networks
trained on ImageNet, of the whole image, of its centre, or of crops shifted against each other.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from anonymize.attacker_options import FeaturesOptions
from anonymize.errors import UsageError
from attacks.attacker import Attacker, Remembered, unit_float
from attacks.measuring.similarity import check_sets, similarity
from attacks.networks.pretrained import pretrained

Place = tuple[float, float]  # of a crop, from 0 (top, left) to 1 (bottom, right)
CENTRE: Place = (0.5, 0.5)
SHIFTED: tuple[Place, ...] = tuple(product((0.0, 0.5, 1.0), repeat=2))


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

    Args:
        options: network, weights, crop and distance.
        device: where the network computes.

    Raises:
        UsageError, ModelError: as :func:`attacks.networks.pretrained.pretrained`.
    """

    name = "features"
    knowledge = "ignorant"

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
        for batch in images.split(self.options.batch):
            batch = unit_float(batch).to(self.device)
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
