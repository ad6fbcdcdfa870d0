"""The tests: what is done to the images, whom it concerns, and what counts as passed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import anonymize
from anonymize.anonymizer import Anonymizer
from attacks.check.maps import AffineMap, Noise, PixelShuffle, SmoothWarp
from attacks.registry import Chosen

NEAR = 0.02  # AUC that may be lost where nothing about the patient was
ADAPTS = ("informed", "white-box")
Aim = Literal["links", "comes back", "chance"]


@dataclass(frozen=True)
class Case:
    """One test.

    Attributes:
        name: for a line of the table.
        method: what becomes of the images.
        aim: "links" – better than chance; "comes back" – to within 0.02 AUC of its figure on real
            images, or above; "chance" – the interval holds 0.5.
        asks: of whom: "pixels" – who looks at them; "adapting" – who adapts to a release too;
            "patients" – who looks for the patient, and not for the image; "combining" – who is
            made of others.
        key: the attacker holds the key and undoes the release first.
        relabelled: the patients' names are dealt out anew.
        coin: an attacker that throws a coin stands among those to be combined.
        made_for: names of the attackers of releases of its kind; (): it is for all.
    """

    name: str
    method: Callable[[], Anonymizer]
    aim: Aim
    asks: Literal["", "pixels", "adapting", "patients", "combining"] = ""
    key: bool = False
    relabelled: bool = False
    coin: bool = False
    made_for: tuple[str, ...] = ()

    @property
    def images(self) -> "Case":
        """The same images and names, whatever is asked of them: of equal ones equal."""
        name = f"{self.method().name}{' undone' * self.key}{' relabelled' * self.relabelled}"
        return Case(name, self.method, "links", key=self.key, relabelled=self.relabelled)

    def excuse(self, attacker: Chosen) -> str:
        """Why it does not concern an attacker; "" where it does."""
        level = attacker.level
        if self.made_for and attacker.name not in self.made_for:
            return "it is made for other releases"
        if not self.made_for and (reason := level.not_of(self.method())):
            return reason
        if level.marks and self.aim != "chance":
            return "it looks for marks, and real images have none"
        if self.asks in ("pixels", "adapting") and level.sees != "pixels":
            return "it looks at no pixels"
        if self.asks == "adapting" and attacker.knowledge not in ADAPTS:
            return f"{attacker.knowledge}: it does not adapt"
        if self.asks == "patients" and level.compares == "before-after":
            return "it looks for the image, not for the patient"
        if self.asks == "combining" and not level.combines:
            return "it combines nobody"
        return ""


_identity = partial(anonymize.load, "identity")
_affine = partial(AffineMap, degrees=6, scale=0.97, shift=(0.03, -0.02))


def _of_sets(name: str, method: str, *made_for: str) -> tuple[Case, Case]:
    """A release of the kind that these attackers take apart, and one where nothing links."""
    made = partial(anonymize.load, method)
    return (
        Case(name, made, "links", "adapting", made_for=made_for),
        Case(f"{name}, permuted", made, "chance", "adapting", relabelled=True, made_for=made_for),
    )


REAL = Case("real images", _identity, "links")
CASES: tuple[Case, ...] = (
    REAL,
    Case("identity", _identity, "comes back"),
    Case("affine map", _affine, "comes back", "adapting"),
    Case("smooth warp", lambda: SmoothWarp(reach=0.2, seed=1), "comes back", "adapting"),
    Case("pixel shuffle", lambda: PixelShuffle(key=1), "comes back", "pixels", key=True),
    Case("a useless member", _identity, "comes back", "combining", coin=True),
    Case("noise", lambda: Noise(seed=1), "chance", "pixels"),
    Case("patients permuted", _identity, "chance", "patients", relabelled=True),
    *_of_sets("mosaics", "mosaic:g=2,m=2,seed=1", "jigsaw", "patchwise"),
    *_of_sets("means", "k-same:k=2,seed=1", "unmixing"),
    *_of_sets("codes", "utility-code:codes=6,donors=3,per=image,seed=1", "codes"),
)
