"""`anonymize train` as a user runs it, very small: what it leaves, resumes and refuses."""

import functools
import json
import subprocess
import sys
import time
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tiny_run import configured, game, same, states, stopping, train

import anonymize
from anonymize.configuration import load_options, write_options
from anonymize.errors import UsageError
from anonymize.model_card import read_card
from anonymize.training import folder
from attacks.evaluation.pinned import course_of

pytestmark = pytest.mark.whole

FILES = {
    *("model.safetensors", "classifier.safetensors", "verifier.safetensors", "checkpoint"),
    *("options.yaml", "metrics.jsonl", "summary.json", "training.png", "samples", "first_look"),
}
STAGES = ["classifier", "verifier", "reconstruction", "adversarial"]


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return configured(tmp_path_factory.mktemp("config"))


@pytest.fixture(scope="module")
def run(config, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "whole"
    output = train("--mu", 0.01, "--config", config, "--out", path)
    assert f"attacks evaluate --run {path}" in output
    return path


def test_a_run_leaves_what_the_contract_says(run):
    assert {p.name for p in run.iterdir() if not p.name.startswith(".")} == FILES
    assert {p.name for p in (run / "samples").iterdir()} == {"0-pretrained.png", "1-trained.png"}
    stages = [json.loads(line)["stage"] for line in (run / "metrics.jsonl").open()]
    assert list(dict.fromkeys(stages)) == STAGES
    assert stages.count("adversarial") == 3


def test_all_files_of_a_run_are_for_whom_any_new_file_is(run, tmp_path):
    (tmp_path / "plain").touch()
    modes = {path.stat().st_mode for path in run.rglob("*") if path.is_file()}
    assert modes == {(tmp_path / "plain").stat().st_mode}


def test_a_run_shows_real_images_to_its_owner_alone(run):
    assert run.stat().st_mode & 0o777 == 0o700


def test_the_model_reads_its_own_card(run):
    card = read_card(run / "model.safetensors")
    assert (card.kind, card.method, card.size) == ("anonymizer", "prichexy-net", 32)
    assert card.architecture["mu"] == 0.01
    assert card.data["source"] == "phantom"
    assert card.figures["validation_loss"] > 0
    model = anonymize.load(run)
    images = torch.rand(2, 1, 50, 40)
    assert model(images).shape == images.shape
    assert 0 < model.displacement(images).abs().max() <= 0.01


def test_summary_is_measured_on_the_test_part(run):
    summary = json.loads((run / "summary.json").read_text())
    assert summary["test"]["images"] > 0
    assert [found["method"] for found in summary["hides"]["methods"]] == [
        "real images",
        "prichexy-net μ=0.01",
        "dp-pix b=8, ε=0.1",
    ]
    for found in summary["hides"]["methods"]:
        assert found["ci95"][0] <= found["auc"] <= found["ci95"][1]
        assert 0 <= found["classification_auc"] <= 1
    auc, *others = (found["classification_auc"] for found in summary["hides"]["methods"])
    less = [found["classification_difference"] for found in summary["hides"]["methods"]]
    assert less == [None, *(pytest.approx(other - auc) for other in others)]
    assert 0 < summary["displacement_px"]["max"] <= 0.01 * np.sqrt(2) * 31 / 2


def test_a_run_says_how_far_its_training_went(run):
    summary = json.loads((run / "summary.json").read_text())
    lines = [json.loads(line) for line in (run / "metrics.jsonl").open()]
    steps = [line["train_steps"] for line in lines if line["stage"] == "adversarial"]
    said = summary["training"]
    assert (said["steps"], said["converged"]) == (sum(steps), False)
    assert said["in_words"].startswith(f"stopped after {sum(steps)} steps, still moving")
    assert said["in_words"] in train("--resume", run)
    assert said["kept_steps"] in np.cumsum(steps)
    figures = read_card(run / "model.safetensors").figures
    assert sum(steps[: round(figures["epoch"])]) == figures["kept_steps"]
    found = course_of(anonymize.load(run))
    assert found == {"steps": sum(steps), "converged": False}


def test_every_epoch_of_the_game_says_what_it_does(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").open()]
    own = [line for line in lines if line["stage"] == "adversarial"]
    assert [("observed_attacker_auc" in line) for line in own] == [False, True, True]
    assert len({line["observed_attacker_auc_real"] for line in own[1:]}) == 1
    assert all(0 < line["observed_rms_share"] < line["observed_largest_share"] <= 1 for line in own)
    assert not any(k.startswith("observed_") for line in lines if line not in own for k in line)


def same_runs(ended, run):
    for name in ("model", "classifier", "verifier"):
        ours = load_file(ended / f"{name}.safetensors")
        for key, value in load_file(run / f"{name}.safetensors").items():
            assert torch.equal(value, ours[key]), (name, key)
    for name in ("metrics.jsonl", "samples/1-trained.png", "training.png"):
        assert (ended / name).read_bytes() == (run / name).read_bytes()
    first, second = (json.loads((r / "summary.json").read_text()) for r in (run, ended))
    assert first | {"run": ""} == second | {"run": ""}


def test_stopped_in_every_stage_the_same_command_ends_as_if_never_stopped(
    run, config, tmp_path, monkeypatch
):
    ended = tmp_path / "run"
    command = ("--mu", 0.01, "--config", config, "--out", ended)
    for stage in STAGES:
        with monkeypatch.context() as patch:
            stopping(patch, stage)
            assert "interrupted; the same command goes on" in train(*command, code=130)
        assert (ended / "checkpoint" / f"{stage}.safetensors").exists()
        assert not (ended / "summary.json").exists()
    assert f"continuing {ended}" in train(*command)
    same_runs(ended, run)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["classifier", "adversarial"])
def test_killed_it_ends_as_if_never_killed(run, config, tmp_path, stage):
    words = ["--mu", "0.01", "--config", str(config), "--out", str(tmp_path / "run")]
    command = [sys.executable, "-m", "anonymize", "train", "--device", "cpu", *words]
    with subprocess.Popen(command) as process:
        while not (tmp_path / "run" / "checkpoint" / f"{stage}.safetensors").exists():
            assert process.poll() is None
            time.sleep(0.002)
        process.kill()
    assert not (tmp_path / "run" / "summary.json").exists()
    train(*words)
    same_runs(tmp_path / "run", run)


def test_a_finished_run_is_left_alone(run, config):
    before = {p: p.stat().st_mtime_ns for p in run.rglob("*") if p.name != ".lock"}
    assert "Does it hide anybody?" in train("--mu", 0.01, "--config", config, "--out", run)
    assert "Does it hide anybody?" in train("--resume", run)
    gone = ("--out", run, "--classifier", run / "no-such", "--mu", 0.01, "--config", config)
    assert "Does it hide anybody?" in train(*gone, "--root", run / "no-such")
    assert before == {p: p.stat().st_mtime_ns for p in run.rglob("*") if p.name != ".lock"}


def test_two_that_start_in_the_same_second_get_two_folders(config, tmp_path, monkeypatch):
    from anonymize.commands.run_options import TrainArguments, started

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda form: "20260101-120000")
    asked = TrainArguments(str(config), None, None, None, None, (), None, None)
    with started(asked, "cpu") as one, started(asked, "cpu") as two:
        assert one.run.is_dir()
        assert two.run.is_dir()
        assert one.run != two.run
        write_options(one.options, one.run / "options.yaml")
        with folder._claimed(one.run, one.options, None), started(asked, "cpu") as three:
            assert three.run not in (one.run, two.run)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [one.run.name]
    assert one.run.stat().st_mode & 0o777 == 0o700
    with started(asked, "cpu") as again:
        assert again.run == one.run


