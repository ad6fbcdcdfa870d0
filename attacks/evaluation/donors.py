"""Other people's images that a method draws from: which they are, and whether its release gives
them away.

Who has a film asks whether it was drawn from, and so whether the person is among the donors
(membership inference; of samples of a generative model Carlini et al. 2023). Donors are drawn by
lot among patients of whom all have an equal chance, so that 0.5 is what no knowledge reaches.
"""

from collections.abc import Iterator

import numpy as np
from torch import Tensor

from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import Images, in_batches
from anonymize.data.dataset import Dataset
from anonymize.data.table import Table
from anonymize.errors import DataError, counted
from anonymize.statistics import Measured, measure_auc
from attacks.attacker import Described
from attacks.attackers.pixels import Pixels, PixelsOptions
from attacks.attackers.training_free import TrainingFree
from attacks.measuring.similarity import centred, unit

BATCH = 256
SIDE = 64  # pixels of what is compared as it is


def pool_rows(model: Anonymizer, table: Table) -> np.ndarray | None:
    """The training rows of what a method draws from; None where it draws from nothing. Raises
    DataError: images that the table does not list."""
    if not model.pool:
        return None
    named = set(model.pool)
    known = table.frame["image_id"].isin(named).to_numpy()
    if missing := len(named) - int(known.sum()):
        raise DataError(
            f"method {model.name} draws from {counted(missing, 'image')} that source "
            f"{table.source} does not list; its pool must name images by image_id, since what "
            "they alone are worth is measured beside its release"
        )
    rows = table.part("train")
    return rows[known[rows]]


def donors_told(
    released: Tensor, data: Dataset, pool: np.ndarray, *, resamplings: int, seed: int
) -> Measured | None:
    """AUC of telling films of donors from those of other training patients, each by the released
    image that is most like it; of two attackers that need no training the better one. None where
    everybody is a donor, or nobody.

    Args:
        released: (N, 1, H, W), N ≥ 1.
        pool: rows of the donors' films.
    """
    rows = data.table.part("train")
    donor = np.isin(rows, pool)
    if donor.all() or not donor.any():
        return None
    whose = data.patients[rows]
    found = [
        measure_auc(scores, donor, whose, resamplings=resamplings, seed=seed)
        for scores in _nearest(released, data.images, rows)
    ]
    return max(found, key=lambda measured: measured.value)


def _nearest(released: Tensor, real: Images, rows: np.ndarray) -> Iterator[np.ndarray]:
    """For each attacker what the most similar released image scores, (rows,)."""
    attackers: list[Described] = [TrainingFree(), Pixels(PixelsOptions(side=SIDE))]
    for attacker in attackers:
        films = [attacker.features(real.batch(some)) for some in in_batches(rows, BATCH)]
        shown, known = map(unit, centred(attacker.features(released), np.concatenate(films)))
        blocks = [known[some] @ shown.T for some in in_batches(np.arange(len(known)), BATCH)]
        yield np.concatenate([block.max(axis=1) for block in blocks])
