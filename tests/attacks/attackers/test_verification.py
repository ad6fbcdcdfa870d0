"""The siamese verifier as an attacker: what it learns from, and what it cannot learn."""

import numpy as np
import pytest
import torch
from identities import owners_of, saved_verifier, strangers

from anonymize.data.batches import HeldImages
from anonymize.data.pairs import Pairs
from anonymize.options import VerifierOptions
from attacks.attacker import Auxiliary, ImageSet
from attacks.attackers.verification import KnownVerifier, Mixture, Verification
from attacks.measuring.metrics import Owners, pair_auc
from attacks.training.learning import Learning


def people(seed, patients=40, images=4, size=32):
    """Images of blobs whose places are the patient's; the exposure varies."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:size, 0:size] / size
    pictures = []
    for _ in range(patients):
        spots = rng.uniform(0.15, 0.85, (5, 2))
        for _ in range(images):
            at = spots + rng.normal(0, 0.01, spots.shape)
            picture = sum(np.exp(-((x - a) ** 2 + (y - b) ** 2) / 0.006) for a, b in at)
            pictures.append(rng.uniform(0.6, 1) * picture / picture.max())
    pixels = torch.from_numpy(np.stack(pictures)).float().unsqueeze(1)
    owners = owners_of(np.repeat(np.arange(patients), images))
    return ImageSet((pixels * 255).to(torch.uint8), owners)


def options(objective="batch", epochs=8):
    return VerifierOptions(
        architecture="compact", width=8, features=16, epochs=epochs, rate=3e-3, objective=objective
    )


def fitted(attacker, train, released=lambda s: s):
    rows = np.arange(len(train))
    learn, validate = train[rows[:120]], train[rows[120:]]
    return attacker.fit(Auxiliary(learn, released(learn), validate, released(validate)), seed=1)


def attack(
    train, test, released=lambda s: s, trained_on="released-released", objective="batch", epochs=8
):
    attacker = Verification(options(objective, epochs), trained_on=trained_on)
    fitted(attacker, train, released)
    scores = attacker.score(released(test).images, test.images)
    assert scores.shape == (len(test), len(test))
    return scores, pair_auc(scores, test.owners, test.owners)


def test_it_learns_who_is_who():
    """And no leak between the parts: under names dealt out anew there is nothing to find."""
    test = people(1)
    scores, auc = attack(people(0), test, epochs=5)
    assert auc > 0.85
    dealt = np.random.default_rng(0).permutation(test.owners.patient)
    strangers = Owners(test.owners.image, dealt, test.owners.identified)
    assert abs(pair_auc(scores, strangers, strangers) - 0.5) < 0.06


def test_the_published_objective_learns_too():
    assert attack(people(0), people(1), objective="pairs", epochs=4)[1] > 0.6


def test_noise_stays_at_chance():
    train, test = (strangers(people(seed), seed) for seed in (0, 1))
    assert abs(attack(train, test, epochs=4)[1] - 0.5) < 0.06


def test_the_same_seed_gives_the_same_attacker():
    first, second = (attack(people(0), people(1), epochs=1)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def inverted(images):
    """A release that an attacker of released images sees through, and one of real images not."""
    return ImageSet(255 - images.images, images.owners)


def test_pairs_with_a_real_image_teach_what_is_tested():
    """Inverted images look unlike real ones: whoever only compares them with each other loses."""
    naive, mixed = (
        attack(people(0), people(1), inverted, kind, epochs=4)[1]
        for kind in ("released-released", "mixed")
    )
    assert naive + 0.05 < mixed


def test_what_it_starts_from_is_kept_where_training_makes_it_worse(tmp_path, monkeypatch):
    def spoil(self, stage, seed):
        with torch.no_grad():
            for values in stage.network.parameters():
                values.mul_(-5)

    known = saved_verifier(tmp_path / "verifier.safetensors").state_dict()
    attacker = Verification(options("pairs"), start=tmp_path / "verifier.safetensors")
    monkeypatch.setattr(Learning, "train", spoil)
    fitted(attacker, people(0))
    kept = attacker.network.state_dict()
    assert all(torch.equal(kept[name], known[name]) for name in known)


@pytest.fixture
def seen(monkeypatch):
    """The stage that a training would have run."""
    kept = []
    monkeypatch.setattr(Learning, "train", lambda self, stage, seed: kept.append(stage))
    return kept


@pytest.mark.parametrize(
    ("trained_on", "real_second"),
    [("released-released", 0.0), ("released-real", 1.0), ("mixed", 0.5)],
)
def test_what_stands_in_a_pair(seen, trained_on, real_second):
    train = people(0)
    fitted(Verification(options(), trained_on=trained_on), train, inverted)
    stage, rows = seen[0], np.arange(len(train))
    stage.data.pairs(7)
    real, released = train.images.float() / 255, 1 - train.images.float() / 255
    assert torch.allclose(stage.data.first.batch(rows), released)
    second = stage.data.second.batch(rows)
    is_real = torch.isclose(second, real).all(dim=(1, 2, 3)).numpy()
    assert (torch.isclose(second, released).all(dim=(1, 2, 3)).numpy() != is_real).all()
    assert abs(is_real[:120].mean() - real_second) < 0.15
    assert abs(is_real[120:].mean() - real_second) < 0.2


def test_a_mixture_is_drawn_again_each_epoch_but_not_for_validation():
    mixture = Mixture(HeldImages(torch.zeros(40, 1, 2, 2)), HeldImages(torch.ones(40, 1, 2, 2)))

    def drawn(seed):
        mixture.draw(30, seed)
        return mixture.batch(np.arange(40))[:, 0, 0, 0]

    one, other, again = drawn(1), drawn(2), drawn(1)
    assert (one == again).all()
    assert (one[:30] != other[:30]).any()
    assert (one[30:] == other[30:]).all()


def test_given_pairs_are_found_by_the_number_of_the_image(seen):
    """The table numbers its images; the attacker gets only those of a part, in any order."""
    train = people(0, patients=10)
    numbers = np.random.default_rng(3).permutation(1000)[: len(train)]
    images = ImageSet(train.images, Owners(numbers, train.owners.patient, train.owners.identified))
    listed = Pairs(numbers[[4, 8]], numbers[[5, 30]], np.array([True, False]))
    attacker = Verification(options(), pairs=lambda seed: listed, validation=listed)
    attacker.fit(Auxiliary(images, images, images, images), seed=0)
    pairs, validation = seen[0].data.pairs(0), seen[0].data.validation
    assert (pairs.first.tolist(), pairs.second.tolist()) == ([4, 8], [5, 30])
    offset = len(train)
    assert (validation.first.tolist(), validation.second.tolist()) == (
        [offset + 4, offset + 8],
        [offset + 5, offset + 30],
    )


@pytest.fixture
def known(tmp_path):
    """An attacker with the verifier of a file, and the network."""
    path = tmp_path / "verifier.safetensors"
    network = saved_verifier(path, options())
    return KnownVerifier(path), network


def test_the_verifier_of_real_images_is_used_as_it_is(known):
    (attacker, network), test = known, people(1, patients=4)
    assert fitted(attacker, people(0)) is attacker
    scores = attacker.score(test.images, test.images)
    floats = test.images.float() / 255
    with torch.no_grad():
        expected = network(floats[:1].expand(len(test), -1, -1, -1), floats)
    np.testing.assert_allclose(scores[0], expected.numpy(), atol=1e-4)
    assert attacker.knowledge == "ignorant"


def test_the_gallery_is_embedded_once_for_all_methods(known, monkeypatch):
    attacker, test = known[0], people(1, patients=4)
    before = attacker.score(test.images, test.images)
    embedded = []
    original = attacker.network.embed
    monkeypatch.setattr(
        attacker.network, "embed", lambda images: embedded.append(len(images)) or original(images)
    )
    np.testing.assert_array_equal(attacker.score(test.images.clone(), test.images), before)
    assert sum(embedded) == len(test)
    other = test.images.flip(0)
    assert (attacker.score(test.images, other) != before).any()
