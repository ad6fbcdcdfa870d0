"""The registry of attackers: names, levels of knowledge, and what is said of them."""

import inspect
from functools import partial
from types import SimpleNamespace
from typing import get_args

import pytest
from identities import SMALL, saved_verifier

from anonymize.configuration import train_options
from anonymize.errors import UsageError
from anonymize.options import TrainOptions
from attacks.attacker import Attacker, Knowledge
from attacks.commands.evaluate import command
from attacks.evaluation.plan import Entrant, Plan
from attacks.knowledge.levels import Setting
from attacks.registry import DEFAULT, choose, every_level, is_repeated, ladder
from attacks.training.learning import Learning

UNLEARNT = {"network": "shufflenet_v2_x0_5", "weights": "random"}


def test_every_level_is_chosen_by_its_key():
    for level in every_level():
        name, knowledge = level.name, level.knowledge
        assert knowledge in get_args(Knowledge)
        chosen = choose(f"{name}:{knowledge}")
        first = next(iter(ladder(name)))
        assert chosen.key == (name if knowledge == first else f"{name}:{knowledge}")
        assert choose(chosen.key) == chosen
        assert is_repeated(chosen.key) == (chosen.level.trained and not chosen.level.once)
        assert chosen.level.scenario(TrainOptions())


def parameters(method):
    """Names of its parameters, and whether each must be given."""
    found = inspect.signature(method).parameters.values()
    return [(p.name, p.default is p.empty) for p in found]


@pytest.mark.parametrize(
    ("name", "knowledge"), [(c.name, c.knowledge) for c in every_level() if not c.level.combines]
)
def test_an_attacker_is_what_the_registry_says(name, knowledge, tmp_path, monkeypatch):
    """Made without training anything: the verifier of real images is a small one."""
    file = tmp_path / "verifier.safetensors"
    saved_verifier(file)

    class Data:
        table = SimpleNamespace(frame=None)
        told = SimpleNamespace(targets=None)

        def training_pairs(self):
            return lambda seed: None

        def fixed_pairs(self, part):
            return None

    attacker = ladder(name)[knowledge].build(
        Setting(
            options=train_options("prichexy-net")(
                verifier=SMALL, evaluation={"features": UNLEARNT}
            ),
            data=Data(),
            verifier=lambda: file,
            learning=Learning(),
        )
    )
    assert isinstance(attacker, Attacker)
    level = ladder(name)[knowledge]
    # Lazy and white-box adversaries change the images before the attacker sees them.
    taught = "informed" if level.learns == "released" else "ignorant"
    assert (attacker.name, attacker.knowledge) == (name, taught)
    learns = type(attacker).fit is not Attacker.fit
    assert learns == level.trained
    assert parameters(attacker.score) == parameters(partial(Attacker.score, attacker))


def test_the_default_attackers_exist():
    assert [choose(name).key for name in DEFAULT] == list(DEFAULT)
    asked = next(option for option in command.params if option.name == "attackers")
    assert asked.help.endswith(f"[{','.join(DEFAULT)}]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("oracle", "attackers must be among bit-planes, codes, contrastive, ensemble"),
        ("", "got none"),
        ("verification:psychic", "attacker verification can be informed, ignorant, .*got psychic"),
        ("training-free:", "can be ignorant, lazy, white-box; got none"),
    ],
)
def test_unknown_attackers_are_refused(text, message):
    with pytest.raises(UsageError, match=message):
        choose(text)


def test_an_attacker_twice_is_refused():
    with pytest.raises(UsageError, match="name each attacker once"):
        Plan([Entrant("identity")], TrainOptions(), ("verification", "verification:informed"))


def test_the_scenario_says_what_was_trained_on():
    level = ladder("verification")["informed"]
    for pairs, words in (
        ("released-released", "trained again on pairs of released images ("),
        ("released-real", "pairs of a released and a real image ("),
        ("mixed", "half each ("),
    ):
        assert words in level.scenario(TrainOptions(evaluation={"attacker_pairs": pairs}))


def test_an_attacker_of_later_versions_is_taken_to_learn():
    assert is_repeated("telepathy")
    assert is_repeated("verification:telepathic")
