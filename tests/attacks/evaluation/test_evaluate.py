"""`attacks evaluate` of runs and methods as a user runs it, very small."""

import json

import numpy as np
import pytest
import yaml
from asked import ask
from pictures import unsaved
from test_results import measured_in

from anonymize.cli import main as anonymize
from attacks.cli import main as attacks
from attacks.results import Results

pytestmark = pytest.mark.whole


def call(main, *arguments, code=0):
    return ask(main, *arguments, code=code).output


@pytest.fixture(scope="module")
def run(smaller, tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluate")
    (folder / "tiny.yaml").write_text(yaml.safe_dump(smaller))
    call(anonymize, *("train", "--config", folder / "tiny.yaml", "--out", folder / "run"))
    return folder / "run"


@pytest.fixture(scope="module")
def evaluation(run):
    with unsaved():
        output = call(attacks, "evaluate", "--run", run, "--device", "cpu")
    assert "report.html" in output
    return run / "evaluation"


def test_results(evaluation):
    results = Results.read(evaluation / "results.json")
    assert [m.name for m in results.methods] == ["identity", "prichexy-net", "dp-pix"]
    assert results.attackers == ("verification", "histogram-metric", "training-free")
    real, warped, pixelized = results.methods
    for method in results.methods:
        assert len(method.privacy["verification"].auc.runs) == 2
        assert len(method.privacy["training-free"].auc.runs) == 1
        for attack in method.privacy.values():
            assert 0 <= attack.auc.ci95[0] <= attack.auc.mean <= attack.auc.ci95[1] <= 1
            assert attack.precision_at_1 is not None
            assert attack.r_s is not None
        for utility in (method.utility.frozen, method.utility.retrained):
            assert 0 <= utility.auc.mean <= 1
            assert len(utility.auc.per_class) == 14
    assert real.image.ssim == pytest.approx(1)
    assert real.image.psnr is None
    assert 0 < warped.image.displacement_px.max <= 0.01 * 15.5 * np.sqrt(2)
    assert warped.image.min_jacobian > 0.9
    assert pixelized.image.displacement_px is None
    assert pixelized.image.ssim < warped.image.ssim < 1
    floors = {floor.name: floor.auc for floor in results.floors}
    assert set(floors) == {"findings", "task", "soft-biometrics", "metadata", "coin"}
    assert floors["coin"].ci95[0] < 0.5 < floors["coin"].ci95[1]
    within = warped.privacy["verification"].estimate("auc_within")
    assert len(within.runs) == 2
    assert warped.privacy["training-free"].estimate("auc_within") is None
    assert warped.privacy["verification"].trained_on == "released-released"
    assert (warped.steps > 0, warped.converged, pixelized.converged) == (True, False, None)
    assert 0 < warped.image.displacement_px.mean <= warped.image.displacement_px.rms
    names = [c.name for c in results.checks]
    assert len(names) == len(set(names)) > 5


def test_networks_of_another_split_are_refused(run, tmp_path):
    config = run.parent / "tiny.yaml"
    asked = ["evaluate", "--config", config, "--device", "cpu"]
    asked += ["--method", "dp-pix:b=8,epsilon=0.1"]
    for given in (["--verifier", run], ["--classifier", run], ["--run", run]):
        output = call(
            attacks, *asked, *given, "--set=data.split_seed=1", "--out", tmp_path / "e", code=2
        )
        assert f"{given[0]} {run} learnt from" in output
        assert len(output.strip().splitlines()) <= 2
    assert not list((tmp_path / "e").glob("*/*.safetensors"))


def test_schema_of_the_contract(evaluation):
    raw = json.loads((evaluation / "results.json").read_text())
    assert raw["schema"] == 2
    assert {"name", "images", "patients", "split"} <= set(raw["source"])
    method = raw["methods"][1]
    assert {"name", "options", "privacy", "utility", "image", "cost"} <= set(method)
    attack = method["privacy"]["verification"]
    assert {"knowledge", "auc", "precision_at_1", "map_at_r", "r_precision", "r_s"} <= set(attack)
    assert {"mean", "sd", "runs", "ci95"} <= set(attack["auc"])
    assert {"mean", "ci95", "per_class"} <= set(method["utility"]["frozen"]["auc"])
    assert {"ssim", "psnr", "displacement_px", "min_jacobian"} <= set(method["image"])
    assert method["cost"]["seconds_per_image"] > 0


@pytest.mark.usefixtures("undrawn")
def test_the_same_command_again_measures_nothing_anew(run, evaluation, monkeypatch):
    before = measured_in(evaluation)
    monkeypatch.setattr("attacks.training.learning.fit", None)  # who calls it fails
    fewer = ("--repeats", 1, "--out", evaluation)
    call(attacks, "evaluate", "--run", run, "--device", "cpu", *fewer)
    call(attacks, "evaluate", "--run", run, "--device", "cpu")
    assert measured_in(evaluation) == before


@pytest.mark.usefixtures("undrawn")
def test_all_images_for_attackers_that_learn_nothing(run, tmp_path):
    told = ("--part", "all", "--attackers", "training-free", "--method", "dp-pix:b=2", "--json")
    asked = ("evaluate", "--config", run.parent / "tiny.yaml", *told, "--out")
    output = call(attacks, *asked, tmp_path / "out")
    raw = json.loads(output[output.index("{\n") :])
    assert raw["source"]["images"] == 120
    assert [m["name"] for m in raw["methods"]] == ["identity", "dp-pix"]
    assert not any(raw["methods"][0]["utility"].values())
    learnt = call(attacks, *asked, tmp_path / "run", "--run", run, code=2)
    assert "of the patients whom it would be tested on: with --part all" in learnt
    wrong = ("evaluate", "--run", run, "--out", tmp_path / "wrong")
    learns = call(attacks, *wrong, "--part", "all", code=2)
    assert "learns from the training part; use --part test" in learns
    assert "option evaluation.repeats" in call(attacks, *wrong, "--repeats", 0, code=2)
    assert not (tmp_path / "wrong").exists()


# Real radiographs, from the files to the report


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("source", "folder", "size", "expected"),
    [
        ("chestxray14", "chestxray14_64px", 64, (0.734, 0.683, 0.846)),
        pytest.param(*("covid19", "covid19", 128, (0.410, 0.514, 0.893)), marks=pytest.mark.slow),
        pytest.param(
            *("pediatric-pneumonia", "pediatric_pneumonia_224px", 128, (0.192, 0.275, 0.821)),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_gradient_histograms_reach_what_was_measured_elsewhere(
    shared, tmp_path, source, folder, size, expected
):
    """Figures of the data's own documentation, measured with other code."""
    output = call(
        *(attacks, "evaluate", "--source", source, "--root", shared / "data" / folder),
        *("--part", "all", "--attackers", "training-free", "--method", "identity", "--json"),
        *("--set", f"data.size={size}", "--set", f"data.cache={tmp_path / 'cache'}"),
        *("--set", "evaluation.resamplings=20", "--workers", 1, "--out", tmp_path / "out"),
    )
    method = json.loads(output[output.index("{\n") :])["methods"][0]
    found = method["privacy"]["training-free"]
    figures = (found["precision_at_1"], found["r_s"], found["auc"]["mean"])
    assert figures == pytest.approx(expected, abs=0.002)
