"""What is measured while the game is on, derived a second way; nobody is changed by it."""

import numpy as np
import pytest
import torch
from tiny_run import game, same, states

from anonymize import flow
from anonymize.data.batches import HeldImages
from anonymize.data.pairs import Pairs
from anonymize.networks.build import build_verifier
from anonymize.options import AdversarialOptions, CourseOptions, FlowOptions, VerifierOptions
from anonymize.prichexy_net import FlowGenerator
from anonymize.trained import Generator
from anonymize.training.compute import Compute
from anonymize.training.observed import Observer, Watched, gradients, movement
from anonymize.training.stages import Paired
from baselines.options import PrivacyNetOptions
from baselines.privacy_net import ImageGenerator

SIDE = 16
FIELD = {"auxiliary_gradient", "verification_gradient", "gradient_cosine"}


class Still(Generator):
    """Deforms by nothing."""

    def displacement(self, images):
        return images.new_zeros(len(images), 2, SIDE, SIDE)

    def forward(self, images):
        return images


def observer(terms, *, batch=4):
    """On six pairs of one ramp: every step to the right is brighter by 1/32."""
    ramp = torch.linspace(0, (SIDE - 1) / 32, SIDE).expand(6, 1, SIDE, SIDE)
    pairs = Pairs(np.arange(6), np.arange(6)[::-1].copy(), np.arange(6) % 2 == 0)
    images = HeldImages(ramp.contiguous())
    return Observer(
        Watched(
            Still(),
            build_verifier(VerifierOptions(architecture="compact", width=4, features=8)),
            terms,
        ),
        AdversarialOptions(batch=batch, course=CourseOptions(attacker_every=0)),
        Paired(images, images, np.arange(6), lambda seed: pairs, pairs),
        np.zeros((6, 1), np.float32),
        Compute(),
    )


def inner(images):
    """Their brightness away from the edges, where the gradient is the ramp's alone."""
    return images[..., 2:-2, 2:-2].sum((1, 2, 3)).mean()


@pytest.mark.parametrize("batch", [2, 4, 6])
def test_gradients_on_a_ramp_follow_from_its_slope(batch):
    def terms(anonymized, chosen):
        return {"auxiliary": inner(anonymized), "verification": -3 * inner(anonymized)}

    found = observer(terms, batch=batch).figures(1)
    slope = (SIDE - 1) / 2 / 32  # of brightness a unit of the displacement, in each of 12² pixels
    assert found["auxiliary_gradient"] == pytest.approx(12 * slope, rel=1e-4)
    assert found["verification_gradient"] == pytest.approx(36 * slope, rel=1e-4)
    assert found["gradient_cosine"] == pytest.approx(-1)


