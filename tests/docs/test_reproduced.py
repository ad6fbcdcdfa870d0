"""Commands on a page yield the options that stand beside the results; what is late says so."""

import copy

import pytest
import reproduced

from anonymize.configuration import load_options
from attacks.evaluation.pinned import pinned, pinned_training
from attacks.evaluation.protocol import protocol_options, read_protocol
from attacks.results import Check, Method, Results, Source

PROTOCOL = "docs/results/miniature.yaml"
PAGE = f"""
- COVID-19.
  `attacks evaluate --config {PROTOCOL} --source covid19 --root DATA
  --set evaluation.repeats=1`: [table](results/mine/table.md).
"""


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """Writes results as the only committed ones."""
    monkeypatch.setattr(reproduced, "RESULTS", tmp_path)
    (tmp_path / "mine").mkdir()

    def write(evaluated, trained):
        source = Source(name="covid19", images=1, patients=1)
        methods = (
            Method(name="identity"),
            Method(name="prichexy-net", training=pinned_training(trained)),
        )
        Results(source=source, methods=methods, options=pinned(evaluated)).write(
            tmp_path / "mine" / "results.json"
        )

    return write


def options(**changes):
    given = {"data.source": "covid19", "data.root": "DATA", "evaluation.repeats": 1}
    protocol = read_protocol(str(reproduced.ROOT / PROTOCOL))
    return protocol_options(protocol, given | changes)


def test_options_that_a_command_gives_are_the_same(committed):
    committed(options(), options())
    assert reproduced.evaluations() == ["mine"]
    assert reproduced.differences("mine", PAGE) == []


@pytest.mark.parametrize(
    ("of", "changed", "found"),
    [
        ("evaluation", {"classifier.epochs": 3}, ["classifier.epochs 3, now 8"]),
        ("evaluation", {"evaluation.repeats": 7}, ["evaluation.repeats 7, now 1"]),
        ("training", {"adversarial.epochs": 5}, ["adversarial.epochs 5, now 40"]),
        ("training", {"generator.mu": 0.02}, ["generator.mu 0.02, now 0.04"]),
    ],
)
def test_one_other_option_is_found(committed, of, changed, found):
    other = options(**changed)
    committed(*((other, options()) if of == "evaluation" else (options(), other)))
    assert reproduced.differences("mine", PAGE) == found


def test_an_option_that_is_new_differs_where_it_is_not_its_default(committed, monkeypatch):
    committed(options(), options())
    plain = reproduced.asked(reproduced.documented("mine", PAGE))

    def with_new(**values):
        now, trainings = copy.deepcopy(plain)
        now["evaluation"] |= values
        return lambda call: (now, trainings)

    monkeypatch.setitem(reproduced._DEFAULTS["evaluation"], "new", 1)
    monkeypatch.setattr(reproduced, "asked", with_new(new=1))
    assert reproduced.differences("mine", PAGE) == []
    monkeypatch.setattr(reproduced, "asked", with_new(new=2))
    assert reproduced.differences("mine", PAGE) == ["evaluation.new None, now 2"]


def test_runs_are_of_the_evaluation_around(committed, tmp_path):
    committed(options(), options())
    (tmp_path / "mine" / "again").mkdir()
    page = PAGE + PAGE.replace("mine/table", "mine/again/table").replace(
        "DATA\n", "DATA --run RUN\n"
    )

    def again(fingerprint):
        known = Results.read(tmp_path / "mine" / "results.json")
        methods = [
            m.model_copy(update={"fingerprint": fingerprint * bool(m.training)})
            for m in known.methods
        ]
        known.model_copy(update={"methods": tuple(methods)}).write(
            tmp_path / "mine" / "again" / "results.json"
        )
        return reproduced.differences("mine/again", page)

    assert again("") == []
    assert again("other") == [reproduced.OTHER_RUN]


def test_a_command_is_missing_or_has_an_unknown_option(committed):
    committed(options(), options())
    (missing,) = reproduced.differences("mine", PAGE.replace("attacks evaluate", "attacks link"))
    assert "the command of mine" in missing
    unknown = PAGE.replace("evaluation.repeats=1", "no.such=1")
    (refused,) = reproduced.differences("mine", unknown)
    assert "unknown option" in refused


def test_no_option_names_a_folder(tmp_path):
    listed = str(tmp_path / "pairs.txt")
    found = load_options("quick", {"data.pair_list": listed, "data.root": str(tmp_path)})
    assert pinned(found)["data"]["pair_list"] == "pairs.txt"
    assert str(tmp_path) not in str(pinned(found))
    assert "root" not in pinned(found)["data"]


def test_figures_of_earlier_days_are_judged_by_todays_rules(tmp_path, monkeypatch):
    """What a rule says anew takes the place of what it said; what none says any more is kept."""
    monkeypatch.setattr(reproduced, "RESULTS", tmp_path)
    (tmp_path / "mine").mkdir()
    said = {"attackers link real images": True, "every attacker took part": False}
    checks = tuple(Check(name=n, passed=p, message="Said then.") for n, p in said.items())
    source = Source(name="covid19", images=1, patients=1)
    then = Results(source=source, methods=(Method(name="pixelate"),), checks=checks)
    then.write(tmp_path / "mine" / "results.json")
    now = {check.name: check.passed for check in reproduced.results("mine").checks}
    assert {name: now[name] for name in said} == dict.fromkeys(said, False)
