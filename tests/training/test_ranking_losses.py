"""Terms that see ranking: derived by hand and by scipy, and blind to what ranking is blind to."""

import math

import pytest
import torch
from scipy.stats import wasserstein_distance

from anonymize.training.losses import verification_loss
from anonymize.training.ranking_losses import genuine_loss, infonce_loss, match_loss

TERMS = [genuine_loss, match_loss, infonce_loss]
GENUINE = torch.eye(6, dtype=torch.bool)
IMPOSTOR = ~GENUINE
IMPOSTOR[0, 1] = IMPOSTOR[4, 2] = False  # an image beside itself counts nothing


def logits(shift=2.0):
    random = torch.Generator().manual_seed(0)
    return (torch.randn(6, 6, generator=random) + shift * GENUINE).requires_grad_()


def test_genuine_pairs_by_hand():
    z = logits().detach()
    expected = [math.log(1 + math.exp(float(z[i, i]))) for i in range(6)]
    assert float(genuine_loss(z, GENUINE, IMPOSTOR)) == pytest.approx(sum(expected) / 6)


def test_match_is_the_wasserstein_distance():
    own, others = torch.randn(40), 3 * torch.randn(40) + 1
    z = torch.stack((own, others))
    mask = torch.tensor([[True], [False]]).expand(2, 40)
    assert float(match_loss(z, mask, ~mask)) == pytest.approx(
        wasserstein_distance(own.numpy(), others.numpy()), rel=1e-5
    )


def test_match_of_one_distribution_is_zero_whatever_the_counts():
    own = torch.randn(5)
    z = torch.cat((own, own.repeat(3)))[None]
    mask = (torch.arange(20) < 5)[None]
    assert float(match_loss(z, mask, ~mask)) == pytest.approx(0, abs=1e-6)
    few = torch.tensor([[0.0, 1.0, 2.0, 3.0, 1.5]])
    mask = torch.tensor([[True, True, True, True, False]])
    assert float(match_loss(few, mask, ~mask)) == pytest.approx(
        wasserstein_distance([0, 1, 2, 3], [1.5])
    )


def test_match_turns_round_where_genuine_scores_are_the_lower_ones():
    for shift, sign in ((9.0, 1), (-9.0, -1)):
        z = logits(shift)
        match_loss(z, GENUINE, IMPOSTOR).backward()
        assert (z.grad[GENUINE] * sign > 0).all()
        assert (z.grad[~GENUINE] == 0).all()


def test_infonce_by_hand():
    z = logits().detach()
    found = []
    for i in range(6):
        others = sum(math.exp(float(z[i, j])) for j in range(6) if IMPOSTOR[i, j])
        own = math.exp(float(z[i, i]))
        found.append(-math.log(1 - own / (own + others)))
    assert float(infonce_loss(z, GENUINE, IMPOSTOR)) == pytest.approx(sum(found) / 6, rel=1e-5)


def test_lowering_all_scores_gains_nothing_but_in_the_published_term():
    z = logits().detach()
    for term in (match_loss, infonce_loss):
        before, after = (float(term(z - by, GENUINE, IMPOSTOR)) for by in (0, 3))
        assert after == pytest.approx(before, rel=1e-4)
    assert verification_loss(z - 3) < verification_loss(z) / 2


@pytest.mark.parametrize("term", TERMS)
def test_what_is_in_neither_mask_gets_no_gradient(term):
    z = logits()
    term(z, GENUINE, IMPOSTOR).backward()
    assert z.grad[0, 1] == z.grad[4, 2] == 0
    assert (z.grad[GENUINE] > 0).all()


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("missing", ["genuine", "impostor", "both", "impostors of a row"])
def test_a_batch_without_what_is_compared_is_no_nan(term, missing):
    z, genuine, impostor = logits(), GENUINE.clone(), IMPOSTOR.clone()
    if missing in ("genuine", "both"):
        genuine[:] = False
    if missing in ("impostor", "both"):
        impostor[:] = False
    if missing == "impostors of a row":
        impostor[2] = False
    loss = term(z, genuine, impostor)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(z.grad).all()
    assert missing != "both" or loss == 0
