"""`attacks evaluate` on folders of so few patients that hardly anything can be told, as a user
calls it."""

import numpy as np
import pytest
from asked import ask
from film_folders import folder_of

from attacks.cli import main
from attacks.results import Results


@pytest.fixture
def evaluated(tmp_path):
    """Evaluates images of so many patients, of whom a fifth are tested and no two are as old."""

    def call(patients, code=0):
        folder, who = tmp_path / "films", np.repeat(np.arange(patients), 4)
        films = np.random.default_rng(0).integers(0, 256, (len(who), 40, 40), np.uint8)
        known = {"labels": np.where(who % 2, "Mass", ""), "age": 20 + 5 * who}
        folder_of(folder, films, [f"p{patient}" for patient in who], **known)
        options = ("data.size=32", "data.workers=1", "evaluation.utility=false", "threads=1")
        settings = [word for option in options for word in ("--set", option)]
        words = ("--source", "folder", "--root", folder, "--out", tmp_path / "out", *settings)
        asked = ("--method", "gaussian-blur", "--attackers", "training-free")
        return ask(main, "evaluate", *words, *asked, code=code)

    return call


def test_one_patient_to_test_on_is_refused(evaluated):
    said = evaluated(6, code=2).output.splitlines()[-1]
    assert said.startswith("Error: part test cannot tell how good an attacker is")
    assert said.endswith("(4 images of 1 patient); use more images")


@pytest.mark.whole
def test_two_patients_have_figures_of_which_nothing_is_sure(evaluated, tmp_path):
    """Every draw that holds both is alike: no interval, rather than one without a width."""
    evaluated(12)
    found = Results.read(tmp_path / "out" / "results.json")
    for method in found.methods:
        attack = method.privacy["training-free"]
        assert 0 < attack.auc.mean < 1
        assert attack.auc.ci95 is None
        assert attack.matched is None or attack.matched.auc is None
    table = (tmp_path / "out" / "table.md").read_text()
    assert table.count("no impostor is alike") == 1 + len(found.methods)
    assert "nan" not in table.lower()
    failed = {check.name: check.message for check in found.checks if not check.passed}
    assert "(no interval)" in failed["intervals are narrow"]
    assert "No two patients are alike" in failed["every figure has matched impostors"]
