"""Who has the method of a release by codes finds what the codes tell, and nothing more."""

import numpy as np
import pytest
import torch
from identities import auc, owners_of, parts

from anonymize.anonymizer import load
from anonymize.data.batches import HeldImages
from anonymize.errors import DataError, UsageError
from anonymize.set_anonymizer import Coding
from attacks.attacker import ImageSet, linked
from attacks.attackers.codes import Codes
from attacks.measuring.retrieval import retrieve
from attacks.registry import choose

K = 5
CENTRES = np.stack([np.arange(K), np.arange(K) % 2], axis=1).astype(float)
CODING = Coding(
    CENTRES,
    lambda images: 9 * images.batch(np.arange(len(images)))[:, 0, 0, :2].double().numpy(),
    lambda released: (
        (9 * released.batch(np.arange(len(released)))[:, 0, 0, 0]).round().long().numpy()
    ),
)


def world(patients, *, seed=0, each=3, noise=0.0, first=0):
    """Real images whose first pixels are a patient's code with ``noise``, and their outputs, which
    are nothing but the code; the same number of patients has each."""
    rng = np.random.default_rng(seed)
    whose = np.repeat(first + np.arange(patients), each)
    code = np.repeat(rng.permutation(np.arange(patients) % K), each)
    real = torch.tensor(rng.random((len(whose), 1, 4, 4)), dtype=torch.float32)
    real[:, 0, 0, :2] = (
        torch.tensor(CENTRES[code] + noise * rng.standard_normal((len(whose), 2))) / 9
    )
    released = torch.zeros(len(whose), 1, 4, 4)
    released[:, 0, 0, 0] = torch.tensor(code, dtype=torch.float32) / 9
    return tuple(ImageSet(images, owners_of(whose)) for images in (real, released))


def taught(*, noise=0.0, coding=CODING):
    real, released = world(60, seed=1, noise=noise, first=100)
    auxiliary = parts(
        real=real, released=released, validation_real=real, validation_released=released
    )
    return Codes(coding).fit(auxiliary, seed=0)


def test_it_reaches_what_the_codes_allow_and_not_more():
    """A genuine pair always shares the code, an impostor one in K but for its own patient: a coin
    decides between them."""
    patients = 40
    real, released = world(patients)
    alike = (patients / K - 1) / (patients - 1)
    found = auc(taught(), released, real)
    assert found == pytest.approx(1 - alike / 2, abs=1e-6)


def test_where_codes_are_read_with_noise_it_does_what_the_likelihood_does():
    """The ratio of the true normal densities, which nothing surpasses, is hardly better."""
    noise = 0.8
    real, released = world(200, seed=3, noise=noise)
    away = CODING.read(HeldImages(real.images))[:, None] - CENTRES
    likely = np.exp(-np.square(away / noise).sum(axis=2) / 2)
    best = likely / likely.mean(axis=1, keepdims=True)
    sent = CODING.sent(HeldImages(released.images))
    expected = auc(_Scores(best[:, sent].T), released, real)
    assert auc(taught(noise=noise), released, real) == pytest.approx(expected, abs=0.01)
    assert 0.6 < expected < 0.9


def test_without_a_code_in_the_image_it_is_a_coin():
    attacker = taught(noise=1000)
    found = [auc(attacker, *world(60, seed=n, noise=1000)[::-1]) for n in range(10)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.02)


def test_it_finds_nobody_more_often_than_a_code_names_people():
    """Of an image among those of one code, every patient with another image there is as likely."""
    real, released = world(40)
    scores = linked(taught(), released, real)
    found, rng = [], np.random.default_rng(0)
    for _ in range(20):
        drawn = scores + 1e-4 * rng.random(scores.shape)  # ties are broken by chance
        found.append(retrieve(drawn, released.owners, real.owners).within(1).mean())
    of_code = 3 * 40 // K  # images, of which the probe's own is none, and two are of its patient
    assert np.mean(found) == pytest.approx(2 / (of_code - 1), abs=0.02)


def test_it_concerns_methods_of_codes_alone():
    level = choose("codes").level
    assert choose("codes").knowledge == "white-box"
    assert "follow from no codes" in level.not_of(load("identity"))
    assert "follow from no codes" in level.not_of(load("k-same"))
    assert "follow from no codes" in level.not_of(load("utility-code:own=0.1"))


def test_what_it_cannot_learn_from_is_refused():
    with pytest.raises(UsageError, match="needs a method of codes"):
        taught(coding=None)
    real, released = world(10, each=1)
    with pytest.raises(DataError, match="a patient of several images"):
        Codes(CODING).fit(
            parts(real=real, released=released, validation_real=real, validation_released=released),
            seed=0,
        )


class _Scores:
    def __init__(self, scores):
        self.scores = scores

    def link(self, probes, gallery):
        return self.scores
