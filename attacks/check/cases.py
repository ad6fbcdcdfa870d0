"""The tests: what is done to the images, whom it concerns, and what counts as passed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
        excuse: why it does not concern an attacker; "" where it does.
        key: the attacker holds the key and undoes the release first.
        relabelled: the patients' names are dealt out anew.
    """

    name: str
    method: Callable[[], Anonymizer]
    aim: Aim
    excuse: Callable[[Chosen], str]
    key: bool = False
    relabelled: bool = False


def _concerns_all(attacker: Chosen) -> str:
    return ""


def _looks_at_pixels(attacker: Chosen) -> str:
    return "" if attacker.level.sees == "pixels" else "it looks at no pixels"


def _adapts(attacker: Chosen) -> str:
    if excuse := _looks_at_pixels(attacker):
        return excuse
    return "" if attacker.knowledge in ADAPTS else f"{attacker.knowledge}: it does not adapt"


def _looks_for_patients(attacker: Chosen) -> str:
    finds = attacker.level.compares != "before-after"
    return "" if finds else "it looks for the image, not for the patient"


REAL = Case("real images", lambda: anonymize.load("identity"), "links", _concerns_all)
CASES: tuple[Case, ...] = (
    REAL,
    Case("identity", lambda: anonymize.load("identity"), "comes back", _concerns_all),
    Case(
        "affine map",
        lambda: AffineMap(degrees=6, scale=0.97, shift=(0.03, -0.02)),
        "comes back",
        _adapts,
    ),
    Case("smooth warp", lambda: SmoothWarp(reach=0.2, seed=1), "comes back", _adapts),
    Case("pixel shuffle", lambda: PixelShuffle(key=1), "comes back", _looks_at_pixels, key=True),
    Case("noise", lambda: Noise(seed=1), "chance", _looks_at_pixels),
    Case(
        "patients permuted",
        lambda: anonymize.load("identity"),
        "chance",
        _looks_for_patients,
        relabelled=True,
    ),
)
