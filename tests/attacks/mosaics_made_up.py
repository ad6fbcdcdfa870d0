"""People whose every patch tells something of every other, and mosaics of them."""

from functools import cache

import numpy as np
import torch

import anonymize
from anonymize.data.batches import HeldImages
from anonymize.set_anonymizer import Radiographs
from attacks.attacker import Auxiliary, ImageSet
from attacks.measuring.metrics import Contributors, Owners

SIDE, TRAITS = 48, 8


def people(count, *, each=4, noise=0.25, seed=0, first=0):
    """Patients whose images are sums of the same waves; how much of each wave is the patient's."""
    rng = np.random.default_rng(seed)
    waves = np.random.default_rng(7).normal(size=(TRAITS, 4))
    at = np.linspace(0, 1, SIDE)
    phases = 6 * (waves[:, 0, None, None] * at[:, None] + waves[:, 1, None, None] * at)
    drawn = np.sin(phases + 6 * waves[:, 2, None, None])
    traits = rng.normal(size=(count, TRAITS)).repeat(each, axis=0)
    traits = traits + noise * rng.normal(size=traits.shape)
    images = 0.5 + 0.06 * np.tensordot(traits, drawn, axes=1)
    images = images + 0.02 * rng.normal(size=images.shape)
    pixels = torch.from_numpy(images).clamp(0, 1).mul(255).round().to(torch.uint8)[:, None]
    codes = np.repeat(np.arange(count), each) + first
    owners = Owners(np.arange(len(codes)) + 100 * first, codes, np.ones(len(codes), bool))
    return ImageSet(pixels, owners)


def mosaics(images, *, m, uses=1, g=3, feather=0.5):
    """For every image an output that it is in, or else one that its patient is in."""
    given = Radiographs(
        HeldImages(images.images.float() / 255),
        images.owners.patient,
        np.zeros((len(images), 0), np.float32),
    )
    method = anonymize.load(f"mosaic:g={g},m={m},uses={uses},feather={feather},seed=0")
    found = method.released(given)
    pixels = found.images.batch(np.arange(len(found))).mul(255).round().to(torch.uint8)
    made, whose = np.stack(found.contributors), images.owners.patient
    rng, shown = np.random.default_rng(0), []
    for row, patient in enumerate(whose):
        inside = (made == row).any(axis=1)
        where = inside if inside.any() else (whose[made] == patient).any(axis=1)
        shown.append(rng.choice(np.flatnonzero(where)) if where.any() else -1)
    rows = np.flatnonzero(np.array(shown) >= 0)  # patches are left over
    made = made[np.array(shown)[rows]]
    owners = images.owners[rows]
    several = Contributors(images.owners.image[made], whose[made], np.full_like(made, -1))
    owners = Owners(owners.image, owners.patient, owners.identified, contributors=several)
    return rows, ImageSet(pixels[np.array(shown)[rows]], owners)


@cache
def known(m, uses=1):
    """What `fit` takes, of mosaics."""
    sets = []
    for images in (people(72, seed=1), people(45, seed=2, first=200)):
        rows, released = mosaics(images, m=m, uses=uses)
        sets += [images[rows], released]
    return Auxiliary(*sets)
