"""Neural obfuscation: what the fit does, and the mixing of embeddings by a decoder of one's own."""

import numpy as np
import pytest
import torch
from sets_made_up import people, same
from skimage.metrics import structural_similarity

import anonymize
from anonymize.data.batches import HeldImages
from anonymize.set_anonymizer import Radiographs
from baselines import neural_obfuscation
from baselines.neural_obfuscation import (
    Decoder,
    NeuralObfuscation,
    NeuralObfuscationOptions,
    decoded,
    fitted,
)

GIVEN = people(6, size=(16, 19))
QUICK = "steps=5,embedding=8,width=4,batch=8,seed=1"


def released(spec=QUICK, given=GIVEN):
    return anonymize.load(f"neural-obfuscation:{spec}").released(given)


def plain(images):
    return images.flatten(1).double().numpy()


@pytest.fixture
def transparent(monkeypatch):
    """Embeddings of one's own: image i is 1 at the place i; they are decoded as they are."""

    def fit(images, options):
        return None, torch.eye(len(images))

    def show(_, embeddings):
        return (embeddings[:, None, :, None] / 4 + 0.5).clamp(0, 1)

    monkeypatch.setattr(neural_obfuscation, "fitted", fit)
    monkeypatch.setattr(neural_obfuscation, "decoded", show)
    monkeypatch.setattr("anonymize.set_anonymizer.SetAnonymizer._check_images", lambda *_: None)


def test_every_image_is_released_once_in_its_own_name():
    found = released()
    assert sorted(rows.tolist() for rows in found.contributors) == [[n] for n in range(len(GIVEN))]
    assert len(found.withheld(len(GIVEN))) == 0
    whose = [GIVEN.patients[rows[0]] for rows in found.contributors]
    assert len(set(zip(whose, found.groups.tolist(), strict=True))) == len(set(whose)) == 6


@pytest.mark.parametrize("rho", [0.0, 0.02, 0.05])
def test_an_embedding_takes_some_of_the_others(transparent, rho):
    given = people(60, size=(8, 8), most=1)
    found = released(f"rho={rho},seed=2", given)
    matrix = 4 * (found.images.pixels[:, 0, :, 0].double().numpy() - 0.5)
    own = matrix.argmax(axis=1)
    assert sorted(own) == [*range(60)]
    others = matrix[own.argsort()] - np.eye(60)
    assert others.std() == pytest.approx(rho, rel=0.05)
    assert abs(others.mean()) < 4 * rho / 60 + 1e-6


@pytest.mark.parametrize(
    ("images", "sizes"), [(1, [1]), (10, [10]), (11, [6, 5]), (33, [9, 8, 8, 8])]
)
def test_batches_hold_so_many_at_most(monkeypatch, images, sizes):
    seen = []
    monkeypatch.setattr(
        NeuralObfuscation, "_obfuscated", lambda _, batch: seen.append(batch) or batch
    )
    rows = [np.array([n]) for n in range(images)][::-1]
    given = torch.rand(images, 1, 6, 6)
    made = NeuralObfuscation(batch=10, seed=1).made(
        HeldImages(given), rows, np.random.default_rng(0)
    )
    assert [len(batch) for batch in seen] == sizes
    assert torch.equal(made, given.flip(0))


def test_a_fit_comes_nearer_with_every_step():
    images = GIVEN.images.batch(np.arange(8))
    away = []
    for steps in (1, 40, 160):
        torch.manual_seed(0)
        options = NeuralObfuscationOptions(steps=steps, embedding=16, width=6)
        found = decoded(*fitted(images, options))
        pairs = zip(found[:, 0].numpy(), images[:, 0].numpy(), strict=True)
        away.append(1 - np.mean([structural_similarity(*one, data_range=1) for one in pairs]))
    assert away[0] > 1.2 * away[1] > 1.2 * 1.2 * away[2]


def test_an_output_is_more_like_its_image_than_like_others():
    found = released("rho=0,steps=80,embedding=16,width=6,seed=1")
    images = plain(GIVEN.images.batch(np.arange(len(GIVEN))))
    alike = np.corrcoef(plain(found.images.pixels), images)[: len(found), len(found) :]
    own = np.array([rows[0] for rows in found.contributors])
    assert (alike.argmax(axis=1) == own).mean() > 0.9


def test_a_network_has_several_times_fewer_numbers_than_pixels():
    decoder = Decoder(64, 16, (96, 96))
    numbers = sum(p.numel() for p in decoder.parameters()) + 64 * 64
    assert 6 * numbers < 64 * 96 * 96  # as published


@pytest.mark.parametrize("size", [(16, 16), (17, 40), (96, 64)])
def test_sizes_need_be_no_multiples(size):
    found = Decoder(4, 2, size)(torch.zeros(3, 4))
    assert found.shape == (3, 1, *size)


def test_torch_keeps_its_random_numbers():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one = released()
    assert torch.equal(torch.rand(3), expected)
    assert same(one, released())
    assert not same(one, released(QUICK.replace("seed=1", "seed=2")))


def test_nobody_is_a_release_too():
    nobody = Radiographs(HeldImages(torch.rand(0, 1, 8, 8)), np.zeros(0, int), np.zeros((0, 1)))
    assert len(released(given=nobody)) == 0