def test_the_options_of_a_run_are_whole_or_not_there(run, tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        write_options(load_options(run / "options.yaml"), tmp_path / "options.yaml")
    assert not list(tmp_path.iterdir())


def test_another_options_or_a_foreign_folder_is_refused(run, config, tmp_path):
    assert "run with other options" in train(
        *("--config", config, "--out", run, "--seed", 3), code=2
    )
    (tmp_path / "letter.txt").write_text("mine")
    assert "is not empty and no run" in train("--config", config, "--out", tmp_path, code=2)
    assert "leave --mu and --set out" in train("--resume", run, "--mu", 0.005, code=2)
    other = ("--config", config, "--out", tmp_path / "run")
    assert "--device 'abacus' is not available" in train(*other, "--device", "abacus", code=2)
    unknown = ("classifier", *other, "--set", "classifier.weights=DEFAULT")
    assert "no published weights" in train(*unknown, code=2)


@pytest.mark.parametrize("part", [None, "classifier", "verifier"])
def test_from_python_other_options_are_refused_too(run, config, tmp_path, part):
    from anonymize.training.part_runs import train_part
    from anonymize.training.run import train

    call = train if part is None else functools.partial(train_part, part)
    options = load_options(run / "options.yaml")
    other = load_options(run / "options.yaml", {"adversarial.batch": 7})
    with pytest.raises(UsageError, match="is a run with other options; choose another --out"):
        call(other, run)
    if part is None:
        same = options.model_copy(update={"threads": 2, "samples": 0})
        assert call(same, run) == json.loads((run / "summary.json").read_text())


# The game


@pytest.mark.parametrize("verifier", ["updated", "frozen"])
@pytest.mark.parametrize("auxiliary", ["updated", "frozen"])
def test_who_is_frozen_stays_bit_equal_statistics_included(verifier, auxiliary):
    stage = game(verifier=verifier, auxiliary=auxiliary)
    networks = {"frozen": [], "updated": [(stage.network, states(stage.network))]}
    networks[verifier].append((stage.verifier, states(stage.verifier)))
    networks[auxiliary].append((stage.classifier, states(stage.classifier)))
    for module in stage.modules.values():
        module.train()
    stage.train_epoch(1)
    with torch.no_grad():
        stage.validate()
    assert all(same(network, before) for network, before in networks["frozen"])
    assert not any(same(network, before) for network, before in networks["updated"])


def test_the_generator_learns_to_fool_a_frozen_verifier():
    stage = game(verifier="frozen", rate=0.01, verification_weight=100)
    stage.network.train()
    losses = [stage.train_epoch(1)["verification"] for _ in range(4)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 1e-4
