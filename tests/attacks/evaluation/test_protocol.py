"""Evaluations as files: what they expand to, the paper's constants, and wrong input."""

import ast
import re
from pathlib import Path

import pytest
import yaml

import anonymize
from anonymize.configuration import load_options, read_config, write_options
from anonymize.errors import UsageError
from attacks.evaluation.plan import Entrant
from attacks.evaluation.protocol import Choices, is_protocol, plan_of, read_protocol
from attacks.evaluation.published import TABLE_1, published
from attacks.results import Method

ROOT = Path(__file__).resolve().parents[3]
TRAININGS = ("quick", "prichexy_net", "privacy_net")
EVALUATIONS = ("evaluate_paper", "evaluate_reduced")

# Written down from the paper, its predecessor and their program, apart from the configurations.
PAPER = {
    "data.size": 256,
    "data.pairs": 10_000,
    "data.validation_pairs": 2_000,
    "data.test_pairs": 5_000,
    "data.negatives": "fixed",
    "generator.features": 32,
    "generator.levels": 4,
    "generator.kernel": 9,
    "generator.sigma": 2.0,
    "generator.border": "reference",
    "classifier.architecture": "densenet121",
    "classifier.size": 224,
    "verifier.architecture": "resnet50",
    "verifier.weights": "IMAGENET1K_V1",
    "verifier.features": 128,
    "verifier.objective": "pairs",
    "verifier.batch": 32,
    "verifier.rate": 1e-4,
    "verifier.patience": 5,
    "reconstruction.epochs": 200,
    "reconstruction.batch": 64,
    "reconstruction.rate": 1e-4,
    "adversarial.epochs": 250,
    "adversarial.batch": 64,
    "adversarial.rate": 1e-4,
    "adversarial.verifier": "updated",
    "adversarial.auxiliary": "updated",
    "adversarial.auxiliary_rate": 1e-4,
    "adversarial.auxiliary_momentum": 0.9,
    "adversarial.auxiliary_weight_decay": 1e-4,
    "adversarial.auxiliary_loss": "mean",
    "adversarial.verifier_rate": 1e-4,
    "adversarial.best": "loss",
    "adversarial.verification_weight": 1.0,
    "evaluation.repeats": 10,
    "evaluation.resamplings": 1_000,
    "evaluation.attacker_start": "scratch",
    "evaluation.attacker_epochs": 100,
    "evaluation.attacker_pairs": "released-released",
}
PRIVACY_NET = {"generator.features": 16, "generator.levels": 3}


def value(options, key):
    for name in key.split("."):
        options = getattr(options, name)
    return options


