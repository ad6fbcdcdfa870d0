"""What is compared with what."""

from dataclasses import replace
from typing import Literal

import numpy as np

from attacks.attacker import ImageSet
from attacks.measuring.metrics import Contributors, Owners

Scenario = Literal["released-real", "released-released", "before-after"]


def asked_of(own: Scenario | None, asked: Scenario) -> Scenario:
    """What an attacker compares that has an ``own`` scenario, or none: who looks for patients in
    real images does so in the originals too, where these are asked for."""
    originals = (own, asked) == ("released-real", "before-after")
    return asked if own is None or originals else own


def probes_and_gallery(
    scenario: Scenario, released: ImageSet, real: ImageSet
) -> tuple[ImageSet, ImageSet]:
    """Probes and gallery.

    "released-real": a released image against the real images of its patient but its own original.
    "released-released": against the patient's other released images; or against the real ones after
    the adversary has anonymized them too, which is the same.
    "before-after": every image is a person of its own, and the original stands in the gallery: does
    the release give its own input away?
    """
    gallery = released if scenario == "released-released" else real
    asked, known = owners_in(scenario, released.owners, gallery.owners)
    return replace(released, owners=asked), replace(gallery, owners=known)


def owners_in(scenario: Scenario, probes: Owners, gallery: Owners) -> tuple[Owners, Owners]:
    """Whose probes and gallery are, as a scenario asks it."""
    if scenario != "before-after":
        return probes, gallery
    asked, known = (
        replace(
            owners,
            image=number,
            patient=owners.image,
            identified=np.ones(len(owners), bool),
            contributors=_as_people(owners.contributors),
        )
        for owners, number in ((probes, probes.image), (gallery, -1 - gallery.image))
    )
    return asked, known


def _as_people(made_of: Contributors | None) -> Contributors | None:
    """Contributors of whom every image is a person of its own."""
    if made_of is None:
        return None
    nobody = np.full_like(made_of.unknown, -1)
    return Contributors(image=made_of.image, patient=made_of.image, unknown=nobody)
