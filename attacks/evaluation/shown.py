"""What pictures show of an evaluation: a few images, and what an attacker does with pairs."""

from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anonymize.data.batches import HeldImages, Images
from anonymize.data.dataset import Dataset
from attacks.measuring.extremes import (
    Extreme,
    Guess,
    GuessPictures,
    PairPictures,
    extreme_pairs,
    first_guesses,
)
from attacks.measuring.metrics import Owners

EXAMPLES = 3


def shown_images(data: Dataset, part: str) -> np.ndarray:
    """The first image of each of ``EXAMPLES`` patients, of those with several images where there
    are any; their numbers in the table. The same ones are shown of every method."""
    rows = data.table.part(part)
    known = data.table.frame["identified"].to_numpy(bool)[rows]
    _, first, whose, images = np.unique(
        data.patients[rows], return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, ~(known & (images[whose] > 1))[first]))
    return np.sort(rows[first[order[:EXAMPLES]]])


def remarkable(
    scores: np.ndarray, probes: Owners, gallery: Owners, images: np.ndarray
) -> dict[str, list[dict[str, Any]]]:
    """What :func:`pair_pictures` makes pictures of, as JSON has it: the most extreme pairs, and
    whom the attacker takes the ``images`` for."""
    return {
        "pairs": [asdict(pair) for pair in extreme_pairs(scores, probes, gallery)],
        "guesses": [asdict(one) for one in first_guesses(scores, probes, gallery, images)],
    }


def pair_pictures(
    kept: dict[str, list[dict[str, Any]]], attacker: str, released: HeldImages, known: Images
) -> PairPictures | None:
    """The pictures of :func:`remarkable`; None where there are no pairs."""
    pairs = [Extreme(**entry) for entry in kept["pairs"]]
    if not pairs:
        return None
    probes, gallery = (
        np.array([getattr(pair, side) for pair in pairs]) for side in ("probe", "gallery")
    )
    guesses = [Guess(**entry) for entry in kept["guesses"]]
    shown = _guess_pictures(guesses, released, known) if guesses else None
    return PairPictures(attacker, pairs, released.batch(probes), known.batch(gallery), shown)


def _guess_pictures(guesses: list[Guess], released: HeldImages, known: Images) -> GuessPictures:
    asked: Tensor = released.batch(np.array([guess.probe for guess in guesses]))
    most = max(len(guess.gallery) for guess in guesses)
    answers = torch.zeros(len(guesses), most, *asked.shape[1:])
    for n, guess in enumerate(guesses):
        answers[n, : len(guess.gallery)] = known.batch(np.array(guess.gallery))
    return GuessPictures(guesses, asked, answers)
