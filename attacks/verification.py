"""The retrained siamese verifier (Packhäuser et al. 2023, Section 2.3).

It learns from pairs of released images, both deformed, and is tested on pairs of a released and a
real image.
"""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor

from anonymize.data.batches import HeldImages, in_batches
from anonymize.data.pairs import Pairs, draw_pairs
from anonymize.model_file import load_weights
from anonymize.networks.build import build_verifier
from anonymize.networks.siamese import Siamese
from anonymize.options import VerifierOptions
from anonymize.seeds import derive_seed
from anonymize.training.loop import fit
from anonymize.training.stages import EVALUATION_BATCH, VerifierStage
from attacks.attacker import Attacker, ImageSet, unit_float

BLOCK = 64


class Verification(Attacker):
    """A verifier that is trained on what was released.

    Args:
        options: architecture and training of the verifier.
        start: model file of a verifier trained on real images, from which it goes on; None: from
            scratch, or from ``options.weights``.
        pairs: training pairs an epoch, drawn afresh each epoch; None: all genuine ones and as
            many impostors.
        device: where it is trained.
        checkpoint: file that it is continued from after a stop; None: none is kept.
    """

    name = "verification"
    knowledge = "informed"

    def __init__(
        self,
        options: VerifierOptions,
        *,
        start: Path | None = None,
        pairs: int | None = None,
        device: torch.device | str = "cpu",
        checkpoint: Path | None = None,
    ) -> None:
        self.options, self.start, self.pairs = options, start, pairs
        self.device, self.checkpoint = torch.device(device), checkpoint
        self.network: Siamese | None = None

    def fit(
        self,
        *,
        real: ImageSet,
        released: ImageSet,
        validation_real: ImageSet,
        validation_released: ImageSet,
        seed: int,
    ) -> Self:
        """Trains on released–released pairs, best epoch on released–released validation pairs."""
        torch.manual_seed(derive_seed(seed, "verifier"))
        self.network = build_verifier(self.options)
        if self.start is not None:
            load_weights(self.network, self.start)
        both = HeldImages(torch.cat((released.images, validation_released.images)))
        offset = len(released)
        validation = _pairs(validation_released, None, derive_seed(seed, "validation"))
        stage = VerifierStage(
            self.network,
            self.options,
            first=both,
            second=both,
            patients=np.concatenate((released.owners.patient, validation_released.owners.patient)),
            pairs=lambda epoch_seed: _pairs(released, self.pairs, epoch_seed),
            validation=Pairs(
                validation.first + offset, validation.second + offset, validation.same
            ),
            device=self.device,
            name="attack",
        )
        fit(stage, seed=seed, checkpoint=self.checkpoint)
        return self

    @torch.no_grad()
    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """Logits of every probe against every gallery image, float32 (P, G)."""
        a, b = self._embed(probes), self._embed(gallery)
        rows = [
            self.network.compare(a[i : i + BLOCK, None], b).cpu() for i in range(0, len(a), BLOCK)
        ]
        return torch.cat(rows).numpy()

    def _embed(self, images: Tensor) -> Tensor:
        self.network.eval()
        batches = in_batches(np.arange(len(images)), EVALUATION_BATCH)
        return torch.cat(
            [
                self.network.embed(unit_float(images[torch.as_tensor(b)]).to(self.device))
                for b in batches
            ]
        )


def _pairs(images: ImageSet, most: int | None, seed: int) -> Pairs:
    owners = images.owners
    return draw_pairs(owners.patient, owners.identified, most=most, seed=seed)