def leaves(values, prefix=""):
    for key, found in values.items():
        if isinstance(found, dict):
            yield from leaves(found, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", found


def test_the_papers_constants():
    options = load_options("prichexy_net")
    assert {key: value(options, key) for key in PAPER} == PAPER


def test_privacy_net_differs_in_the_generator_alone():
    paper = load_options("prichexy_net").model_dump(exclude={"generator"})
    options = load_options("privacy_net")
    assert options.model_dump(exclude={"generator"}) == paper
    assert options.generator.method == "privacy-net"
    assert {key: value(options, key) for key in PRIVACY_NET} == PRIVACY_NET


def test_every_key_of_a_configuration_is_read():
    """It is an option, it holds what the file says, and code outside the options asks for it."""
    asked = {
        node.attr
        for package in ("anonymize", "attacks", "baselines")
        for path in (ROOT / package).rglob("*.py")
        if path.name != "options.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    for name in TRAININGS:
        options = load_options(name)
        for key, found in leaves(read_config(name)):
            assert value(options, key) == found, (name, key)
            assert key.rpartition(".")[2] in asked, (name, key)


@pytest.mark.parametrize("name", ["prichexy_net", "privacy_net"])
def test_every_constant_names_its_source(name):
    text = (ROOT / "configs" / f"{name}.yaml").read_text(encoding="utf-8")
    constants = [line for line in text.splitlines() if re.match(r"  \w+: \S", line)]
    assert len(constants) == len(list(leaves(yaml.safe_load(text))))
    for line in constants:
        assert re.search(r"# (P|R|C|ours|CheXNet)\b", line), line


def test_where_paper_program_and_user_differ_there_is_an_option():
    for changes in (
        {"adversarial.auxiliary": "frozen", "generator.border": "replicate"},
        {"adversarial.auxiliary_loss": "sum", "adversarial.best": "last"},
        {"evaluation.attacker_start": "verifier", "evaluation.attacker_pairs": "released-real"},
        {"evaluation.attacker_pairs": "mixed"},
    ):
        options = load_options("prichexy_net", changes)
        assert {key: value(options, key) for key in changes} == changes


def planned(name, out=Path("out"), changes=None, **options):
    return plan_of(read_protocol(name), out, Choices(changes or {}, **options))


@pytest.mark.parametrize("name", EVALUATIONS)
def test_every_column_of_the_papers_table_takes_part(name):
    plan = planned(name)
    columns = set()
    for entrant in plan.entrants:
        if entrant.training is None:
            model = anonymize.load(entrant.spec)
            found = published(Method(name=model.name, options=model.options))
        else:
            generator = entrant.training.generator
            known = generator.model_dump(exclude={"method"}) | dict(entrant.varied)
            found = published(Method(name=generator.method, options=known))
        columns |= {TABLE_1.index(found)} if found else set()
    assert columns == set(range(len(TABLE_1)))
    assert plan.entrants[0] == Entrant("identity")
    assert len({entrant.spec for entrant in plan.entrants}) == len(plan.entrants)
    assert 2 <= len(plan.entrants) <= 20


@pytest.mark.parametrize("name", EVALUATIONS)
def test_all_methods_share_data_classifier_and_verifier(name):
    plan = planned(name, changes={"data.source": "covid19", "seed": 3, "data.size": 128})
    trained = [entrant.training for entrant in plan.entrants if entrant.training]
    assert {t.generator.method for t in trained} == {"prichexy-net", "privacy-net"}
    for options in (*trained, plan.options):
        assert (options.data.source, options.data.size, options.seed) == ("covid19", 128, 3)
        for section in ("data", "classifier", "verifier", "evaluation"):
            assert getattr(options, section) == getattr(plan.options, section)
    for method in ("prichexy-net", "privacy-net"):
        own = [t for t in trained if t.generator.method == method]
        assert len(own) > 1


def test_the_paper_protocol_trains_as_the_papers_configurations_say():
    trained = [e for e in planned("evaluate_paper").entrants if e.training]
    assert len(trained) >= 5
    for entrant in trained:
        options = entrant.training
        config = options.generator.method.replace("-", "_")
        key, found = next(iter(entrant.varied.items()))
        section = "generator" if key == "mu" else "adversarial"
        assert options == load_options(config, {f"{section}.{key}": found})


# A file of one's own


def protocol(tmp_path, **entries):
    base = {"data": {"size": 64}, "verifier": {"architecture": "compact"}}
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(base))
    (tmp_path / "own.yaml").write_text(
        yaml.safe_dump({"base": "base.yaml"} | entries, sort_keys=False)
    )
    return str(tmp_path / "own.yaml")


def test_sweeps_give_every_combination(tmp_path):
    sweep = {"generator.mu": [0.001, 0.01], "adversarial.verification_weight": [1.0, 2.0, 3.0]}
    untrained = {"method": "dp-pix", "options": {"seed": 0}, "sweep": {"b": [2, 4]}}
    plan = planned(protocol(tmp_path, trained=[{"sweep": sweep}], untrained=[untrained]))
    trained = [entrant.varied for entrant in plan.entrants if entrant.training]
    assert [tuple(v.values()) for v in trained] == [
        (mu, weight) for mu in (0.001, 0.01) for weight in (1.0, 2.0, 3.0)
    ]
    assert [e.spec for e in plan.entrants[-2:]] == ["dp-pix:seed=0,b=2", "dp-pix:seed=0,b=4"]


def test_what_comes_later_wins(tmp_path):
    (tmp_path / "other.yaml").write_text(
        yaml.safe_dump({"generator": {"method": "privacy-net", "features": 8, "levels": 2}})
    )
    own = protocol(
        tmp_path,
        set={"generator.features": 3, "reconstruction.epochs": 5},
        trained=[
            {},
            {"config": "other.yaml", "set": {"adversarial.epochs": 7}},
            {"set": {"generator": {"method": "privacy-net"}, "reconstruction.epochs": 6}},
        ],
    )
    first, second, third = (e.training for e in planned(own).entrants[1:])
    assert (first.generator.features, first.reconstruction.epochs) == (3, 5)
    assert (second.generator.features, second.generator.levels) == (8, 2)
    assert (second.adversarial.epochs, second.reconstruction.epochs) == (7, 200)
    assert (third.generator.features, third.reconstruction.epochs) == (16, 6)
    changed = planned(own, changes={"generator.features": 4}).entrants[1:]
    assert [entrant.training.generator.features for entrant in changed] == [4, 4, 4]


def test_other_options_are_other_runs_and_equal_ones_the_same(tmp_path):
    own = protocol(tmp_path, trained=[{"sweep": {"generator.mu": [0.01]}}])

    def folders(**changes):
        plan = planned(own, changes={k.replace("__", "."): v for k, v in changes.items()})
        return plan.entrants[1].spec, plan.reference

    run, reference = folders()
    for same in ({"evaluation__repeats": 2}, {"data__workers": 7}, {"threads": 2}):
        assert folders(**same) == (run, reference)
    for other in ({"data__pairs": 50}, {"verifier__epochs": 3}, {"seed": 1}):
        found = folders(**other)
        assert found[0] != run
        assert found[1] != reference
    deeper = folders(adversarial__epochs=3)
    assert deeper[0] != run
    assert deeper[1] == reference


def test_a_given_run_is_used_where_it_fits_and_measured_besides_where_not(tmp_path):
    own = protocol(tmp_path, trained=[{"sweep": {"generator.mu": [0.001, 0.01]}}])
    entrants = planned(own).entrants
    for name, options in (
        ("fits", entrants[2].training),
        ("other", load_options(tmp_path / "base.yaml", {"generator.mu": 0.5})),
    ):
        (tmp_path / name).mkdir()
        write_options(options, tmp_path / name / "options.yaml")
    plan = planned(own, runs=(tmp_path / "fits", tmp_path / "other"))
    specs = [entrant.spec for entrant in plan.entrants]
    assert specs[2] == str(tmp_path / "fits")
    assert specs[3] == str(tmp_path / "other")
    assert plan.entrants[3].training is None
    assert plan.reference == tmp_path / "fits"
    assert len(specs) == 4


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"trainde": []}, r"unknown option trainde \(did you mean trained\?\)"),
        ({"trained": [{"sweeps": {}}]}, r"unknown option trained.0.sweeps .*known here: config"),
        ({"untrained": [{"options": {}}]}, "option untrained.0.method: Field required"),
        ({"trained": [{"sweep": {"generator.nu": [1]}}]}, "unknown option generator.nu"),
        ({"trained": [{"sweep": {"generator.mu": [2.0]}}]}, "generator.mu: .*less than or equal"),
        ({"trained": [{"sweep": {"generator.mu": 0.1}}]}, "option trained.0.sweep.generator.mu"),
        ({"trained": [{"config": "nowhere"}]}, "config must be one of evaluate_attackers"),
        ({"base": "nowhere.yaml"}, "config must be one of evaluate_attackers"),
        ({"set": {"data.sizes": 3}}, "unknown option data.sizes"),
        ({"attackers": ["oracle"]}, "attackers must be among"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, entries, message):
    with pytest.raises(UsageError, match=message):
        planned(protocol(tmp_path, **entries))


