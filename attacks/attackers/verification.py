"""The siamese verifier as an attacker (Packhäuser et al. 2023, Section 2.3).

As published it learns from pairs of released images, both deformed, and is tested on pairs of a
released and a real image.
"""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor

from anonymize.data.batches import HeldImages, Images, on_device
from anonymize.data.pairs import Pairs, draw_pairs
from anonymize.networks.build import build_verifier
from anonymize.networks.siamese import Siamese
from anonymize.options import TrainOptions, VerifierOptions
from anonymize.seeds import derive_seed
from anonymize.training.parts import load_verifier
from anonymize.training.stages import EVALUATION_BATCH, Paired, VerifierStage
from attacks.attacker import Attacker, Auxiliary, Remembered, unit_batches
from attacks.knowledge.levels import Ladder, Level, Setting, ladder_of_learner
from attacks.measuring.metrics import Owners
from attacks.measuring.similarity import check_sets
from attacks.training.learning import Learning, TrainedOn

BLOCK = 64
PAIRS = {
    "released-released": "pairs of released images",
    "released-real": "pairs of a released and a real image",
    "mixed": "pairs of a released image and one that is released or real, half each",
}


def verifier_epochs(options: TrainOptions) -> int:
    """At most."""
    return options.evaluation.attacker_epochs or options.verifier.epochs


class _Scores(Attacker):
    """Scores with a siamese network: its logits."""

    name = "verification"
    network: Siamese
    device: torch.device

    def __init__(self) -> None:
        self._gallery = Remembered(self._embed)

    @torch.no_grad()
    def score(self, probes: Tensor, gallery: Tensor) -> np.ndarray:
        """Logits of every probe against every gallery image, float32 (P, G)."""
        check_sets(probes, gallery)
        a, b = self._embed(probes), self._gallery(gallery)
        rows = [
            self.network.compare(a[i : i + BLOCK, None], b).cpu() for i in range(0, len(a), BLOCK)
        ]
        return torch.cat(rows).numpy()

    def _embed(self, images: Tensor) -> Tensor:
        self.network.eval()
        batches = unit_batches(images, EVALUATION_BATCH, self.device)
        return torch.cat([self.network.embed(batch) for batch in batches])


class KnownVerifier(_Scores):
    """A verifier trained on real images, which never saw a released one."""

    knowledge = "ignorant"

    def __init__(self, path: Path, *, device: torch.device | str = "cpu") -> None:
        super().__init__()
        self.device = torch.device(device)
        self.network = load_verifier(path).to(self.device)


