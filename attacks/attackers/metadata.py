"""What the released metadata alone would link: true age, sex, view and follow-up number."""

from functools import partial
from typing import Self

import numpy as np

from anonymize.errors import UsageError
from attacks.attacker import Auxiliary, ImageSet, OfTheTable
from attacks.knowledge.facts import FACTS, LinkModel, certain, known_facts, not_said
from attacks.knowledge.levels import Ladder, Level
from attacks.measuring.metrics import Owners


class Metadata(OfTheTable):
    """Links by the facts of both images and looks at no pixel (:mod:`attacks.knowledge.facts`).

    It is a floor of another kind: what stays linkable however well the images are anonymized, as
    long as these facts are released with them.
    """

    name = "metadata"

    @classmethod
    def ladder(cls) -> Ladder:
        return {
            "ignorant": Level(
                lambda setting: cls(setting.data.table.frame),
                lambda options: "true age, sex, view and follow-up number; looks at no pixel",
                learns="real",
                once=True,
                sees="metadata",
                missing=partial(not_said, tuple(FACTS)),
            )
        }

    def fit(self, auxiliary: Auxiliary, *, seed: int) -> Self:
        """Counts how often images of one patient, and of two, agree in each fact. Raises
        UsageError: the training images have no fact that differs between images."""
        return self.learn(auxiliary.real.owners)

    def learn(self, owners: Owners) -> Self:
        """The same from the owners of the training images, which is all that it looks at."""
        rows = owners.image
        self.facts = known_facts(self.frame, rows, FACTS)
        if not self.facts:
            raise UsageError("attacker metadata finds no age, sex, view or follow-up number")
        codes = {name: FACTS[name].codes(self.frame.iloc[rows]) for name in self.facts}
        self.model = LinkModel.learn(codes, owners)
        return self

    def link(self, probes: ImageSet, gallery: ImageSet) -> np.ndarray:
        """Sum of the log likelihood ratios, float32 (P, G)."""
        return self.compared(probes.owners, gallery.owners)

    def compared(self, probes: Owners, gallery: Owners) -> np.ndarray:
        """The same, float32 (P, G), of the owners alone."""
        return self.model.scores(self._known(probes), self._known(gallery))

    def _known(self, owners: Owners) -> dict[str, np.ndarray]:
        frame = self.frame.iloc[owners.image]
        return {n: certain(FACTS[n].codes(frame), FACTS[n].levels) for n in self.facts}