def test_terms_that_read_other_pixels_do_not_pull_at_each_other():
    def terms(anonymized, chosen):
        left, right = anonymized.split(SIDE // 2, dim=3)
        return {"auxiliary": left.sum(), "verification": 0.5 * right[..., 1:].sum()}

    assert observer(terms).figures(1)["gradient_cosine"] == pytest.approx(0, abs=1e-6)


def test_a_term_that_does_not_pull_has_no_angle():
    pulling = torch.rand(3, 2, 4, 4)
    found = gradients([(pulling, torch.zeros_like(pulling))])
    assert found.keys() == FIELD - {"gradient_cosine"}
    assert found["verification_gradient"] == 0


def test_a_shift_moves_and_a_turned_image_folds():
    shift = torch.zeros(2, 2, 9, 9)
    shift[:, 0] = 3 / 4  # 3 px of 9
    found = movement([shift[:1], shift[1:]], bound=1.5)
    assert found["rms_px"] == found["largest_px"] == pytest.approx(3)
    assert found["rms_share"] == pytest.approx(0.5 / np.sqrt(2))  # nothing of it downwards
    assert found["largest_share"] == pytest.approx(0.5)
    assert (found["folded_share"], found["smallest_jacobian"]) == (0, 1)
    mirrored = torch.stack((-2 * torch.linspace(-1, 1, 9).expand(9, 9), torch.zeros(9, 9)))[None]
    found = movement([mirrored])
    assert (found["folded_share"], found["smallest_jacobian"]) == (1, pytest.approx(-1))
    assert "rms_share" not in found


def test_the_published_frame_is_left_out():
    generator = FlowGenerator(FlowOptions(features=1, border="reference"))
    folded = flow.smooth(torch.zeros(1, 2, 32, 32), border="reference")
    whole, found = (movement([folded], frame=f) for f in (0, generator.frame))
    assert whole["largest_px"] > 4
    assert found["largest_px"] < 1e-4
    assert found["smallest_jacobian"] == pytest.approx(1, abs=1e-4)
    assert FlowGenerator(FlowOptions(features=1)).frame == 0


def test_looking_changes_nobody():
    stage = game(patients=np.array([0, 1, 2, 3, 3, 2, 1, 0]), auxiliary="updated")
    networks = [stage.network, stage.verifier, stage.classifier]
    for network in networks:
        network.eval()
    before, drawn = [states(n) for n in networks], torch.get_rng_state()
    stage.epoch = stage.epochs - 1
    with torch.no_grad():
        assert "attacker_auc" in stage.observe()
    assert all(same(n, b) for n, b in zip(networks, before, strict=True))
    assert all(p.grad is None for n in networks for p in n.parameters())
    assert torch.equal(torch.get_rng_state(), drawn)


def test_the_verifier_of_real_images_stays_what_it_was():
    stage = game(rate=0.1, verifier_rate=0.1)
    stage.network.eval()
    kept = states(stage.observer.pretrained)
    stage.train_epoch(1)
    assert same(stage.observer.pretrained, kept)
    assert not same(stage.verifier, kept)


def test_what_is_observed_weighs_l_ver_as_the_generator_does():
    figures = []
    for weight in (1, 10):
        stage = game(verification_weight=weight)
        with torch.no_grad():
            stage.validate()
            figures.append(stage.observe())
    one, ten = figures
    assert ten["verification_gradient"] == pytest.approx(10 * one["verification_gradient"])
    assert ten["auxiliary_gradient"] == pytest.approx(one["auxiliary_gradient"])
    assert ten["gradient_cosine"] == pytest.approx(one["gradient_cosine"], abs=1e-5)


def test_gradients_are_of_the_image_as_it_is_released_with_its_tone():
    """Beside what flows back through the generator's own forward pass."""
    toned = FlowGenerator(FlowOptions(features=2, mu=0.01, controls=8, tone=0.25))
    stage = game(generator=toned, course={"attacker_every": 0}, auxiliary_loss="sum")
    toned.eval()
    own, rows, fields = toned.fields, np.arange(8), []

    def watched(output, images):
        field, tone = own(output, images)
        fields.append(field.detach().requires_grad_())
        return fields[-1], tone

    with torch.no_grad():
        stage.validate()
        found = stage.observe()
    toned.fields = watched
    terms = stage._terms(toned(stage.data.first.batch(stage.data.validation.first)), rows)
    for name, term in terms.items():
        (slope,) = torch.autograd.grad(term, fields[-1], retain_graph=True)
        norms = slope.flatten(1).norm(dim=1) * len(rows)
        assert found[f"{name}_gradient"] == pytest.approx(float(norms.square().mean().sqrt()))


@pytest.mark.parametrize("why", ["it does not deform", "no pairs are watched"])
def test_where_there_is_nothing_to_see_no_field_is_measured(why):
    painter = ImageGenerator(PrivacyNetOptions(features=2, levels=2))
    own = {"generator": painter} if why == "it does not deform" else {"course": {"pairs": 0}}
    stage = game(patients=np.arange(8), **own)
    with torch.no_grad():
        stage.validate()
        assert stage.observe().keys() == {"pretrained_verifier_auc"}
