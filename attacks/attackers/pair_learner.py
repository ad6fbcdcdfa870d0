"""What attackers have in common that learn from pairs of a real image and its release."""

from functools import partial
from typing import Any, ClassVar, Literal

from attacks.attacker import Attacker
from attacks.knowledge.levels import Ladder, Level, Setting, ladder_of_learner, own


class PairLearner(Attacker):
    """Compares released images with real ones, in seconds to minutes and without epochs.
    ``knowledge``: "ignorant": learns from real images; "informed": from released ones too."""

    what: ClassVar[str]  # looks, and is trained, in words

    @classmethod
    def ladder(cls) -> Ladder:
        return ladder_of_learner(
            Level(
                partial(cls._at, "informed"),
                lambda options: f"{cls.what} trained on released and real images",
                learns="released",
                compares="released-real",
                trained_on=lambda options: "released-real",
            ),
            Level(
                partial(cls._at, "ignorant"),
                lambda options: f"{cls.what} trained on real images",
                learns="real",
            ),
        )

    @classmethod
    def _at(cls, knowledge: Literal["ignorant", "informed"], setting: Setting) -> Attacker:
        return cls(own(cls, setting.options), knowledge=knowledge)

    def __init__(
        self, options: Any = None, *, knowledge: Literal["ignorant", "informed"] = "informed"
    ) -> None:
        super().__init__(options)
        self.options, self.knowledge = self.settings, knowledge