def test_an_option_that_is_swept_cannot_be_changed_besides(tmp_path):
    own = protocol(tmp_path, trained=[{"sweep": {"generator.mu": [0.001, 0.01]}}])
    with pytest.raises(UsageError, match=r"generator.mu is swept by the evaluation"):
        planned(own, changes={"generator.mu": 0.1})


def test_evaluations_and_trainings_are_told_apart():
    assert all(is_protocol(name) for name in EVALUATIONS)
    assert not any(is_protocol(name) for name in TRAININGS)
    with pytest.raises(UsageError, match="evaluate_paper' is an evaluation; give it to `attacks"):
        load_options("evaluate_paper")


def test_an_evaluation_on_another_says_only_what_differs(tmp_path):
    whole = {
        "base": "quick",
        "set": {"data.size": 96, "classifier.width": 16},
        "untrained": [{"method": "identity"}],
        "attackers": ["training-free"],
        "published": False,
    }
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "whole.yaml").write_text(yaml.safe_dump(whole))
    own = {"base": "below/whole.yaml", "set": {"data.size": 64}, "attackers": ["histogram-metric"]}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(own))
    flat = whole | {"set": whole["set"] | own["set"], "attackers": own["attackers"]}
    (tmp_path / "flat.yaml").write_text(yaml.safe_dump(flat))

    based, written = (str(tmp_path / name) for name in ("own.yaml", "flat.yaml"))
    assert read_protocol(based) == read_protocol(written)
    assert planned(based).options == planned(written).options


def test_an_evaluation_that_is_its_own_base_is_refused(tmp_path):
    (tmp_path / "sub").mkdir()
    for name, base in (("a", "b.yaml"), ("b", "sub/../a.yaml")):
        (tmp_path / f"{name}.yaml").write_text(f"base: {base}\n")
    with pytest.raises(UsageError, match="its own base; name a training"):
        read_protocol(str(tmp_path / "a.yaml"))


def test_whose_members_know_too_much_is_said_how_to_name_it():
    attackers = ["codes:white-box", "sets"]
    with pytest.raises(UsageError, match="the others know more; name sets:white-box"):
        planned("evaluate_reduced", attackers=attackers)
