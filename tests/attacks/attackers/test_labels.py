"""Labels that a method says of its outputs, on squares that are dark or bright by a finding."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from identities import auc, owners_of

from anonymize import load
from anonymize.errors import UsageError
from anonymize.options import ClassifierOptions
from attacks.attacker import Auxiliary, ImageSet
from attacks.attackers.labels import Labels, labels_alike
from attacks.knowledge.scenarios import probes_and_gallery
from attacks.registry import choose

SMALL = ClassifierOptions(
    architecture="compact", width=8, epochs=8, patience=8, rate=1e-2, augment=False
)
PATIENTS, EACH, FINDINGS = 60, 3, 3


@pytest.fixture(scope="module")
def world():
    """Findings (N, L) of patients, all images alike, and images that show them."""
    rng = np.random.default_rng(0)
    findings = np.repeat(rng.random((PATIENTS, FINDINGS)) < 0.5, EACH, axis=0).astype(np.float32)
    pixels = 0.1 * rng.random((len(findings), 1, 24, 24), np.float32)
    for number in range(FINDINGS):
        pixels[:, 0, :, 8 * number : 8 * number + 6] += findings[:, number, None, None] * 0.8
    who = np.repeat(np.arange(PATIENTS), EACH)
    return findings, ImageSet(torch.from_numpy(pixels), owners_of(who))


@pytest.fixture(scope="module")
def attacker(world):
    findings, images = world
    train, validation = images[np.arange(120)], images[np.arange(120, 150)]
    known = Auxiliary(train, train, validation, validation)
    hidden = np.where(np.arange(len(findings))[:, None] < 150, findings, np.nan)
    return Labels(SMALL, hidden).fit(known, seed=0)


def shown(images, labels):
    """Outputs that show nothing, of which labels are said."""
    blank = torch.zeros_like(images.images)
    return ImageSet(blank, images.owners, labels.astype(np.float32))[np.arange(150, 180)]


def test_labels_of_the_patient_link_and_those_of_others_do_not(world, attacker):
    findings, images = world
    gallery = images[np.arange(150, 180)]
    said = np.clip(0.8 * findings + 0.1, 0, 1)
    assert auc(attacker, shown(images, said), gallery) > 0.85
    other = np.random.default_rng(1).permutation(PATIENTS)
    strange = said.reshape(PATIENTS, EACH, -1)[other].reshape(said.shape)
    assert auc(attacker, shown(images, strange), gallery) < 0.75


def test_what_is_not_known_of_an_output_counts_nothing(world, attacker):
    findings, images = world
    gallery = images[np.arange(150, 180)]
    silent = np.where(np.arange(FINDINGS) == 1, np.nan, findings)
    scores = attacker.link(shown(images, silent), gallery)
    read = attacker._read(gallery.images)
    by_others = labels_alike(findings[150:180, [0, 2]], read[:, [0, 2]])
    np.testing.assert_array_equal(scores, by_others)
    partly = findings[150:180].copy()
    partly[4, 1] = np.nan
    filled = partly.copy()
    filled[4, 1] = np.nanmean(partly[:, 1])
    np.testing.assert_array_equal(labels_alike(partly, read), labels_alike(filled, read))


def test_labels_stay_with_their_images(world):
    findings, images = world
    said = replace(images, labels=findings)
    rows = np.array([5, 2, 9])
    np.testing.assert_array_equal(said[rows].labels, findings[rows])
    assert images[rows].labels is None
    for scenario in ("released-real", "before-after"):
        probes, gallery = probes_and_gallery(scenario, said, images)
        assert probes.labels is findings
        assert gallery.labels is None


def test_it_concerns_methods_that_say_what_outputs_show():
    chosen = choose("labels")
    assert chosen.knowledge == "ignorant"
    assert "says nothing of its own" in chosen.level.not_of(load("identity"))
    assert "says nothing of its own" in chosen.level.not_of(load("mosaic"))
    assert not chosen.level.not_of(load("mosaic:read=0.5"))


def test_without_labels_it_has_nothing_to_go_by(world, attacker):
    _, images = world
    with pytest.raises(UsageError, match="needs a method that says"):
        attacker.link(images, images)
    with pytest.raises(UsageError, match="looks at no output"):
        attacker.score(images.images, images.images)
