"""What is known of an attacker that is ready for use, and what its scores mean."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from attacks.linkage.matching import Matcher
from attacks.measuring.calibration import Calibration
from attacks.measuring.estimates import Estimate, Record


class Learnt(Record):
    """What is known of an attacker, as its folder keeps it.

    Attributes:
        attacker, knowledge, scenario: who, in the words of the registry.
        source, size, patients: what it was taught and measured on.
        slope, offset, genuine, impostors: of its :class:`Calibration`.
        bits: C_llr on the test part, in bits.
        figures: on the test part, by the names of `statistics.measure_identification`.
    """

    attacker: str
    knowledge: str
    scenario: str
    source: str
    size: int
    patients: dict[str, int]
    slope: float
    offset: float
    genuine: int
    impostors: int
    bits: float
    figures: dict[str, Estimate]

    @property
    def calibration(self) -> Calibration:
        """From scores to probabilities."""
        return Calibration(self.slope, self.offset, self.genuine, self.impostors)

    def first(self) -> list[str]:
        """What is to be known before any figure is read."""
        if self.source != "phantom":
            return []
        return [
            "beware: learnt on drawn radiographs, and about such alone; of real ones this tells "
            "nothing before real ones of known patients are named with --source"
        ]

    def in_words(self) -> list[str]:
        """Who says so, how good it is, and why it may not be believed."""
        auc = self.figures["auc"]
        low, high = auc.ci95 or (float("nan"), float("nan"))
        lines = [
            f"attacker {self.attacker}: {self.scenario}; calibrated on {self.genuine:,} genuine "
            f"and {self.impostors:,} impostor pairs of {self.patients['validation']:,} patients "
            f"({self.source}, validation part)",
            f"on {self.patients['test']:,} patients of its test part: AUC {auc.mean:.3f} "
            f"({low:.3f}–{high:.3f}), C_llr {self.bits:.2f} of 1 bit",
        ]
        if not self.slope > 0:
            lines.append(
                "do not trust: on its validation part genuine pairs score no higher than impostor "
                "pairs, so every probability is the prior; take another attacker, or train longer"
            )
        elif not low > 0.5:
            lines.append("do not trust: on its test part this attacker is not above chance")
        elif self.bits >= 1:
            lines.append("do not trust: on its test part these probabilities mislead")
        return lines

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """What was noted before; None where nothing was."""
        try:
            return cls.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, ValidationError):
            return None


@dataclass(frozen=True)
class Prepared:
    """An attacker that compares, and what its scores mean."""

    matcher: Matcher
    learnt: Learnt
