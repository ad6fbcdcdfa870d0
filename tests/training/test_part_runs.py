"""`anonymize train classifier` and `anonymize train verifier` as a user runs them, very small."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from film_folders import folder_of
from tiny_run import configured, ended, train

from anonymize.commands.run_options import TrainArguments, unfinished
from anonymize.commands.train import describe_verifier
from anonymize.configuration import load_options, write_options
from anonymize.model_card import read_card
from anonymize.networks.backbones import torchvision_models
from anonymize.training.measures import measure_verifier
from anonymize.training.parts import load_classifier, load_verifier

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("config")
    return configured(folder, evaluation={"resamplings": 50}, samples=0)


@pytest.fixture(scope="module")
def parts(config, tmp_path_factory):
    """A folder in which both parts were trained, and what the commands printed."""
    run = tmp_path_factory.mktemp("runs") / "parts"
    printed = {p: train(p, "--config", config, "--out", run) for p in ("classifier", "verifier")}
    return run, printed


def read(run, part):
    return json.loads((run / f"{part}_test.json").read_text())


@pytest.mark.parametrize("part", ["classifier", "verifier"])
def test_a_part_leaves_its_model_its_figures_and_a_picture(parts, part):
    run, printed = parts
    summary = read(run, part)
    assert summary["part"] == part
    assert f"{summary['test']['auc']:.3f}" in printed[part]
    assert f"Next: anonymize train --{part} {run}" in printed[part]
    assert (run / f"{part}_test.png").read_bytes().startswith(b"\x89PNG")
    assert read_card(run / f"{part}.safetensors").kind == part
    stages = [json.loads(line)["stage"] for line in (run / "metrics.jsonl").open()]
    assert stages == ["classifier"] * 2 + ["verifier"] * 2
    assert (run / "options.yaml").is_file()
    assert not (run / "model.safetensors").exists()
    {"classifier": load_classifier, "verifier": load_verifier}[part](run / f"{part}.safetensors")


def test_a_classifiers_summary_counts_the_test_part(parts):
    test = read(parts[0], "classifier")["test"]
    assert len(test["per_class"]) == 14
    assert test["images"] > test["patients"] > 0
    assert "mean" in parts[1]["classifier"]
    assert all(v["known"] == test["images"] for v in test["per_class"].values())


def test_a_verifiers_summary_says_how_pairs_were_drawn(parts, config, tmp_path):
    summary = read(parts[0], "verifier")
    assert summary["training"] == "RNP: pairs drawn again each epoch"
    counts = summary["test"]["confusion"]
    assert sum(counts.values()) == summary["test"]["pairs"]
    assert counts["true_positive"] + counts["false_negative"] == summary["test"]["pairs"] / 2
    output = train(
        *("verifier", "--config", config, "--out", tmp_path / "fts", "--json"),
        *("--set", "data.negatives=fixed", "--set", "verifier.epochs=1"),
    )
    summary = json.loads(output[output.index("{\n") :])
    assert summary["training"] == "FTS: fixed pairs"
    assert summary == read(tmp_path / "fts", "verifier")


def test_figures_that_hang_on_an_unfit_threshold_are_not_to_be_believed():
    rng = np.random.default_rng(0)
    same = np.arange(400) % 2 == 0
    scores = 1 / (1 + np.exp(-(rng.standard_normal(400) + 2 * same)))
    warned = []
    for scale in (1, 0.1):
        test = measure_verifier(scale * scores, same, np.arange(400), resamplings=20, seed=0)
        summary = {"part": "verifier", "model": "run/v", "test": test, "training": "pairs"}
        warned.append("does not suit these scores" in "\n".join(describe_verifier(summary, "Done")))
    assert warned == [False, True]


def test_a_finished_part_is_only_read_again(parts, config):
    run, printed = parts
    before = {p: p.stat().st_mtime_ns for p in run.rglob("*") if p.name != ".lock"}
    again = train("verifier", "--config", config, "--out", run)
    assert (
        again.splitlines()[4:] == printed["verifier"].splitlines()[-len(again.splitlines()) + 4 :]
    )
    assert train("classifier", "--resume", run)
    assert before == {p: p.stat().st_mtime_ns for p in run.rglob("*") if p.name != ".lock"}


def test_a_measurement_that_was_lost_is_made_again_without_training(parts, config):
    run, _ = parts
    summary, metrics = read(run, "classifier"), (run / "metrics.jsonl").read_bytes()
    (run / "classifier_test.json").unlink()
    train("classifier", "--config", config, "--out", run)
    assert read(run, "classifier") == summary
    assert (run / "metrics.jsonl").read_bytes() == metrics


def test_an_anonymizer_is_trained_against_the_parts_of_a_run(parts, config, tmp_path):
    run, _ = parts
    changes = ("--set", "adversarial.epochs=1", "--set", "reconstruction.epochs=1")
    result = ended(
        *("--config", config, "--out", tmp_path / "run", *changes),
        *("--classifier", run, "--verifier", run / "verifier.safetensors"),
    )
    assert "epoch   1/1" in result.stderr
    assert f"run {tmp_path / 'run'}, on cpu" in result.stderr
    assert result.stdout.startswith("\nDone in ")
    stages = {json.loads(line)["stage"] for line in (tmp_path / "run/metrics.jsonl").open()}
    assert stages == {"reconstruction", "adversarial"}
    for name in ("classifier.safetensors", "verifier.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (run / name).read_bytes()


def test_without_out_each_command_goes_on_in_its_own_stopped_folder(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = load_options(config)
    assert unfinished(options) is None
    for name in ("1-phantom-mu0.01", "2-phantom-mu0.01", "3-phantom-classifier", "4-a-verifier"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        write_options(options, tmp_path / "runs" / name / "options.yaml")
    for finished in ("2-phantom-mu0.01/summary.json", "4-a-verifier/verifier_test.json"):
        (tmp_path / "runs" / finished).write_text("{}")
    assert str(unfinished(options)) == "runs/1-phantom-mu0.01"
    assert str(unfinished(options, "classifier")) == "runs/3-phantom-classifier"
    assert unfinished(options, "verifier") is None
    assert unfinished(load_options(config, {"seed": 5})) is None
    (tmp_path / "summary.json").write_text("{}")  # where it is started, which is no run
    new = TrainArguments("quick", None, None, None, None, (), None, None)
    assert not new.finished
    assert replace(new, out=tmp_path).finished
    (tmp_path / "runs" / "5-of-another-version").mkdir()
    (tmp_path / "runs" / "5-of-another-version" / "options.yaml").write_text("no_more: 1\n")
    assert str(unfinished(options)) == "runs/1-phantom-mu0.01"


def test_a_classifier_begins_with_published_weights_of_torchvision(config, tmp_path, monkeypatch):
    source = torchvision_models().resnet18()
    file = tmp_path / "hub" / "checkpoints" / "resnet18-f37072fd.pth"
    file.parent.mkdir(parents=True)
    torch.save(source.state_dict(), file)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr("torch.hub.HASH_REGEX", re.compile(r"(?!x)x"))
    settings = ("architecture=resnet18", "weights=DEFAULT", "rate=1.0e-12", "epochs=1")
    train(
        *("classifier", "--config", config, "--out", tmp_path / "run"),
        *(word for s in settings for word in ("--set", f"classifier.{s}")),
    )
    network = load_classifier(tmp_path / "run" / "classifier.safetensors").backbone
    assert torch.allclose(network.layer1[0].conv1.weight, source.layer1[0].conv1.weight, atol=1e-9)


def test_findings_that_cannot_be_told_apart_leave_a_model_that_is_read(config, tmp_path):
    whose = np.repeat(np.arange(20), 2)
    films = [np.random.default_rng(p).integers(0, 256, (32, 32), np.uint8) for p in whose]
    root = folder_of(tmp_path / "set", films, whose, labels="Mass")
    given = ("--source", "folder", "--root", root, "--out", tmp_path / "run")
    assert "undefined" in train("classifier", "--config", config, *given)
    assert load_classifier(tmp_path / "run" / "classifier.safetensors").size is None
    assert "NaN" not in (tmp_path / "run" / "metrics.jsonl").read_text()


# Wrong input


@pytest.mark.parametrize("key", ["pair_list", "validation_list", "test_list"])
def test_a_pair_list_of_absent_images_is_refused(config, tmp_path, key):
    (tmp_path / "pairs.txt").write_text("absent-1.png\tabsent-2.png\t1.0\n")
    output = train(
        *("verifier", "--config", config, "--out", tmp_path / "run"),
        *("--set", f"data.{key}={tmp_path / 'pairs.txt'}"),
        code=2,
    )
    assert "1 name images that are not there" in output
    assert "absent-1" not in output
    assert not (tmp_path / "run").exists()
