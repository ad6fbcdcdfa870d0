"""Which places of two images a verifier goes by: pairs chosen by their score, and heat maps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import HeldImages
from anonymize.data.dataset import Dataset
from anonymize.data.released import released_images
from anonymize.errors import DataError
from anonymize.model_card import read_card
from anonymize.training.learnt_from import refuse_a_leak
from attacks.attackers.verification import KnownVerifier
from attacks.measuring.extremes import MAX_PAIRS, Extreme, extreme_pairs
from attacks.measuring.metrics import Owners, genuine_places
from attacks.measuring.similarity import check_sets
from attacks.studies.heat_maps import HeatMaps, choose_layers, mean_map

CELLS = 8


@dataclass(frozen=True)
class Explanation:
    """Pairs of a verifier, and where it looks.

    Attributes:
        method: its title; the probes are its released images.
        pairs: as `extremes.extreme_pairs` gives them.
        probes, gallery: (n, 1, H, W) in [0, 1], their images.
        maps: by the layer's title float32 (2, n, H, W) in [0, 1], of probes and gallery images.
        attention: by the layer's title float64 (CELLS, CELLS), the mean share of each cell over
            ``averaged`` genuine pairs.
        shapes: by the layer's title height and width of its maps.
    """

    method: str
    pairs: Sequence[Extreme]
    probes: Tensor
    gallery: Tensor
    maps: Mapping[str, np.ndarray]
    attention: Mapping[str, np.ndarray]
    averaged: int
    shapes: Mapping[str, tuple[int, int]]

    def plain(self) -> dict[str, Any]:
        """As explain.json holds it: no image, no number of one."""
        return {
            "schema": 1,
            "method": self.method,
            "pairs": [{"kind": pair.kind, "ahead": pair.ahead} for pair in self.pairs],
            "averaged_pairs": self.averaged,
            "layers": {
                title: {
                    "maps": list(self.shapes[title]),
                    "attention": None if np.isnan(found).any() else found.round(6).tolist(),
                }
                for title, found in self.attention.items()
            },
        }


@dataclass(frozen=True)
class ExplanationPlan:
    """What is explained.

    Attributes:
        layers: as `heat_maps.HeatMaps.layer` takes them.
        pairs: shown of each kind.
        average: genuine pairs, drawn with ``seed``, whose maps are averaged, at most.
    """

    part: str
    layers: Sequence[str]
    pairs: int
    average: int
    seed: int = 0


def explain(
    verifier: Path, model: Anonymizer, data: Dataset, plan: ExplanationPlan, *, device: torch.device
) -> Explanation:
    """Scores released against real images of a part and draws heat maps of the telling pairs.

    Raises:
        UsageError: unknown layers, or grad-cam is not installed; a verifier that learnt from the
            test part, where that is explained.
        DataError: the part has no pair of one patient.
    """
    if plan.part == "test":  # of the others it may remember some, as is meant
        refuse_a_leak(f"--verifier {verifier}", read_card(verifier), data)
    rows = data.table.part(plan.part)
    real = HeldImages(data.images.batch(rows))
    bits = 8 * data.images.dtype.itemsize
    released = released_images(model, real, device=device, bits=bits)
    check_sets(rows, rows)
    identified = data.table.frame["identified"].to_numpy(bool)[rows]
    owners = Owners(np.arange(len(rows)), data.patients[rows], identified)
    row, column = genuine_places(owners, owners)
    if not len(row):
        raise DataError(
            f"the {plan.part} part has no two images of one patient; name another --part"
        )
    attacker = KnownVerifier(verifier, device=device)
    heat = HeatMaps(attacker.network, size=data.options.size, device=device)
    titles = choose_layers(heat, plan.layers)
    everything = np.arange(len(rows))
    scores = attacker.score(released.batch(everything), real.batch(everything))
    shown = extreme_pairs(scores, owners, owners, most=min(plan.pairs, MAX_PAIRS))
    probes, gallery = (
        images.batch(np.array([getattr(pair, side) for pair in shown]))
        for images, side in ((released, "probe"), (real, "gallery"))
    )
    drawn = np.random.default_rng(plan.seed).permutation(len(row))[: plan.average]
    sides = released.batch(row[drawn]), real.batch(column[drawn])
    return Explanation(
        method=model.name,
        pairs=shown,
        probes=probes,
        gallery=gallery,
        maps={title: heat.of(probes, gallery, layer) for title, layer in titles.items()},
        attention={
            title: mean_map(np.concatenate(heat.of(*sides, layer)), CELLS)
            for title, layer in titles.items()
        },
        averaged=len(drawn),
        shapes={title: heat.shapes[layer] for title, layer in titles.items()},
    )
