"""The tests: what is done to the images, whom it concerns, and what counts as passed."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

import anonymize
from anonymize.anonymizer import Anonymizer
from anonymize.data.dataset import Dataset
from attacks.check.cohort import as_files
from attacks.check.maps import AffineMap, Noise, PixelShuffle, SmoothWarp
from attacks.check.releases import watermarked
from attacks.knowledge.scenarios import Scenario
from attacks.registry import Chosen

NEAR = 0.02  # AUC that may be lost where nothing about the patient was
ADAPTS = ("informed", "white-box")
STANDARD: Scenario = "released-real"
Made = Callable[[Dataset], Anonymizer]
Aim = Literal["links", "comes back", "chance"]
Asked = Literal["", "pixels", "adapting", "patients", "combining"]


@dataclass(frozen=True)
class Case:
    """One test.

    Attributes:
        name: for a line of the table.
        method: what becomes of the images of a cohort.
        aim: "links" – better than chance; "comes back" – to within 0.02 AUC of its figure on real
            images, or above; "chance" – the interval holds 0.5.
        asks: of whom: "pixels" – who looks at them; "adapting" – who adapts to a release too;
            "patients" – who looks for the patient, and not for the image; "combining" – who is
            made of others.
        key: the attacker holds the key and undoes the release first.
        relabelled: the patients' names are dealt out anew.
        coin: an attacker that throws a coin stands among those to be combined.
        made_for: names of the attackers of releases of its kind; (): it is for all.
        compares: what with what, where the attacker has no own.
        files: writes the cohort's images into a folder; None: they are no files.
    """

    name: str = field(compare=False)
    method: Made
    aim: Aim
    asks: Asked = ""
    key: bool = False
    relabelled: bool = False
    coin: bool = False
    made_for: tuple[str, ...] = ()
    compares: Scenario = STANDARD
    files: Callable[[Dataset, Path], Dataset] | None = None

    @property
    def images(self) -> "Case":
        """The same images and names, whatever is asked of them: of equal ones equal."""
        name = f"{self.name}{', relabelled' * self.relabelled}"  # of checkpoints: one a training
        return replace(
            self, name=name, aim="links", asks="", coin=False, made_for=(), compares=STANDARD
        )

    def excuse(self, attacker: Chosen, data: Dataset) -> str:
        """Why it does not concern an attacker; "" where it does."""
        level = attacker.level
        if self.made_for and attacker.name not in self.made_for:
            return "it is made for other releases"
        if reason := level.missing(data):
            return reason
        if not self.made_for and (reason := level.not_of(self.method(data))):
            return reason
        if level.marks and self.aim != "chance" and not self.made_for:
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


def _load(spec: str) -> Made:
    return lambda data: anonymize.load(spec)


_identity = _load("identity")


def _noise(data: Dataset) -> Anonymizer:
    return Noise(seed=1)


def _of_sets(name: str, made: Made, *made_for: str, asks: Asked = "adapting") -> tuple[Case, Case]:
    """A release of the kind that these attackers take apart, and one where nothing links."""
    return (
        Case(name, made, "links", asks, made_for=made_for),
        Case(f"{name}, permuted", made, "chance", asks, relabelled=True, made_for=made_for),
    )


def _of_films(name: str, made: Made, aim: Aim, *made_for: str) -> Case:
    """Whether the very films that went in can be told, by attackers of releases of its kind."""
    return Case(
        f"{name}, very films", made, aim, "adapting", made_for=made_for, compares="before-after"
    )


_mosaics, _means = _load("mosaic:g=2,m=2,seed=1"), _load("k-same:k=2,seed=1")
STRANGERS = _load("utility-code:codes=6,donors=3,per=image,seed=1")
AFFINE = AffineMap(degrees=6, scale=0.97, shift=(0.03, -0.02))
REAL = Case("real images", _identity, "links")
CASES: tuple[Case, ...] = (
    REAL,
    Case("identity", _identity, "comes back"),
    Case("affine map", lambda data: AFFINE, "comes back", "adapting"),
    Case("smooth warp", lambda data: SmoothWarp(reach=0.2, seed=1), "comes back", "adapting"),
    Case("pixel shuffle", lambda data: PixelShuffle(key=1), "comes back", "pixels", key=True),
    Case("a useless member", _identity, "comes back", "combining", coin=True),
    Case("noise", _noise, "chance", "pixels"),
    _of_films("noise", _noise, "chance", "jigsaw", "patchwise", "unmixing"),
    Case("patients permuted", _identity, "chance", "patients", relabelled=True),
    *_of_sets("mosaics", _mosaics, "jigsaw", "patchwise", "sets"),
    _of_films("mosaics", _mosaics, "links", "jigsaw", "patchwise"),
    *_of_sets("mosaics, shown twice", _load("mosaic:g=2,m=4,uses=2,seed=1"), "sets"),
    *_of_sets("means", _means, "unmixing", "learned-inverse", "sets"),
    _of_films("means", _means, "links", "unmixing", "learned-inverse"),
    *_of_sets("codes", STRANGERS, "codes"),
    *_of_sets("laid over strangers", _load("utility-code:own=0.3,seed=1"), "histogram-metric"),
    *_of_sets("labels", _load("k-same:k=2,read=1,seed=1"), "labels", asks=""),
    Case("marks", partial(watermarked, seed=1), "links", made_for=("bit-planes",)),
    Case("files", _identity, "links", made_for=("format",), files=as_files),
    Case(
        *("files, alike", _identity, "chance"),
        made_for=("format",),
        files=partial(as_files, alike=True),
    ),
)
