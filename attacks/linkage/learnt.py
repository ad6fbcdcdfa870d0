"""What is known of an attacker that is ready for use, and what its scores mean."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from attacks.linkage.both_readings import BothReadings
from attacks.linkage.matching import Matcher
from attacks.measuring.calibration import Calibration
from attacks.measuring.estimates import Estimate
from attacks.measuring.reading_names import ALL, MATCHED, NAMES, matched_like


class Learnt(BothReadings):
    """What is known of an attacker, as its folder keeps it; the figures are of the test part.

    Attributes:
        attacker, knowledge, scenario: who, in the words of the registry.
        source, size, patients: what it was taught and measured on.
        slope, offset, genuine, impostors: of its :class:`Calibration`.
        bits: C_llr on the test part, in bits.
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
        low = _around(self.figures["auc"])[0]
        lines = [
            f"attacker {self.attacker}: {self.scenario}; calibrated on {self.genuine:,} genuine "
            f"and {self.impostors:,} impostor pairs of {self.patients['validation']:,} patients "
            f"({self.source}, validation part)",
            f"on {self.patients['test']:,} patients of its test part: {self._aucs()}; "
            f"C_llr {self.bits:.2f} of 1 bit",
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
        elif self.matched is not None and not _around(self.matched.auc)[0] > 0.5:
            lines.append(
                f"beware: against {NAMES[MATCHED]} it is not shown to be above chance; it may tell "
                f"{', '.join(self.matched_by)}, and nobody"
            )
        return lines

    def _aucs(self) -> str:
        every = f"{_said(self.figures['auc'])} against {NAMES[ALL]}"
        if self.matched is None:
            return f"{every}; against {NAMES[MATCHED]} not measured: {self.unmatched}"
        like = matched_like(self.matched_by)
        return f"{_said(self.matched.auc)} against {NAMES[MATCHED]} ({like}), {every}"

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """What was noted before; None where nothing was."""
        try:
            return cls.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, ValidationError):
            return None


def _said(auc: Estimate) -> str:
    """ "AUC 0.912 (0.880–0.941)"."""
    return "AUC {:.3f} ({:.3f}–{:.3f})".format(auc.mean, *_around(auc))


def _around(auc: Estimate) -> tuple[float, float]:
    return auc.ci95 or (float("nan"), float("nan"))


@dataclass(frozen=True)
class Prepared:
    """An attacker that compares, and what its scores mean."""

    matcher: Matcher
    learnt: Learnt
