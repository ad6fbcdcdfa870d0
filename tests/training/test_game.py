"""The game with every objective and opponent: who learns, who starts again, and resuming."""

from unittest.mock import Mock

import numpy as np
import pytest
import torch
from tiny_run import game, same, states

from anonymize.errors import UsageError
from anonymize.options import AdversarialOptions
from anonymize.section import validated
from anonymize.training.compute import Compute
from anonymize.training.lessons import Lessons, Replay
from anonymize.training.loop import fit
from anonymize.training.objective import kinships

OPPONENTS = ("contrastive", "histogram", "restorer")
ALL = {"opponents": OPPONENTS, "replay": 2, "opponent_reset": 2, "opponent_pairs": "mixed"}
BETTER = [
    {"verification_loss": "genuine", "auxiliary": "updated"},
    {"verification_loss": "match", "balance": "norms"},
    {"verification_loss": "infonce", "balance": "constraint", "auxiliary_target": "features"},
    {"auxiliary_target": "logits", **ALL},
]


def prepared(**options):
    stage = game(**options)
    for module in stage.modules.values():
        module.train()
    part = next(stage.compute.parts(np.arange(4)))
    return stage, stage._batch(stage.data.validation, part.rows, part), part


@pytest.mark.parametrize("options", [{}, *BETTER])
def test_the_generators_step_gives_gradients_to_the_generator_only(options):
    stage, batch, part = prepared(**options)
    others = torch.nn.ModuleList([stage.classifier, *stage.opponents])
    before = states(others)
    _, losses = stage._generator_gradients(batch, part)
    if not options:  # Eq. 4
        assert losses["loss"] == losses["auxiliary"] + losses["verification"]
    assert all(p.grad is not None for p in stage.network.parameters())
    assert any(p.grad.abs().max() > 0 for p in stage.network.parameters())
    assert all(p.grad is None for p in others.parameters())
    stage.compute.step(stage.optimizers["generator"])
    assert same(others, before)


def test_the_opponents_step_gives_gradients_to_what_learns_only():
    stage, batch, _ = prepared(**ALL)
    released = torch.rand_like(batch.first)
    stage.begin(0)
    stage._opponents_gradients(released, batch)
    learners = [p for o in stage.opponents for p in o.learner.parameters()]
    assert all(p.grad is not None for p in learners)
    assert {id(p) for p in learners} == {
        id(p) for o in stage.opponents for p in o.parameters() if p.grad is not None
    }
    assert all(p.grad is None for p in stage.network.parameters())


@pytest.mark.whole
@pytest.mark.parametrize("options", BETTER)
def test_resumed_equals_uninterrupted_bit_for_bit(tmp_path, options):
    path, epochs = tmp_path / "c.safetensors", 4
    interrupt = Mock(side_effect=[None, None, KeyboardInterrupt])
    options = {**options, "epochs": epochs, "rate": 0.01}
    whole, stopped, resumed = (game(**options) for _ in range(3))
    lines = []
    fit(whole, seed=7, report=lambda history: lines.append(history[-1]))
    with pytest.raises(KeyboardInterrupt):
        fit(stopped, seed=7, checkpoint=path, report=interrupt)
    again = []
    fit(resumed, seed=7, checkpoint=path, report=lambda history: again.append(history[-1]))
    assert again == lines[2:]
    for name, module in whole.modules.items():
        assert same(resumed.modules[name], states(module)), name


def test_published_figures_and_those_of_each_option():
    def figures(**options):
        found = []
        fit(game(epochs=1, **options), seed=0, report=found.append)
        return {k.partition("_")[2] for k in found[0][0] if k.startswith("train_")}

    published = {"loss", "auxiliary", "verification", "verifier", "steps"}
    assert figures() == published
    assert figures(opponents=OPPONENTS) == published | {*OPPONENTS}
    assert figures(balance="norms") == published | {"weight"}


def test_a_term_of_the_method_is_added_once():
    found = []
    for penalty in (None, 2.5):
        stage = game()
        if penalty is not None:
            parameter = next(stage.network.parameters())
            stage.network.penalty = lambda output, p=parameter: 2.5 + 0 * p.sum()
        stage.epochs = 1
        fit(stage, seed=0, report=found.append)
    (plain,), (added,) = found
    for part in ("train", "validation"):
        assert f"{part}_penalty" not in plain
        assert added[f"{part}_penalty"] == pytest.approx(2.5)
        assert added[f"{part}_loss"] == pytest.approx(plain[f"{part}_loss"] + 2.5, abs=1e-5)


def test_opponents_begin_as_they_should_and_are_given_the_image_a_gradient():
    stage, batch, _ = prepared(opponents=OPPONENTS)
    verifier, contrastive, histogram, restorer = stage.opponents
    images = batch.first.clone().requires_grad_()
    for network in stage.opponents:
        network.eval()
    published = verifier.compare(*verifier.pair(images, batch.second))
    restored = restorer.compare(*restorer.pair(images, batch.second))
    torch.testing.assert_close(restored, published)
    assert torch.equal(contrastive.embed(images), verifier.embed(images))
    for opponent in stage.opponents:
        logits = opponent.compare(*opponent.pair(images, batch.second))
        (gradient,) = torch.autograd.grad(logits.sum(), images, retain_graph=True)
        assert torch.isfinite(gradient).all()
        assert (gradient != 0).float().mean() > 0.5
    moved = histogram.embed(images.roll(4, -1))
    assert not torch.allclose(moved, histogram.embed(images), atol=1e-3)


