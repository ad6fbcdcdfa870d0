"""Commands on a page yield the options that stand beside the results; what is late says so."""

import pytest
import reproduced
import tables

from anonymize.configuration import write_options
from anonymize.errors import UsageError
from attacks.evaluation.pinned import pinned, pinned_training
from attacks.reporting.readings import NONE_ALIKE
from attacks.results import ImageChange, Method, Results, Source

TRAIN = "anonymize train --mu 0.01 --source covid19 --root DATA --set adversarial.epochs=2"
PAGE = f"""
## COVID-19

`{TRAIN}
--out runs/covid19`, then `attacks evaluate --run runs/covid19 --set evaluation.repeats=1`

<!-- table: docs/results/mine/table.md -->
<!-- end -->
"""


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """Writes results as the only committed ones."""
    monkeypatch.setattr(reproduced, "RESULTS", tmp_path)
    (tmp_path / "mine").mkdir()

    def write(**changes):
        given = {
            "source": Source(name="covid19", images=1, patients=1),
            "command": "attacks evaluate",
            "methods": (Method(name="identity"),),
        }
        Results(**(given | changes)).write(tmp_path / "mine" / "results.json")
        return tmp_path / "mine"

    return write


def options():
    return reproduced.trained_options(f"{TRAIN} --set evaluation.repeats=1")


def trained(found):
    return (Method(name="identity"), Method(name="prichexy-net", training=pinned_training(found)))


def test_options_that_a_command_gives_are_the_same(committed):
    committed(options=pinned(options()), methods=trained(options()))
    assert reproduced.evaluations() == ["mine"]
    assert reproduced.differences("mine", PAGE) == []


@pytest.mark.parametrize(
    ("of", "changed", "found"),
    [
        ("evaluation", {"classifier.epochs": 3}, ["classifier.epochs 3, now 10"]),
        ("evaluation", {"evaluation.repeats": 7}, ["evaluation.repeats 7, now 1"]),
        ("training", {"adversarial.epochs": 5}, ["adversarial.epochs 5, now 2"]),
        ("training", {"generator.mu": 0.02}, ["generator.mu 0.02, now 0.01"]),
    ],
)
def test_one_other_option_is_found(committed, of, changed, found):
    settings = " ".join(f"--set {key}={value}" for key, value in changed.items())
    other = reproduced.trained_options(f"{TRAIN} --set evaluation.repeats=1 {settings}")
    evaluated, training = (other, options()) if of == "evaluation" else (options(), other)
    committed(options=pinned(evaluated), methods=trained(training))
    assert reproduced.differences("mine", PAGE) == found


def test_older_results_have_their_options_beside_them(committed):
    folder = committed()
    assert reproduced.differences("mine", PAGE) == [reproduced.UNKNOWN]
    write_options(options(), folder / "options.yaml")
    assert reproduced.differences("mine", PAGE) == []
    assert reproduced.differences("mine", PAGE.replace("epochs=2", "epochs=4")) == [
        "adversarial.epochs 2, now 4"
    ]


def test_a_run_that_no_command_trains_and_an_unknown_option(committed):
    committed(options=pinned(options()))
    assert reproduced.differences("mine", PAGE.replace("--out runs/covid19", "")) == [
        "no documented command trains runs/covid19"
    ]
    with pytest.raises(UsageError, match="unknown option"):
        reproduced.asked("attacks evaluate --set no.such=1 --method identity", {})


def test_no_option_names_a_folder(tmp_path):
    found = reproduced.trained_options(f"{TRAIN} --set data.pair_list={tmp_path / 'pairs.txt'}")
    assert pinned(found)["data"]["pair_list"] == "pairs.txt"
    assert str(tmp_path) not in str(pinned(found))
    assert "root" not in pinned(found)["data"]


@pytest.mark.parametrize("key", reproduced.evaluations())
def test_what_is_late_says_so_and_new_results_never_are(key):
    late = tables.late(key)
    assert tables.results(key).version == 1 or not late
    shown = [p.read_text(encoding="utf-8") for p in (reproduced.RESULTS / key).glob("*.md")]
    assert shown
    assert all(("To be made again" in text) == bool(late) for text in shown)


# One model has one name


def model(**changes):
    return Method(name="prichexy-net", image=ImageChange(ssim=0.9), **changes)


def test_releases_are_the_same_by_their_model_else_by_their_images():
    assert tables.same_release(model(), model())
    assert tables.same_release(model(fingerprint="a"), model())
    assert not tables.same_release(model(fingerprint="a"), model(fingerprint="b"))
    other = Method(name="prichexy-net", image=ImageChange(ssim=0.8))
    assert not tables.same_release(model(), other)


@pytest.mark.parametrize("key", tables.SUMMARY)
def test_a_row_marks_what_is_of_another_model(key):
    attacked, again = (tables.results(k) for k in (f"attackers/{key}", key))
    rows = list(tables._set_rows(key, attacked, again, ("all",)))
    for row, method in zip(rows, attacked.methods, strict=True):
        (other,) = (m for m in again.methods if m.name == method.name)
        marked = [cell.endswith(tables.OTHER) for cell in (row[3], *row[-2:])]
        assert set(marked) == {not tables.same_release(method, other)}
        if min(attacked.version, again.version) > 1:
            assert not any(marked)


def test_a_summary_of_both_versions_names_what_was_not_measured():
    old = tables.results("covid19")
    new = old.model_copy(update={"version": 2})
    attack = old.methods[0].privacy["training-free"]
    assert tables._reading(attack, old, "matched") == "not measured"
    assert tables._reading(attack, new, "matched") == NONE_ALIKE
    assert tables._reading(attack, new, "all") == "0.85 (0.74–0.94)"
