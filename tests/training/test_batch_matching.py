"""The loss that trains every quick verifier, derived once more in plain loops over pairs."""

import numpy as np
import pytest
import torch

from anonymize.data.batches import HeldImages
from anonymize.data.pairs import Pairs
from anonymize.options import VerifierOptions
from anonymize.training.compute import Compute
from anonymize.training.losses import batch_matching_loss
from anonymize.training.stages import Paired, VerifierStage

TEMPERATURE = 0.1
# Patient of each image, None where nobody knows; image 5 stands in the batch twice.
PATIENTS = ["a", "a", "b", "a", "c", "b", "b", None, None, "d"]
IMAGES = [0, 1, 2, 3, 4, 5, 5, 6, 7, 8]


def masks(patients=PATIENTS, images=IMAGES):
    """``same`` and ``other`` of images whose unidentified ones meet nobody."""
    n = range(len(patients))
    known = [patient is not None for patient in patients]
    same = [[known[i] and patients[i] == patients[j] for j in n] for i in n]
    other = [[known[i] and known[j] and images[i] != images[j] for j in n] for i in n]
    return torch.tensor(same), torch.tensor(other)


def likeness(a, b):
    """The exponential of the cosine."""
    return (a @ b / (a @ a * (b @ b)).sqrt() / TEMPERATURE).exp()


def by_definition(logits, z, patients, images):
    """−log of each pair's probability under the verifier, genuine and impostor pairs weighing the
    same, and −log of each genuine partner's share among all images that its image is told from."""
    genuine, impostor, ranked = [], [], []
    for i, patient in enumerate(patients):
        others = [
            j
            for j, another in enumerate(patients)
            if patient is not None and another is not None and images[i] != images[j]
        ]
        crowd = sum(likeness(z[i], z[j]) for j in others)
        for j in others:
            p = 1 / (1 + (-logits[i, j]).exp())
            if patients[j] == patient:
                genuine.append(-p.log())
                ranked.append(-(likeness(z[i], z[j]) / crowd).log())
            else:
                impostor.append(-(1 - p).log())
    mean = [sum(terms) / len(terms) for terms in (genuine, impostor, ranked)]
    return (mean[0] + mean[1]) / 2 + mean[2]


@pytest.fixture
def batch():
    """Logits that are not symmetric, and embeddings of any length."""
    rng = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(10, 10, generator=rng, dtype=torch.float64)
    z = torch.randn(10, 4, generator=rng, dtype=torch.float64)
    return logits.requires_grad_(), (z * torch.arange(1, 11)[:, None]).requires_grad_()


def test_value_and_gradients_are_those_of_the_definition(batch):
    logits, z = batch
    found = batch_matching_loss(logits, z, *masks(), temperature=TEMPERATURE)
    expected = by_definition(logits, z, PATIENTS, IMAGES)
    assert found.item() == pytest.approx(expected.item(), rel=1e-12)
    slopes, wanted = (torch.autograd.grad(loss, batch) for loss in (found, expected))
    for slope, plain in zip(slopes, wanted, strict=True):
        torch.testing.assert_close(slope, plain, rtol=1e-9, atol=1e-15)
        assert slope[:7].abs().sum(1).min() > 1e-4


def test_unidentified_images_count_nothing(batch):
    logits, z = batch
    loss = batch_matching_loss(logits, z, *masks())
    loss.backward()
    unknown = [i for i, patient in enumerate(PATIENTS) if patient is None]
    for gradient in (logits.grad[unknown], logits.grad[:, unknown], z.grad[unknown]):
        assert torch.equal(gradient, torch.zeros_like(gradient))
    known = [i for i, patient in enumerate(PATIENTS) if patient is not None]
    same, other = (mask[known][:, known] for mask in masks())
    without = batch_matching_loss(logits[known][:, known], z[known], same, other)
    assert loss.item() == pytest.approx(without.item(), rel=1e-12)


@pytest.mark.parametrize("patients", [range(10), [0] * 10])
def test_a_batch_of_one_kind_of_pairs_is_no_nan(batch, patients):
    logits, z = batch
    loss = batch_matching_loss(logits, z, *masks([str(p) for p in patients], range(10)))
    loss.backward()
    for found in (loss, logits.grad, z.grad):
        assert torch.isfinite(found).all()


class Given(torch.nn.Module):
    """A verifier of images (B, 1, 1, features) that are their own embeddings at first."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def embed(self, images):
        return self.scale * images.flatten(1)

    def compare(self, a, b):
        return 3 - 2 * (a - b).abs().sum(-1)


def test_the_verifier_is_trained_on_every_pair_of_its_batch():
    """Each image of a batch stands in it once for each pair that it belongs to."""
    pixels = torch.rand(9, 1, 1, 4, generator=torch.Generator().manual_seed(1))
    patients = np.array([0, 0, 0, 1, 1, 2, 2, 3, 4])
    pairs = Pairs(np.array([0, 0, 3, 5, 1]), np.array([1, 2, 4, 6, 7]), np.arange(5) < 4)

    images, network = HeldImages(pixels), Given()
    stage = VerifierStage(
        network,
        VerifierOptions(objective="batch", augment=False),
        Paired(images, images, patients, lambda seed: pairs, pairs),
        compute=Compute(),
    )
    trained = stage.train_epoch(seed=0)["loss"]
    rows = [0, 0, 3, 5, 1, 2, 4, 6]
    z = pixels[rows].flatten(1)
    logits = network.compare(z[:, None], z)
    expected = by_definition(logits, z, [f"{patients[r]}" for r in rows], rows)
    assert trained == pytest.approx(expected.item(), rel=1e-5)