class Verification(_Scores):
    """A verifier that is trained on what was released.

    Args:
        start: model file of a verifier trained on real images, from which it goes on; None: from
            scratch, or from ``options.weights``.
        trained_on: what the two images of a training pair are: both released as published; the
            second real; or the second real for a half of the images that each epoch draws anew.
            The objective "batch" also compares the images of one side with each other.
        pairs: gives the training pairs of an epoch from its seed, in the numbers of
            ``ImageSet.owners.image``; None: all genuine pairs and as many impostors, drawn afresh
            each epoch.
        validation: validation pairs, likewise.
        learning: of the network; None: on the CPU, and nothing is kept.
    """

    knowledge = "informed"

    @classmethod
    def ladder(cls) -> Ladder:
        return ladder_of_learner(
            Level(
                cls._of_evaluation,
                lambda options: (
                    "a siamese verifier trained again on "
                    f"{PAIRS[options.evaluation.attacker_pairs]} (Packhäuser et al. 2023)"
                ),
                learns="released",
                epochs=verifier_epochs,
                trained_on=lambda options: options.evaluation.attacker_pairs,
                needs_verifier=lambda options: options.evaluation.attacker_start == "verifier",
            ),
            Level(
                lambda setting: KnownVerifier(setting.verifier(), device=setting.learning.device),
                lambda options: "the siamese verifier of real images as it is",
                needs_verifier=lambda options: True,
            ),
        )

    @classmethod
    def _of_evaluation(cls, setting: Setting) -> Attacker:
        options, evaluation = setting.options, setting.options.evaluation
        return cls(
            options.verifier.model_copy(update={"epochs": verifier_epochs(options)}),
            start=setting.verifier() if evaluation.attacker_start == "verifier" else None,
            trained_on=evaluation.attacker_pairs,
            pairs=setting.data.training_pairs(),
            validation=setting.data.fixed_pairs("validation"),
            learning=setting.learning,
        )

    def __init__(
        self,
        options: VerifierOptions,
        *,
        start: Path | None = None,
        trained_on: TrainedOn = "released-released",
        pairs: Callable[[int], Pairs] | None = None,
        validation: Pairs | None = None,
        learning: Learning | None = None,
    ) -> None:
        super().__init__()
        self.options, self.start, self.trained_on = options, start, trained_on
        self.pairs, self.validation = pairs, validation
        self.learning = learning or Learning()
        self.device = self.learning.device

    def fit(self, auxiliary: Auxiliary, *, seed: int) -> Self:
        """Trains; the epoch that is best on validation pairs of the same kind is kept, or what it
        starts from, where none is better."""
        torch.manual_seed(derive_seed(seed, "verifier"))
        # What it starts from may be a network of another width than the options name.
        self.network = load_verifier(self.start) if self.start else build_verifier(self.options)
        released, validating = auxiliary.released, auxiliary.validation_released
        first = self._held(released.images, validating.images)
        second = self._second(first, auxiliary)
        learn, check = released.owners, validating.owners
        validation = self._of(check, self.validation, derive_seed(seed, "validation"))

        def pairs(epoch_seed: int) -> Pairs:
            if isinstance(second, Mixture):
                second.draw(len(learn), epoch_seed)
            return self._of(learn, self.pairs and self.pairs(epoch_seed), epoch_seed)

        n, patients = len(learn), np.concatenate((learn.patient, check.patient))
        checked = Pairs(validation.first + n, validation.second + n, validation.same)
        data = Paired(first, second, patients, pairs, checked)
        compute = self.learning.compute
        stage = VerifierStage(self.network, self.options, data, compute=compute, name="attack")
        start = (
            (copy.deepcopy(self.network.state_dict()), self._loss(stage)) if self.start else None
        )
        self.learning.train(stage, seed=seed)
        if start is not None and start[1] <= self._loss(stage):
            self.network.load_state_dict(start[0])
        return self

    @torch.no_grad()
    def _loss(self, stage: VerifierStage) -> float:
        self.network.eval()
        return float(stage.compute.broadcast(stage.validate())["loss"])

    def _held(self, *parts: Tensor) -> Images:
        return self.learning.compute.held(HeldImages(torch.cat(parts)))

    def _second(self, first: Images, auxiliary: Auxiliary) -> Images:
        """The images that stand second in a pair."""
        if self.trained_on == "released-released":
            return first
        held = self._held(auxiliary.real.images, auxiliary.validation_real.images)
        return held if self.trained_on == "released-real" else Mixture(first, held)

    def _of(self, owners: Owners, pairs: Pairs | None, seed: int) -> Pairs:
        """The pairs as positions among ``owners``; drawn where none are given."""
        if pairs is None:
            return draw_pairs(owners.patient, owners.identified, seed=seed)
        there = np.isin(pairs.first, owners.image) & np.isin(pairs.second, owners.image)
        order = np.argsort(owners.image)
        first, second = (
            order[np.searchsorted(owners.image[order], n[there])]
            for n in (pairs.first, pairs.second)
        )
        return Pairs(first, second, pairs.same[there])


class Mixture:
    """Images of which some are released and the others real; which, follows from a seed."""

    def __init__(self, released: Images, real: Images) -> None:
        self._released, self._real = released, real
        self._is_real = np.random.default_rng(0).random(len(released)) < 0.5

    def __len__(self) -> int:
        return len(self._released)

    def draw(self, rows: int, seed: int) -> None:
        """Draws the first ``rows`` images again; the others stay."""
        self._is_real[:rows] = np.random.default_rng(seed).random(rows) < 0.5

    def batch(self, rows: np.ndarray) -> Tensor:
        """float32 (n, 1, H, W) in [0, 1] of the rows, in their order."""
        real, released = self._real.batch(rows), self._released.batch(rows)
        chosen = on_device(torch.as_tensor(self._is_real[rows]), real.device)
        return torch.where(chosen.view(-1, 1, 1, 1), real, released)
