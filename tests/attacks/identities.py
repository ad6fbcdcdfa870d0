"""Small patients, whose each has a texture of its own; owners, AUCs and verifiers for the tests."""

from dataclasses import replace

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F

from anonymize.data.sources.registry import read
from anonymize.data.splits import assign, learning_patients
from anonymize.model_card import Card
from anonymize.model_file import save_model
from anonymize.networks.build import build_verifier
from anonymize.options import VerifierOptions
from attacks.attacker import Auxiliary, ImageSet
from attacks.measuring.metrics import Contributors, Covariates, Owners, pair_auc

SIDE = 32
SMALL = VerifierOptions(architecture="compact", width=4, features=8)


class NoPixels(ImageSet):
    """Owners alone, for attackers that look at no pixel."""

    def __post_init__(self):
        pass


def owners_of(patient, findings=None, *, identified=None):
    """One image an entry of ``patient``; nothing but findings is known beside, if they are."""
    patient = np.asarray(patient)
    n, unknown = len(patient), np.full(len(patient), -1)
    if findings is not None:
        findings = Covariates(np.asarray(findings), unknown, unknown, np.full(n, np.nan))
    known = np.ones(n, bool) if identified is None else identified
    return Owners(np.arange(n), patient, known, findings)


CONTRIBUTORS = 3


def mixed(seed=0, images=60, patients=25):
    """Real images, some of unknown patients; and outputs of three images each, of which row i is
    one to which image i contributed. All findings are the same."""
    rng = np.random.default_rng(seed)
    patient, known = rng.integers(0, patients, images), rng.random(images) > 0.2
    real = owners_of(patient, np.zeros(images), identified=known)
    groups = np.split(rng.permutation(images), images // CONTRIBUTORS)
    image = np.zeros((images, CONTRIBUTORS), np.int64)
    for group in groups:
        image[group] = group
    known, whose = real.identified[image], real.patient[image]
    made_of = Contributors(image, np.where(known, whose, -1), np.where(known, -1, whose))
    return replace(real, contributors=made_of), real


def assert_of_own_parts(released, table):
    """Every output is made of images of the part that it is in."""
    part = table.frame["part"].to_numpy()
    for row in np.flatnonzero(released.there):
        rows = released.contributors.image[row]
        assert {part[n] for n in rows[rows >= 0]} == {part[row]}


def frame_of(**columns):
    """Rows of a data table of which only these columns say anything."""
    plain = {
        "image_id": [f"i{n}" for n in range(len(next(iter(columns.values()))))],
        **dict.fromkeys(("path", "patient_id", "view", "sex", "part"), ""),
        **{"identified": True, "follow_up": 0, "age": np.nan},
    }
    return pd.DataFrame(plain | columns)


def auc(attacker, probes, gallery=None):
    """Of all pairs; without a gallery of the probes with each other."""
    gallery = probes if gallery is None else gallery
    return pair_auc(attacker.link(probes, gallery), probes.owners, gallery.owners)


def saved_verifier(path, options=SMALL, *, seed=0, learnt=None):
    """An untrained verifier as a file, whose card says ``learnt``; gives the network."""
    torch.manual_seed(seed)
    network = build_verifier(options).eval()
    own = {"kind": "verifier", "architecture": options.model_dump(), "size": SIDE}
    save_model(network, Card(**own, data=learnt or {}), path)
    return network


def trained_by(options, seed=0):
    """What the card of a network says that was trained on another split of these data."""
    table = assign(read(options), seed=seed)
    learnt = learning_patients(table)
    return {"source": table.source, "split_seed": seed, "learning_patients": learnt}


def image_set(patients, *, each=4, noise=0.15, seed=0, first=0):
    """``patients`` × ``each`` images (uint8): smooth texture of the patient, and noise."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(patients), each) + first
    texture = rng.random((patients, 1, 8, 8)).repeat(each, axis=0)
    images = F.interpolate(torch.from_numpy(texture), (SIDE, SIDE), mode="bicubic")
    images = images + noise * torch.from_numpy(rng.standard_normal(images.shape))
    pixels = (images.clamp(0, 1) * 255).round().to(torch.uint8)
    rows = np.arange(len(codes)) + first * 100
    return ImageSet(pixels, Owners(rows, codes, np.ones(len(codes), bool)))


def smooth(count, seed):
    """Images (count, 1, SIDE, SIDE) of few random waves."""
    coarse = torch.rand((count, 1, 6, 6), generator=torch.manual_seed(seed))
    return F.interpolate(coarse, (SIDE, SIDE), mode="bicubic").clamp(0, 1)


def parts(**changed):
    """What `Attacker.fit` takes: 24 training and 8 validation patients; released as they are."""
    train, validation = image_set(24, seed=1), image_set(8, seed=2, first=100)
    return replace(Auxiliary(train, train, validation, validation), **changed)


def parts_of(made):
    """The same of 60 and 24 patients; released is what ``made`` makes of the real images."""
    train, validation = image_set(60, seed=1), image_set(24, seed=2, first=100)
    return Auxiliary(train, made(train), validation, made(validation))


def turned(images):
    """A quarter turn: nothing is lost, but nothing is where it was."""
    return ImageSet(images.images.rot90(1, dims=(2, 3)), images.owners)


def strangers(images, seed=0):
    """The same owners; images of noise."""
    pixels = np.random.default_rng(seed).integers(0, 256, tuple(images.images.shape), np.uint8)
    return ImageSet(torch.from_numpy(pixels), images.owners)