@pytest.mark.whole
@pytest.mark.parametrize("names", [OPPONENTS[:2], OPPONENTS[2:]])
def test_each_opponent_learns(names):
    stage = game(opponents=names, opponent_rate=3e-3, rate=1e-6, epochs=12, replay=1)
    found = []
    fit(stage, seed=0, report=lambda history: found.append(history[-1]))
    for name in names:
        assert found[-1][f"train_{name}"] < 0.8 * found[0][f"train_{name}"], name


def test_opponents_start_again_without_memory():
    stage, *_ = prepared(opponents=OPPONENTS, opponent_reset=2)
    before = states(torch.nn.ModuleList(stage.opponents))
    for epoch in range(3):
        stage.epoch = epoch
        if epoch == 2:
            stage.begin(0)
            break
        stage.train_epoch(epoch)
        assert not same(torch.nn.ModuleList(stage.opponents), before)
    assert same(torch.nn.ModuleList(stage.opponents), before)
    assert all(bool(o.state) == (n == "generator") for n, o in stage.optimizers.items())


def test_replayed_generators_draw_anew_in_every_epoch():
    stage, _, _ = prepared(replay=2)
    drawn = []
    for generator in stage.replay.earlier:
        generator.redraw = drawn.append
    for seed in (0, 1):
        stage.begin(seed)
    assert len(drawn) == len({*drawn}) == 4


def test_the_generators_of_the_last_epochs_are_replayed():
    stage, batch, part = prepared(replay=2)
    generator, replay = stage.network, Replay(stage.network, 2)
    made = []
    for epoch in range(3):
        torch.nn.init.constant_(generator.core.conv.bias, 0.1 * epoch)
        replay.keep(generator, epoch)
        made.append(generator.eval()(batch.first))
        assert replay.known(epoch) == min(epoch + 1, 2)
    shown = {}
    for seed in range(20):
        lessons = Lessons(stage.options, replay, pairs=8, epoch=2, seed=seed)
        released = lessons.released(torch.zeros_like(batch.first), batch.first, part.rows)
        for row, image in enumerate(released):
            who = [n for n, images in enumerate(made) if torch.equal(images[row], image)]
            assert bool(who) == bool(lessons.replayed[part.rows[row]])
            shown[tuple(who)] = shown.get(tuple(who), 0) + 1
    assert set(shown) == {(), (1,), (2,)}


@pytest.mark.parametrize(
    ("pairs", "low", "high"),
    [("released-real", 0, 0), ("mixed", 0.4, 0.6), ("released-released", 1, 1)],
)
def test_second_images_are_released_as_asked(pairs, low, high):
    options = AdversarialOptions(opponent_pairs=pairs)
    lessons = Lessons(options, None, pairs=400, epoch=0, seed=5)
    dark = torch.nn.Sequential(torch.nn.Flatten(0), torch.nn.Unflatten(0, (-1, 1, 2, 2)))
    dark.register_forward_hook(lambda *call: call[-1] * 0)
    seen = lessons.second(dark, torch.ones(400, 1, 2, 2), np.arange(400))
    assert low <= float((seen == 0).float().mean()) <= high
    assert dark.training


def test_kinships_by_hand():
    pairs = game().data.validation
    patients = np.arange(8) // 2
    genuine, impostor = kinships(pairs, np.array([0, 1, 2]), patients)  # (0,1), (1,3), (2,3)
    assert genuine.tolist() == [[True, False, False], [False] * 3, [False, True, True]]
    assert impostor.tolist() == [[False, True, True], [False, True, True], [True, False, False]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"opponents": "siamese"}, "'contrastive', 'histogram' or 'restorer'"),
        ({"opponents": "restorer,restorer"}, "name each once"),
        ({"auxiliary_target": "logits", "auxiliary": "updated"}, "adversarial.auxiliary=frozen"),
        ({"auxiliary_target": "features", "balance": "norms"}, "take constraint or fixed"),
        ({"replay": 2, "verifier": "frozen"}, "adversarial.replay is about opponents that learn"),
        ({"opponent_reset": 1, "verifier": "frozen"}, "adversarial.verifier=updated"),
        ({"course": {"attacker_every": 0, "attacker_patience": 3}}, "attacker_every to 1 or more"),
        ({"course": {"attacker_every": 0}, "best": "attacker"}, "attacker_every to 1 or more"),
    ],
)
def test_what_cannot_be_meant_is_refused(options, said):
    with pytest.raises(UsageError, match=said):
        validated(AdversarialOptions, options)


def test_a_list_of_opponents_is_read_from_the_command_line():
    found = validated(AdversarialOptions, {"opponents": "histogram,restorer"})
    assert found.opponents == ("histogram", "restorer")


def test_micro_batches_move_the_weight_as_the_batch_does():
    weights = []
    for accumulation in (1, 2):
        stage = game(balance="constraint", batch=8, verifier="frozen")
        stage.network.eval()
        stage.compute = stage.objective.compute = Compute(accumulation=accumulation)
        stage.train_epoch(0)
        weights.append(stage.objective.balance.weight)
    assert weights[0] == pytest.approx(weights[1], rel=1e-6)
    assert weights[0] != 1
