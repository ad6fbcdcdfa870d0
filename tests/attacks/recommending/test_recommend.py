"""`anonymize recommend` as a user calls it: what it says, refuses, keeps, and tells to type."""

import json
import shlex
from functools import partial

import numpy as np
import pytest
from asked import ask
from changing import altered
from film_folders import folder_of
from overlapping import read_table
from small import SMALL
from test_results import classification, estimate, made_up, matched, method

from anonymize.cli import main
from anonymize.configuration import load_options
from anonymize.data.dataset import Dataset
from attacks.evaluation.evaluate import Evaluation
from attacks.evaluation.pinned import pinned
from attacks.measuring.estimates import Floor, LabelAuc, Matched
from attacks.recommending import choice, recommend
from attacks.recommending.candidates import ATTACKERS, candidates
from attacks.recommending.evidence import bearing
from attacks.recommending.report import _guessed
from attacks.recommending.search import OutOfTime
from attacks.results import Results

SIZE = 32
NUMBER = len(candidates(64))  # of releases that a search looks at
AUCS = {"identity": (0.9, 0.0), "k-same": (0.55, 0.01), "mosaic": (0.58, 0.1), "dp-pix": (0.7, 0.2)}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder of 40 patients with two images each, and their CSV."""
    whose = np.repeat(np.arange(40), 2)
    films = np.random.default_rng(0).integers(0, 256, (80, 40, 44), np.uint8)
    names = [f"ward {patient % 3}/{patient}-{n % 2}.png" for n, patient in enumerate(whose)]
    known = {"labels": np.where(whose % 2, "Mass|Edema", ""), "ward": "west"}
    folder = tmp_path_factory.mktemp("films")
    return folder_of(folder, films, [f"p{patient}" for patient in whose], names, **known)


class Evaluator:
    """Figures of `AUCS` for whatever is planned; counts, and stops where it is told to."""

    def __init__(self, *, stops_at=None, stop=KeyboardInterrupt, **aucs):
        self.aucs, self.stops_at, self.stop, self.plans = AUCS | aucs, stops_at, stop, []

    def __call__(self, plan, out, *, compute, display):
        self.plans.append(plan)
        if len(self.plans) == self.stops_at:
            raise self.stop
        untold = plan.options.data.held_back
        methods = tuple(self._method(entrant.model(), untold) for entrant in plan.entrants)
        floor = Floor(name="task", auc=estimate(0.6), matched=estimate(0.55))
        options = pinned(plan.options)
        return Evaluation(made_up(methods=methods, floors=(floor,), options=options))

    def _method(self, model, untold):
        auc, loss = self.aucs[model.name]
        read = classification(0.85 - loss)
        if model.name != "identity":
            read = altered(read, difference=estimate(-loss, half=0.01))
        made = method(model.name, model.options, auc, 0.5, 0.85, 0.85)
        if untold:
            told = LabelAuc(mean=0.8, per_class={"Mass": 0.8 - loss})
            read = altered(read, told=told, told_difference=read.difference, difference=None)
        guessed = {"precision_at_1": estimate(0.1), "precision_at_1_coin": estimate(0.05)}
        alike = Matched(auc=estimate(auc), impostor_pairs=900, estimates=guessed)
        privacy = {"histogram-metric": altered(made.privacy["verification"], matched=alike)}
        utility = {"retrained": read, "readable": True}
        return altered(made, privacy=privacy, utility=utility)


@pytest.fixture
def asked(root, tmp_path, monkeypatch):
    """Calls the command with an evaluator instead of hours of work; few patients suffice."""
    monkeypatch.setattr(choice, "NEEDED", 3)
    monkeypatch.setattr(
        "attacks.reporting.folder.write_evaluation",
        lambda found, out: found.results.write(out / "results.json"),
    )

    def call(*words, evaluator=None, code=0, out="out", folder=root):
        evaluate = evaluator or Evaluator()
        monkeypatch.setattr("attacks.recommending.measuring.evaluate", evaluate)
        sizes = ("--set", f"data.size={SIZE}", "--set", "data.workers=1")
        where = ("--root", folder, "--out", tmp_path / out)
        result = ask(main, "recommend", *where, *sizes, *words, code=code)
        call.shown = result.stderr
        return result.stdout if code == 0 else result.output

    return call


def typed(output):
    """The words of the `anonymize apply` that was told."""
    (line,) = (x for x in output.splitlines() if x.startswith("  anonymize apply"))
    return shlex.split(line)[1:]


def test_a_recommendation_and_its_limits(asked):
    output = asked()
    assert "\nTake k-same:k=5.\n" in output
    assert "| k-same:k=5 * |" in output
    assert "AUC 0.550 (0.520–0.580), real images 0.900" in output
    assert "changes by −0.010 (−0.020 to +0.000) of AUC" in output
    for word in ("does not promise", "How sure", "one lot of the method", f"{SIZE} px"):
        assert word in output
    assert "0.550 (0.520–0.580)" in output.partition("Without looking for a patient")[2]


def test_private_pictures_are_not_put_among_those_to_be_released(asked, root):
    assert "--out must not lie in --root" in asked(out=root / "recommendation", code=2)
    assert not (root / "recommendation").exists()


def test_how_much_is_ahead_is_said_first(asked):
    asked("--minutes", 7)
    first = next(line for line in asked.shown.splitlines() if "preparing" not in line)
    assert first.startswith(f"up to {NUMBER} releases of 80 images at {SIZE} px, one after the")
    assert "for 7 min;" in first


def test_the_command_that_is_told_runs(asked, root, tmp_path, monkeypatch):
    words = typed(asked())
    assert words[words.index("--canonical") + 1] == str(SIZE)
    monkeypatch.chdir(tmp_path)
    plan = json.loads(ask(main, *words, "--plan", "--json", "--text", "keep").stdout)
    assert plan["counts"] == {"anonymize": 80, "leave out": 1}  # the CSV
    ask(main, *words, "--workers", 1, "--text", "keep")
    ask(main, "verify", "released")
    certificate = json.loads((tmp_path / "released" / "certificate.json").read_text())
    assert certificate["measured"]["auc"][0] == 0.55
    assert certificate["measured"]["size"] == SIZE
    assert {"Mass", "Edema"} <= set(read_table(tmp_path / "released" / "labels.csv")[0])


def test_patients_are_told_as_the_table_has_them_and_to_nobody_else(asked, root, tmp_path):
    words = typed(asked("--keep", "Mass"))
    table = tmp_path / "out" / "patients.csv"
    assert words[words.index("--patients") + 1] == str(table)
    rows = read_table(table)
    assert set(rows[0]) == {"path", "patient_id", "Mass"}
    assert all((root / row["path"]).is_file() for row in rows)
    assert {r["Mass"] for r in rows if int(r["patient_id"][1:]) % 2} == {"1"}
    assert table.stat().st_mode & 0o777 == 0o600


def test_findings_that_are_not_to_be_kept_are_not_told(asked):
    evaluator = Evaluator()
    asked("--keep", "Mass", evaluator=evaluator)
    assert {plan.options.data.held_back for plan in evaluator.plans} == {("Edema",)}


def test_methods_that_take_images_alone_are_told_no_patients(asked):
    output = asked(evaluator=Evaluator(**{"k-same": (0.8, 0.01), "dp-pix": (0.52, 0.0)}))
    words = typed(output)
    assert "--patients" not in words
    assert words[words.index("--model") + 1] == "dp-pix:b=8,epsilon=0.1"


def test_nothing_that_does_is_told_and_nothing_to_type(asked):
    output = asked(evaluator=Evaluator(**{"k-same": (0.8, 0.01)}))
    assert f"\nNothing here does: of {NUMBER} releases none is at AUC 0.600 or less" in output
    assert f"Closest is {candidates(SIZE)[0]}, which is no recommendation." in output
    assert "anonymize apply" not in output


def test_nothing_is_said_of_what_was_not_measured(asked, monkeypatch):
    measuring = "attacks.recommending.measuring.Measuring"
    monkeypatch.setattr(f"{measuring}.forecast", lambda self: 1e9)
    late = partial(Evaluator, stops_at=2, stop=OutOfTime)
    output = asked(out="none", evaluator=late())
    assert "No release was measured to the end in 20 min" in output
    monkeypatch.setattr(
        "attacks.recommending.measuring.Measuring.known", lambda self: ["dp-pix:b=4,epsilon=0.1"]
    )
    output = asked("--auc", 0.6, evaluator=late())
    assert "\nNothing that was measured does: of 1 release none is at AUC 0.600" in output
    assert f"; {NUMBER - 1} more were not measured." in output
    assert output.count(": begun, and the time ended\n") == 1
    assert output.count(": not begun: needs ") == NUMBER - 2


def test_what_is_not_shown_is_not_recommended(asked):
    output = asked("--loss", 0.015)
    assert "These data cannot tell" in output
    assert "it may cost 0.020 of AUC, where 0.015 is allowed" in output
    assert "Closest is k-same:k=5, which is no recommendation." in output
    assert "anonymize apply" not in output


def test_the_best_guesser_is_named_with_a_coin():
    """Seldom the attacker that tells pairs best."""
    first = matched(made_up()).methods[1]
    shares = dict(zip(first.privacy, (0.02, 0.11, 0.05), strict=False))

    def guessing(key):
        figures = first.privacy[key].matched
        own = {"precision_at_1": shares.get(key, 0.0), "precision_at_1_coin": 0.03}
        return altered(first.privacy[key], matched=altered(figures, **own))

    told = altered(first, privacy={key: guessing(key) for key in first.privacy})
    assert _guessed(told) == (list(first.privacy)[1], "0.110 (a coin 0.030)")
    assert _guessed(altered(first, privacy={})) == ("nobody", "–")


def test_too_few_patients(asked, monkeypatch):
    monkeypatch.setattr(choice, "NEEDED", 50)
    evaluator = Evaluator()
    output = asked(evaluator=evaluator)
    assert "of 8 patients of the test part several images are known, where 50 are needed" in output
    assert "Take " not in output
    assert not evaluator.plans  # nothing is measured that could not tell


def test_one_that_must_be_looked_at_is_recommended_nothing(asked):
    evaluator = Evaluator()
    for words in (("looks",), ("Mass,looks",)):
        output = asked("--keep", *words, evaluator=evaluator)
        assert "Nothing here hides people and leaves a film that a person can read" in output
    assert not evaluator.plans


def test_json_says_the_same(asked):
    found = json.loads(asked("--json"))
    assert (found["outcome"], found["method"]) == ("recommended", "k-same:k=5")
    assert [p["method"] for p in found["points"]] == list(candidates(SIZE))
    assert {p["method"]: p["auc"]["mean"] for p in found["points"]}["k-same:k=5"] == 0.55
    assert found["apply"].startswith("anonymize apply ")
    assert json.loads(asked("--json", "--keep", "looks"))["outcome"] == "nothing"


def test_stopped_it_goes_on_where_it_was(asked, tmp_path):
    asked(evaluator=Evaluator(stops_at=3), code=130)
    kept = Results.read(tmp_path / "out" / "results.json")
    assert [m.name for m in kept.methods] == ["identity", "mosaic"]
    again = Evaluator()
    output = asked(evaluator=again)
    assert [len(plan.entrants) for plan in again.plans] == [*range(2, NUMBER + 2)]
    assert output == asked(out="whole").replace(str(tmp_path / "whole"), str(tmp_path / "out"))


def test_another_question_does_not_go_into_the_same_folder(asked):
    asked()
    assert "holds results of something else (data.held_back" in asked("--keep", "Mass", code=2)
    asked("--auc", 0.7)  # the same measurements, looked at otherwise


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--keep", "Flu"), "--keep must name findings of source folder (Edema, Mass), or looks"),
        (("--keep", "Mass,"), "--keep must be names of findings separated by commas"),
        (("--keep", "Mass", "--set", "data.held_back=Edema"), "leave data.held_back out of --set"),
        (("--loss", "nan"), "is not a finite number"),
        (("--minutes", "0"), "is not in the range"),
        (("--set", "evaluation.repeat=3"), "evaluation.repeat"),
        (("--source", "xray"), "source must be one of"),
    ],
)
def test_wrong_input_is_one_line(asked, words, said):
    output = asked(*words, code=2)
    line = output.strip().splitlines()[-1]
    assert line.startswith("Error: ")
    assert said in line


TINY = {
    **SMALL,
    "classifier.epochs": 1,
    "classifier.width": 4,
    "evaluation.utility": True,
    "evaluation.histogram_metric.cells": [4],
    "evaluation.patchwise.cells": 8,
    "evaluation.unmixing.sides": [8],
}


@pytest.mark.slow
def test_drawn_radiographs_from_beginning_to_end(tmp_path, monkeypatch):
    monkeypatch.setattr(choice, "NEEDED", 1)
    monkeypatch.setattr(recommend, "candidates", lambda size: ("k-same:k=2",))
    words = ["recommend", "--source", "phantom", "--out", tmp_path / "out", "--minutes", 60]
    for key, value in TINY.items():
        words += ["--set", f"{key}={json.dumps(value)}"]
    first = ask(main, *words)
    assert "k-same:k=2" in first.stdout
    assert "| real images |" in first.stdout
    again = ask(main, *words)
    assert again.stdout == first.stdout
    assert "measured before" in again.stderr
    assert (tmp_path / "out" / "report.html").is_file()


def test_who_bears_the_figures(root):
    options = load_options("quick", {"data.source": "folder", "data.root": str(root)})
    data = Dataset.open(options.data.model_copy(update={"size": SIZE, "workers": 1}))
    rows = data.table.part("test")
    assert bearing(data) == len(rows) / 2 == 8


def test_every_candidate_and_attacker_is_there():
    for size in (32, 64, 100):
        specs = candidates(size)
        assert len(set(specs)) == len(specs) == NUMBER
    assert set(ATTACKERS) > {"unmixing", "patchwise"}
