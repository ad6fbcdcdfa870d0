"""Eq. 2, 3 and 6 on numbers that a person can check."""

import math

import pytest
import torch
from safetensors.torch import load_file

from anonymize.training.losses import auxiliary_loss, matching_loss, verification_loss


def logit(p):
    return math.log(p / (1 - p))


def test_auxiliary_loss_by_hand():
    logits = torch.tensor([[logit(0.9), logit(0.2)], [logit(0.5), logit(0.4)]])
    targets = torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    first = -(math.log(0.9) + math.log(0.8))
    second = -(math.log(0.5) + math.log(0.4))
    assert auxiliary_loss(logits, targets).item() == pytest.approx((first + second) / 2)
    mean = float(auxiliary_loss(logits, targets, reduction="mean"))
    assert mean == pytest.approx((first + second) / 4)


def test_unknown_labels_count_nothing_and_get_no_gradient():
    logits = torch.tensor([[0.3, -1.0]], requires_grad=True)
    loss = auxiliary_loss(logits, torch.tensor([[1.0, float("nan")]]))
    loss.backward()
    assert loss.item() == pytest.approx(math.log(1 + math.exp(-0.3)))
    assert logits.grad[0, 1] == 0


def test_verification_loss_by_hand_and_for_certain_verifiers():
    scores = torch.tensor([0.9, 0.5])
    expected = -(math.log(0.1) + math.log(0.5)) / 2
    assert float(verification_loss(torch.logit(scores))) == pytest.approx(expected, rel=1e-5)
    assert float(verification_loss(torch.tensor([200.0]))) == pytest.approx(200)


def test_verification_loss_on_published_numbers(parity):
    data = load_file(parity / "siamese_head.safetensors")
    ours = torch.stack([verification_loss(v) for v in data["logit"]])
    assert torch.allclose(ours, data["verification_loss"].flatten(), atol=1e-6)


def test_matching_loss_by_hand():
    loss = matching_loss(torch.tensor([logit(0.8), logit(0.3)]), torch.tensor([True, False]))
    assert float(loss) == pytest.approx(-(math.log(0.8) + math.log(0.7)) / 2)


def test_unknown_reduction():
    with pytest.raises(ValueError, match="reduction must be 'sum' or 'mean'"):
        auxiliary_loss(torch.zeros(1, 1), torch.zeros(1, 1), reduction="max")
