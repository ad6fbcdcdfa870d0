"""What Packhäuser et al. 2023 published: Table 1, AUCs as fractions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attacks.results import REAL, Method

SOURCE = "Packhäuser et al., MICCAI 2023, Table 1, doi 10.1007/978-3-031-43898-1_26"
DATA, SIZE = "chestxray14", 256
REPEATS = 10  # of the verification


@dataclass(frozen=True)
class Published:
    """A column of the table.

    Attributes:
        name, options: the method in our words.
        verification: mean AUC and standard deviation (divisor n) of the verifier trained again.
        classification: mean AUC of the 14 findings and its 95 % interval, classifier frozen.
    """

    name: str
    options: Mapping[str, Any]
    verification: tuple[float, float]
    classification: tuple[float, tuple[float, float]]

    def is_of(self, method: Method) -> bool:
        """Whether ``method`` is this one; options that it does not name count as equal."""
        return method.name == self.name and all(
            method.options.get(key, value) == value for key, value in self.options.items()
        )


def _dp_pix(b: int) -> dict[str, Any]:
    return {"b": b, "epsilon": 0.1, "m": 1}


def _equation_1(mu: float) -> dict[str, Any]:
    """The field of Eq. 1: what options have been added to it is off."""
    return {"mu": mu, "unit": None, "controls": None, "bending": None}


TABLE_1 = (
    Published(REAL, {}, (0.818, 0.006), (0.805, (0.801, 0.809))),
    Published("privacy-net", {"verification_weight": 1.0}, (0.498, 0.022), (0.575, (0.569, 0.581))),
    Published("prichexy-net", _equation_1(0.001), (0.747, 0.026), (0.804, (0.799, 0.808))),
    Published("prichexy-net", _equation_1(0.005), (0.643, 0.058), (0.793, (0.789, 0.797))),
    Published("prichexy-net", _equation_1(0.01), (0.577, 0.040), (0.762, (0.758, 0.766))),
    Published("dp-pix", _dp_pix(1), (0.500, 0.007), (0.500, (0.494, 0.506))),
    Published("dp-pix", _dp_pix(2), (0.504, 0.006), (0.503, (0.497, 0.510))),
    Published("dp-pix", _dp_pix(4), (0.518, 0.013), (0.527, (0.520, 0.533))),
    Published("dp-pix", _dp_pix(8), (0.525, 0.032), (0.529, (0.522, 0.535))),
)


def published(method: Method) -> Published | None:
    """The column of the table that ``method`` is; None where it has none."""
    return next((column for column in TABLE_1 if column.is_of(method)), None)
