"""Marks that no eye sees: how well the lowest bits of a release link it within itself.

A watermark links whatever the images show, and no attacker that compares with real images can find
it. So this is looked at in every evaluation, as copies are, whichever attackers were asked for.
"""

from typing import Any

import numpy as np

from anonymize.options import TrainOptions
from anonymize.seeds import derive_seed
from anonymize.statistics import Measured
from attacks.attacker import linked
from attacks.attackers.bit_planes import BitPlanes
from attacks.knowledge.levels import own
from attacks.knowledge.trial import Release
from attacks.measuring.matching import headline_auc

MOST_IMAGES = 500
MOST_PIXELS = 1 << 26  # in all images together


def marks_told(release: Release, part: str, options: TrainOptions) -> Measured | None:
    """Pair AUC of `BitPlanes` within the released images of a part, against matched impostors where
    there are any; of so many patients, drawn by lot, that the images are about ``MOST_IMAGES`` and
    the pixels ``MOST_PIXELS`` at most.

    None of a release of sets, whose outputs have people and pieces of their images in common by
    their making, and where nobody has two images or there is nobody else.
    """
    if release.released.contributors is not None:
        return None
    shown, _ = release.plain.compared("released-released", part)
    most = min(MOST_IMAGES, MOST_PIXELS // shown.images[0].numel())
    shown = shown[_of_some(shown.owners.patient, most, derive_seed(options.seed, "marks"))]
    scores = linked(BitPlanes(own(BitPlanes, options)), shown, shown)
    drawn: dict[str, Any] = {"resamplings": options.evaluation.resamplings, "seed": options.seed}
    try:
        return headline_auc(scores, shown.owners, shown.owners, **drawn)
    except ValueError:  # no genuine pair, or no impostor
        return None


def _of_some(patients: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Rows of all images of patients drawn by lot, until there are ``most``."""
    who, images = np.unique(patients, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(who))
    before = np.cumsum(images[order]) - images[order]
    return np.flatnonzero(np.isin(patients, who[order[before < most]]))
