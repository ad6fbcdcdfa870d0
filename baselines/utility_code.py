"""Strangers in the place of everybody: an image of another person of whom a classifier sees the
same.

What few discrete codes and a resynthesis hide, where features are merely moved, is known of speech
(VoicePrivacy 2024: vector quantization and random targets hide most).
"""

from collections import Counter
from collections.abc import Callable, Collection
from typing import Self

import numpy as np
import torch
from torch import Tensor

from anonymize.data.batches import HeldImages, in_batches
from anonymize.errors import ModelError
from anonymize.set_anonymizer import Coding, Radiographs, SetRelease
from baselines.options import UtilityCodeOptions
from baselines.pool import Pool
from baselines.set_method import BATCH, ByLot, digests, plain, some_of


class UtilityCode(ByLot):
    """An image of a stranger of the same code, in whose place ``own`` of the image itself may be.

    A pool of patients, drawn by lot from those whom it learns from (:meth:`fit`), is never released
    as itself. Classifiers learn from the pool's labels; what they see in it, as standardised
    logits, is divided into K ``codes`` by k-means, of ``donors`` patients each or more. Whoever is
    released is read by the same classifiers, which never saw a label of his: all his images have
    one code, that of their mean, or each its own (``per``). An output is (1 − own) · donor + own ·
    image, the donor drawn by lot among the pool's images of that code, another for every output.

    What is promised where ``own`` is 0 (:func:`bound`), and what is not: docs/methods.md. What an
    output shows is a real stranger: the pool's patients must consent, or be public; no finding is
    where the patient has it. With ``samples`` it is nobody, made up by a generative model of the
    pool's images (:mod:`baselines.synthesis`).
    """

    name = "utility-code"
    Options = UtilityCodeOptions
    people = 1
    _pool: Pool | None = None
    _withheld: frozenset[bytes] = frozenset()

    @property
    def pool(self) -> Collection[str]:
        return () if self._pool is None else self._pool.names

    @property
    def coding(self) -> Coding | None:
        if self.settings.own:
            return None
        pool = self._fitted
        return Coding(
            pool.centres,
            lambda images: pool.teachers.read(images, np.arange(len(images))),
            lambda released: pool.code_of[pool.known_again(released)],
        )

    @property
    def undoing(self) -> Callable[[Tensor], Tensor] | None:
        own = self.settings.own
        if not own:
            return None
        pool = self._fitted

        def undone(released: Tensor) -> Tensor:
            donors = pool.images.batch(pool.known_again(HeldImages(released)))
            return ((released - (1 - own) * donors) / own).clamp(0, 1)

        return undone

    def fit(self, known: Radiographs) -> Self:
        """Draws the pool, learns from it, and divides it into codes. Under one secret the pool is
        the same with all options but ``pool``: nobody stands in for others here, and is released
        there.

        Raises DataError: a pool of too few patients, or without a label to learn."""
        noise = self.noise.within({"method": self.name, "pool": self.settings.pool})
        ordered, order, rng = self.arranged(known, noise)
        patients = int(ordered.patients.max(initial=-1)) + 1
        drawn = rng.permutation(patients)[: round(self.settings.pool * patients)]
        rows = np.flatnonzero(np.isin(ordered.patients, drawn))
        names = np.arange(len(known)) if known.names is None else np.asarray(known.names)
        pool = some_of(ordered, rows, names[order])
        own = self.settings
        films = Pool.fit(pool, rng, codes=own.codes, donors=own.donors)
        self._withheld = frozenset(digests(films.images))
        seed = int(rng.integers(2**31))
        self._pool = films.imagined(own.samples, seed) if own.samples else films
        return self

    def release(self, given: Radiographs) -> SetRelease:
        """Who has an image of the pool is withheld with all his images. Raises ModelError: it has
        no pool yet."""
        pool = self._fitted
        ordered, order, rng = self.arranged(given)
        of_pool = [digest in self._withheld for digest in digests(ordered.images)]
        known = np.isin(ordered.patients, ordered.patients[np.array(of_pool, bool)])
        rows = rng.permutation(np.flatnonzero(~known))  # neither names nor neighbours tell anything
        shape = ordered.images.batch(np.zeros(0, int)).shape[1:]
        if not len(rows):
            return SetRelease(HeldImages(torch.zeros((0, *shape))), [], np.zeros(0, np.int64))
        code = self._codes(ordered, np.sort(rows))[rows]
        donors = pool.drawn(code, rng)
        pixels = torch.zeros((len(rows), *shape))
        own = self.settings.own
        for batch in in_batches(np.arange(len(rows)), BATCH):
            pixels[batch] = (1 - own) * pool.images.batch(donors[batch])
            if own:
                pixels[batch] += own * ordered.images.batch(rows[batch])
        return SetRelease(
            HeldImages(pixels.clamp(0, 1)),
            list(order[rows][:, None]),
            rng.permutation(len(pool.centres))[code] * (self.settings.per == "patient"),
            None if own else bound(code, ordered.patients[rows], ordered.targets[rows]),
        )

    def _codes(self, given: Radiographs, rows: np.ndarray) -> np.ndarray:
        """int64 (N,), the codes of ascending ``rows``; −1 elsewhere."""
        shown, found = some_of(given, rows), np.full(len(given), -1, np.int64)
        whose = shown.patients if self.settings.per == "patient" else rows
        place = np.unique(whose, return_inverse=True)[1].reshape(-1)
        found[rows] = self._fitted.codes(shown.images, whose)[place]
        return found

    @property
    def _fitted(self) -> Pool:
        if self._pool is None:
            raise ModelError(
                f"method {self.name} has no pool of strangers yet: call fit(Radiographs(images, "
                "patients, targets)) of such as may be shown; attacks evaluate does"
            )
        return self._pool

    def _knowing(self, other: Self) -> Self:
        other._pool, other._withheld = self._pool, self._withheld
        return other


def bound(codes: np.ndarray, patients: np.ndarray, targets: np.ndarray) -> float:
    """How often the best guess whose an output is can be right, where its code and its label are
    all that it tells: Σ_y max_x p(x, y), x a patient, y a pair of code and label, every output
    equally likely. Of one image a patient, the number of different y by that of patients.

    Args:
        codes: (M,) of the outputs, M ≥ 1.
        patients: (M,).
        targets: float32 (M, L), as released beside the outputs.
    """
    told = [(code, plain(target)) for code, target in zip(codes.tolist(), targets, strict=True)]
    together = Counter(zip(told, patients.tolist(), strict=True))
    most: dict[tuple, int] = {}
    for (y, _), count in together.items():
        most[y] = max(most.get(y, 0), count)
    return sum(most.values()) / len(told)
