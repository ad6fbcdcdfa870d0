"""What an attacker is given, by its knowledge: images to learn from, probes and a gallery.

ignorant: real images to learn from. lazy: the same, but the public anonymizer is run over the
gallery, which is what "released-released" compares. informed: released images to learn from, beside
the real ones. white-box: informed, after the model itself has undone the release; or, where random
numbers stand in the way, with the mean of many releases in the place of every real image. Of a
release of sets, after what the method says that can be undone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor

from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import HeldImages, Images
from anonymize.data.dataset import Dataset
from anonymize.seeds import derive_seed
from anonymize.set_anonymizer import SetAnonymizer
from attacks.attacker import Attacker, Auxiliary, ImageSet, Knowledge
from attacks.knowledge.inversion import each, mean_release, undone
from attacks.knowledge.levels import Level, Setting
from attacks.knowledge.membership import Game, game
from attacks.knowledge.scenarios import Scenario, owners_in, probes_and_gallery
from attacks.knowledge.set_release import Released, radiographs, standing_for
from attacks.measuring.covariates import covariates_of
from attacks.measuring.metrics import Contributors, Owners

Sets = Callable[[str], ImageSet]


class Parts:
    """The images of each part of a data set, made once: an attacker knows a gallery again.

    Args:
        data: with the patients.
        images: one a row; None: its own.
        there: bool (N,), which rows of its table take part; None: all.
        image: int64 (R,), the row of its table that each row stands for (:class:`Released`);
            None: each for itself.
        contributors: who went into each row; None: its own patient alone.
        labels: of :class:`ImageSet`, for each row.
    """

    def __init__(
        self,
        data: Dataset,
        images: Images | None = None,
        *,
        there: np.ndarray | None = None,
        image: np.ndarray | None = None,
        contributors: Contributors | None = None,
        labels: np.ndarray | None = None,
    ) -> None:
        self._data, self._images, self._labels = data, images, labels
        self._there = np.ones(len(data.table), bool) if there is None else there
        image = np.arange(len(data.table)) if image is None else image
        self.owners = Owners(
            image,
            data.patients[image],
            data.table.frame["identified"].to_numpy(bool)[image],
            covariates_of(data.table)[image],
            contributors=contributors,
        )
        self._known: dict[str, ImageSet] = {}

    def __call__(self, part: str) -> ImageSet:
        """The images of "train", "validation", "test" or "all"."""
        if part not in self._known:
            rows = standing_for(self._data.table.part(part), self._there, self.owners.image)
            labels = None if self._labels is None else self._labels[rows]
            self._known[part] = ImageSet(self._pixels(rows), self.owners[rows], labels)
        return self._known[part]

    def _pixels(self, rows: np.ndarray) -> torch.Tensor:
        if isinstance(self._images, HeldImages):
            return self._images.pixels[torch.as_tensor(rows)]
        pixels = torch.from_numpy(self._data.images.array(self.owners.image[rows])).unsqueeze(1)
        return pixels if pixels.dtype == torch.uint8 else pixels.float() / 65535


@dataclass(frozen=True)
class View:
    """What an attacker sees.

    Attributes:
        real, released: to learn from, image beside image.
        gallery: real images, each once; None: ``real``.
    """

    real: Sets
    released: Sets
    gallery: Sets | None = None

    @classmethod
    def of(
        cls, data: Dataset, real: Parts, made: Released, shown: HeldImages | None = None
    ) -> Self:
        """A release beside its real images; ``shown``: its outputs as they are seen, None: as they
        are."""
        there, image = made.there, made.image
        released = Parts(
            data,
            made if shown is None else shown,
            there=there,
            image=image,
            contributors=made.contributors,
            labels=made.labels,
        )
        gallery = real if there.all() else Parts(data, there=there)
        same = len(made) == len(data.table)
        return cls(gallery if same else Parts(data, there=there, image=image), released, gallery)

    def taught(self, level: Level, setting: Setting, *draw: int) -> Attacker:
        """The attacker of a level, which has learnt from the training part, and chosen on the
        validation part, where it learns; ``draw``: of which seed, beside the options' and its
        name."""
        attacker = level.make(setting)
        if not level.trained:
            return attacker
        auxiliary = Auxiliary(
            real=self.real("train"),
            released=self.released("train"),
            validation_real=self.real("validation"),
            validation_released=self.released("validation"),
        )
        attacker.fit(auxiliary, seed=derive_seed(setting.options.seed, attacker.name, *draw))
        return attacker

    def compared(self, scenario: Scenario, part: str) -> tuple[ImageSet, ImageSet]:
        """Probes and gallery."""
        gallery = self.gallery or self.real
        return probes_and_gallery(scenario, self.released(part), gallery(part))


@dataclass
class Release:
    """One method's release of a data set, and what knowledge makes of it.

    Attributes:
        released: what the method made of each row.
        seed: of random numbers that a white-box adversary draws.
    """

    data: Dataset
    real: Parts
    released: Released
    model: Anonymizer
    device: torch.device
    seed: int
    _games: dict[str, Game | None] = field(default_factory=dict, init=False)

    @cached_property
    def plain(self) -> View:
        """What is seen without the model."""
        return View.of(self.data, self.real, self.released)

    def owners(self, scenario: Scenario, part: str) -> tuple[Owners, Owners]:
        """Whose the probes and the gallery are; the same for every knowledge."""
        probes, gallery = self.plain.compared(scenario, part)
        return probes.owners, gallery.owners

    def everybody(self, scenario: Scenario, part: str) -> np.ndarray:
        """Codes of the patients of a part, ascending, those of withheld images, too."""
        every = self.real(part).owners
        return np.unique(owners_in(scenario, every, every)[0].patient)

    def game(self, part: str) -> Game | None:
        """Who is asked about that may be in a release of a part, whose outputs are of several
        people; None of other methods, and where too few can be asked about."""
        if not isinstance(self.model, SetAnonymizer) or self.model.people < 2:
            return None
        if part not in self._games:
            seed = derive_seed(self.seed, "members")
            if not self.released.learnt:
                self.model.fit(radiographs(self.data, self.data.table.part("train")))
                self.released.learnt = True
            self._games[part] = game(self.model, self.data, self.real(part), seed=seed)
        return self._games[part]

    def seen_with(self, knowledge: Knowledge) -> View:
        """What an attacker of some knowledge sees of it."""
        return self._white_box if knowledge == "white-box" else self.plain

    @cached_property
    def _white_box(self) -> View:
        model, images, device = self.model, self.data.images, self.device
        if isinstance(model, SetAnonymizer):
            # Who went together nobody can undo, and the lot of a release is in no model.
            undoing = model.undoing
            return self.plain if undoing is None else self._undone(undoing)
        if model.is_random:
            shown = mean_release(model, images, device=device, seed=self.seed)
            return View(Parts(self.data, shown), self.plain.released)
        shown = each(self.released, lambda images: undone(model, images), device)
        return View(self.real, Parts(self.data, shown))

    def _undone(self, undoing: Callable[[Tensor], Tensor]) -> View:
        shown = each(self.released, undoing, self.device)
        return View.of(self.data, self.real, self.released, shown)
