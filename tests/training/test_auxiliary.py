"""What the classifier should say: labels, or what it says of the real image."""

import pytest
import torch
import torch.nn.functional as F

from anonymize.networks.build import build_classifier
from anonymize.options import AdversarialOptions, ClassifierOptions
from anonymize.training.compute import Compute
from anonymize.training.losses import distillation_loss, feature_loss
from anonymize.training.objective import Auxiliary, Batch, known_share

NAMES = ["compact", "resnet18", "densenet121", "densenet121-xrv"]


def classifier(name="compact"):
    torch.manual_seed(0)
    return build_classifier(ClassifierOptions(architecture=name, width=4), 3).eval()


def auxiliary(target, network=None):
    options = AdversarialOptions(auxiliary_target=target)
    return Auxiliary(network or classifier(), options, Compute())


def batch(real, targets):
    """Of these real images alone."""
    same = torch.eye(len(real)) > 0
    known = known_share(targets.numpy(), len(real))
    return Batch(real, real, same.any(1), targets, same, ~same, known)


@pytest.mark.parametrize("name", NAMES)
def test_features_are_what_the_last_layer_reads(name):
    network = classifier(name)
    last = getattr(network.backbone, "classifier" if "dense" in name else "fc")
    images = torch.rand(2, 1, 32, 32)
    logits, features = network.with_features(images)
    assert torch.equal(logits, network(images))
    assert torch.equal(last(features), logits)
    assert not last._forward_pre_hooks


def test_distillation_is_the_divergence_by_hand():
    logits, wanted = torch.randn(2, 4, 3)
    p, q = torch.sigmoid(wanted).double(), torch.sigmoid(logits).double()
    each = p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()
    assert float(distillation_loss(logits, wanted, reduction="mean")) == pytest.approx(
        float(each.mean()), rel=1e-4
    )
    assert float(distillation_loss(logits, wanted, reduction="sum")) == pytest.approx(
        float(each.sum(1).mean()), rel=1e-4
    )


def test_the_features_of_another_image_are_one_away():
    wanted = torch.randn(2000, 8)
    assert feature_loss(wanted, wanted, wanted) == 0
    assert float(feature_loss(wanted.roll(1, 0), wanted, wanted)) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("target", ["logits", "features"])
def test_distillation_needs_no_labels_and_is_least_at_the_real_image(target, images):
    own = auxiliary(target)
    own.classifier.backbone.fc.weight.data *= 30
    unknown = torch.full((3, 3), float("nan"))
    same = images.clone().requires_grad_()
    loss = own(same, batch(images, unknown))
    loss.backward()
    assert float(loss.detach()) == pytest.approx(0, abs=1e-6)
    assert float(same.grad.abs().max()) < 1e-5
    assert own(images.flip(-1), batch(images, unknown)) > 1e-4


def test_features_see_what_logits_do_not(images):
    network = classifier()
    torch.nn.init.zeros_(network.backbone.fc.weight)
    flipped, own = images.flip(-1), batch(images, torch.zeros(3, 3))
    assert auxiliary("logits", network)(flipped, own) == 0
    assert auxiliary("features", network)(flipped, own) > 0


def test_labels_are_eq_2(images):
    network, targets = classifier(), torch.eye(3)
    expected = F.binary_cross_entropy_with_logits(network(images), targets)
    own, real = auxiliary("labels", network), batch(images, targets)
    assert own(images, batch(images.flip(-1), targets)) == own.of_real(real) == expected
    assert auxiliary("logits", network).of_real(real) == 0
