"""Methods and attackers of an installed package take part; broken ones disturb nothing else."""

import json
import sys

import pytest
import torch
from asked import ask
from foreign import install
from small import SMALL

import anonymize
from anonymize import plugins
from anonymize.anonymizer import GROUP
from anonymize.configuration import load_options, train_options
from anonymize.errors import UsageError
from anonymize.plugins import PluginError, plugin
from anonymize.trained import trained_method
from attacks import registry
from attacks.cli import main
from attacks.options import evaluation_options

CACHED = (plugins.warn_once, registry.attacker_class, evaluation_options, train_options)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return install(tmp_path_factory.mktemp("foreign"))


@pytest.fixture
def foreign(site, monkeypatch):
    monkeypatch.syspath_prepend(str(site))
    for function in CACHED:
        function.cache_clear()
    yield
    monkeypatch.undo()
    sys.modules.pop("foreign_plugins", None)
    for function in CACHED:
        function.cache_clear()


def evaluate(out, *arguments, code=0, **changes):
    settings = [f"--set={key}={value}" for key, value in (SMALL | changes).items()]
    fixed = ("evaluate", "--device", "cpu", "--source", "phantom", "--out", out)
    return ask(main, *fixed, *settings, *arguments, code=code)


@pytest.mark.whole
@pytest.mark.usefixtures("foreign", "undrawn")
def test_evaluate_runs_a_foreign_method_and_a_foreign_attacker(tmp_path, caplog):
    evaluate(
        tmp_path / "out",
        *("--method", "inverted", "--method", "dim:share=0.25"),
        *("--attackers", "mean-brightness,learner,training-free"),
        **{"evaluation.mean_brightness.power": 2, "evaluation.repeats": 1},
    )
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [m["name"] for m in found["methods"]] == ["identity", "inverted", "dim"]
    assert found["methods"][2]["options"] == {"share": 0.25}
    for method in found["methods"]:
        attack = method["privacy"]["mean-brightness"]
        assert attack["knowledge"] == "ignorant"
        assert attack["scenario"] == "The mean brightness, nothing learnt"
        assert 0 <= attack["auc"]["mean"] <= 1
        assert method["privacy"]["learner"]["knowledge"] == "informed"
    # Brightness is turned round by one method and kept in order by the other.
    real, inverted, dim = (m["privacy"]["mean-brightness"]["auc"]["mean"] for m in found["methods"])
    assert real > 0.5
    assert dim != real != inverted
    lines = [record.getMessage() for record in caplog.records if record.name == plugins.__name__]
    assert len([line for line in lines if "broken-attacker" in line]) == 1
    assert "package foreign-plugins cannot be loaded (ModuleNotFoundError" in lines[0]


@pytest.mark.usefixtures("foreign")
def test_broken_plugins_disturb_no_training():
    assert trained_method("prichexy-net").name == "prichexy-net"
    assert load_options("quick").evaluation.mean_brightness.power == 1
    with pytest.raises(UsageError, match="must be one of prichexy-net, privacy-net; got 'dim'"):
        trained_method("dim")


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("dim:share=2", "dim: option share: it must be less than or equal to 1; got '2'"),
        ("dim:shere=1", r"dim: unknown option shere \(did you mean share\?\); known here: share"),
        ("inverted:a=1", "inverted takes no options, got a"),
        ("broken-method", "broken-method of package foreign-plugins cannot be loaded"),
        ("no-method", "no-method of package foreign-plugins must be a subclass of anonymize"),
    ],
)
def test_options_and_classes_that_do_not_fit_are_one_line(spec, message):
    with pytest.raises(UsageError, match=message) as caught:
        anonymize.load(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize(
    ("attackers", "changes", "message"),
    [
        ("mean-brightness", {"evaluation.mean_brightness.power": -1}, "it must be greater than 0"),
        ("mean-brightness", {"evaluation.mean_brightness.powr": 1}, "did you mean"),
        ("broken-attacker", {}, "broken-attacker of package foreign-plugins cannot be loaded"),
        ("needs-option", {}, "every option needs a default"),
        ("lacking", {}, "lacking of package foreign-plugins lacks score"),
        ("writes-tensors", {}, "attacker writes-tensors must give a numpy array of shape"),
    ],
)
def test_a_foreign_attacker_is_refused_in_one_line(tmp_path, caplog, attackers, changes, message):
    words = ("--method", "inverted", "--attackers", attackers)
    result = evaluate(tmp_path, *words, code=2, **changes)
    assert message in result.stderr
    assert result.stderr.count("\nError: ") + result.stderr.startswith("Error: ") == 1
    assert f"{attackers} " not in caplog.text  # the error names it, and nothing else does


@pytest.mark.usefixtures("foreign")
def test_a_foreign_method_is_an_anonymizer_like_any_other():
    images = torch.rand(2, 1, 8, 8)
    method = anonymize.load("dim")
    assert torch.equal(method(images), images * 0.5)
    assert (method.name, method.options, method.fingerprint) == ("dim", {"share": 0.5}, "")
    assert repr(method) == "Dim(share=0.5)"
    assert method.displacement(images) is None


def test_a_name_that_two_packages_register_is_refused(monkeypatch):
    twice = plugins.entry_points(group=GROUP, name="dp-pix")
    monkeypatch.setattr(plugins, "entry_points", lambda **wanted: [*twice, *twice])
    monkeypatch.syspath_prepend("another")  # or what was looked up before would stand
    with pytest.raises(PluginError, match=r"dp-pix is registered by .* and .*; uninstall one"):
        plugin(GROUP, "dp-pix")


def test_a_name_that_nobody_registers_is_refused():
    with pytest.raises(PluginError, match=r"anonymize\.methods knows no 'nothing'; installed: dow"):
        plugin(GROUP, "nothing")


def test_a_fault_says_in_which_method_it_happened():
    class Faulty(anonymize.Anonymizer):
        name = "faulty"

        def anonymize(self, images):
            raise ValueError("no kernel")

    with pytest.raises(ValueError, match="no kernel") as fault:
        Faulty()(torch.zeros(1, 1, 8, 8))
    assert fault.value.__notes__ == ["This happened in method faulty."]
