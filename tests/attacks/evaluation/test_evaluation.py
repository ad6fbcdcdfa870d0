"""An evaluation from its file, as a user starts it: trained, killed, continued, compared."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from xml.etree import ElementTree

import pytest
import yaml
from asked import ask
from overlapping import read_table
from PIL import Image
from test_results import measured_in, without

from anonymize.training import loop
from anonymize.training.compute import Compute
from attacks.cli import main
from attacks.evaluation.evaluate import evaluate
from attacks.evaluation.plan import Entrant, Plan
from attacks.evaluation.protocol import Choices, plan_of, read_protocol
from attacks.results import Results

pytestmark = pytest.mark.whole

FILES = {
    *("results.json", "results.of.json", "table.csv", "table.md", "attackers.md", "floors.md"),
    *("world.md", "table1.csv", "table1.md", "report.html", "report-public.html"),
    *(f"{name}.{kind}" for name in ("tradeoff", "roc", "world") for kind in ("png", "svg", "pdf")),
    *("examples.png", "figure2.png", "figure3.png", "differences.png"),
    *("pictures.npz", "draws.npz", "progress.json", "durations.json", ".lock"),
    *("notes", "runs"),
}
PROTOCOL = {
    "base": "tiny.yaml",
    "set": {"evaluation.attacker_epochs": 1},
    "trained": [
        {"sweep": {"generator.mu": [0.0]}},
        {
            "set": {"generator": {"method": "privacy-net", "features": 2, "levels": 2}},
            "sweep": {"adversarial.verification_weight": [1.0]},
        },
    ],
    "untrained": [{"method": "dp-pix", "options": {"b": 8, "epsilon": 0.1, "seed": 0}}],
    "attackers": ["verification", "verification:ignorant", "training-free"],
}
CHECKPOINTS = (
    "notes/*/scores-verification-informed-1-*/attack.safetensors",
    "runs/*/checkpoint/adversarial.safetensors",
    "notes/*/logits-retrained-*/utility.safetensors",
)
TITLES = ["real images", "prichexy-net μ=0", "privacy-net", "dp-pix b=8, ε=0.1"]


@pytest.fixture(scope="module")
def config(smaller, tmp_path_factory):
    folder = tmp_path_factory.mktemp("protocol")
    (folder / "tiny.yaml").write_text(yaml.safe_dump(smaller))
    (folder / "own.yaml").write_text(yaml.safe_dump(PROTOCOL, sort_keys=False))
    return folder / "own.yaml"


@pytest.fixture(scope="module")
def plain(config):
    """The same without the paper's pictures, which take longer than everything else."""
    path = config.with_name("plain.yaml")
    path.write_text(yaml.safe_dump(PROTOCOL | {"published": False}, sort_keys=False))
    return path


def call(*arguments, code=0):
    return ask(main, "evaluate", "--device", "cpu", *arguments, code=code).output


@pytest.fixture(scope="module")
def output(config):
    return call("--config", config, "--out", config.parent / "whole")


@pytest.fixture(scope="module")
def whole(output, config):
    """The folder of the evaluation, done without a stop."""
    return config.parent / "whole"


def test_everything_is_written(whole):
    assert {path.name for path in whole.iterdir()} == FILES
    for path in whole.glob("*.png"):
        with Image.open(path) as picture:
            assert min(picture.size) > 300
    ElementTree.parse(whole / "tradeoff.svg")
    page = (whole / "report.html").read_text()
    assert "Table 1 of the paper beside ours" in page


def test_every_method_and_level_is_measured(whole):
    results = Results.read(whole / "results.json")
    assert results.titles() == TITLES
    for method in results.methods:
        assert list(method.privacy) == PROTOCOL["attackers"]
        informed, *_ = attacks = list(method.privacy.values())
        assert [a.knowledge for a in attacks] == ["informed", "ignorant", "ignorant"]
        assert [len(a.auc.runs) for a in attacks] == [2, 1, 1]
        assert informed.auc_listed is not None
        assert informed.auc.ddof == 0
    assert results.methods[2].options["verification_weight"] == 1.0


def test_the_papers_table_stands_beside_ours(whole):
    ours = [row for row in read_table(whole / "table1.csv") if row["who"] == "ours"]
    found = {(row["method"], row["figure"]): float(row["mean"]) for row in ours}
    results = Results.read(whole / "results.json")
    expected = {}
    for title, method in results.titled:
        if title != "prichexy-net μ=0":  # the paper has none of it
            listed = method.privacy["verification"].auc_listed
            expected[title, "verification_auc_listed"] = pytest.approx(listed, abs=1e-6)
            read = method.utility.frozen.auc.mean
            expected[title, "classification_auc"] = pytest.approx(read, abs=1e-6)
    assert found == expected


def test_lines_say_what_was_done_and_how_long_it_will_take(output):
    # A piece that lasts has lines of its own while the number of those before it stays.
    numbered = [line for line in output.splitlines() if re.match(r"\[[1-9]", line)]
    lines = [*{line.partition("/")[0]: line for line in reversed(numbered)}.values()][::-1]
    # Classifier, verifier, 2 trainings, and 4 methods of 4 attacks and 2 utilities.
    assert len(lines) == 2 + 2 + 4 * 6 + 2  # and the floor
    assert lines[-1].startswith("[30/30]")
    assert lines[-1].endswith("(done)")
    # Nothing is foreseen before the first piece without epochs, and then roughly.
    assert all("time left not known yet" in line for line in lines[:2])
    assert "roughly" in lines[2]
    assert all(" left)" in line for line in lines[2:-1])
    assert "roughly" not in "".join(lines[-2:])  # the floor comes last, and is of its own kind
    assert "prichexy-net mu=0.0: training: trained" in output


def test_classifier_and_verifier_are_trained_once(whole):
    (reference,) = (whole / "runs").glob("reference-*")
    runs = [path for path in (whole / "runs").iterdir() if path != reference]
    assert len(runs) == 2
    for name in ("classifier.safetensors", "verifier.safetensors"):
        assert {(run / name).read_bytes() for run in runs} == {(reference / name).read_bytes()}
    for run in runs:
        stages = {json.loads(line)["stage"] for line in (run / "metrics.jsonl").open()}
        assert stages == {"reconstruction", "adversarial"}


@pytest.mark.usefixtures("undrawn")
def test_the_same_command_again_trains_and_measures_nothing(plain, whole, monkeypatch):
    before = measured_in(whole)
    for place in (
        "training.learning.fit",
        "evaluation.sweep.train",
        "evaluation.utility_runner.predict",
    ):
        monkeypatch.setattr(f"attacks.{place}", None)  # who calls it fails
    output = call("--config", plain, "--out", whole)
    assert output.count("measured before") == 4 * 6 + 2
    assert output.count("trained before") == 2 + 2
    assert measured_in(whole) == before


def goes_on(plain, out, whole):
    """The same command ends as if never stopped, and nothing finished is done again."""
    finished = len(list(out.glob("notes/*/*.json"))) + len(list(out.glob("runs/*/model.*")))
    assert not (out / "results.json").exists()
    output = call("--config", plain, "--out", out)
    assert output.count("measured before") + output.count(": training: trained before") >= finished
    assert measured_in(out) == measured_in(whole)


@pytest.mark.usefixtures("undrawn")
def test_stopped_in_an_epoch_of_the_second_repeat_it_goes_on(plain, whole, tmp_path, monkeypatch):
    written = loop.save_tensors

    def stopped(tensors, metadata, path):
        written(tensors, metadata, path)
        if path.match(CHECKPOINTS[0]):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(loop, "save_tensors", stopped)
        call("--config", plain, "--out", tmp_path, code=130)
    goes_on(plain, tmp_path, whole)


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("checkpoint", CHECKPOINTS)
def test_killed_it_goes_on_where_it_was(plain, whole, tmp_path, checkpoint):
    out = tmp_path / "killed"
    command = [sys.executable, "-P", "-m", "attacks.cli", "evaluate", "--device", "cpu"]
    command += ["--config", str(plain), "--out", str(out)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not list(out.glob(checkpoint)):
            assert process.poll() is None
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
    goes_on(plain, out, whole)


def test_without_displacement_attack_and_utility_are_those_of_the_real_images(
    config, whole, tmp_path
):
    """Measured anew: μ = 0 with replicated borders gives the images back bit for bit."""
    plan = plan_of(read_protocol(str(config)), whole, Choices())
    (still,) = (e for e in plan.entrants if e.varied.get("mu") == 0)
    assert still.training.generator.border == "replicate"
    again = Plan([Entrant(still.spec)], plan.options, plan.attackers, reference=plan.reference)
    measured = evaluate(again, tmp_path, compute=Compute()).results.methods[0]
    real = Results.read(whole / "results.json").real
    assert measured.name == "prichexy-net"
    assert measured.image.displacement_px.max == 0
    compares = {"differences", "p_below_chance"}  # with all that is measured beside it
    ours, theirs = (
        [without(a.model_dump(mode="json"), compares) for a in method.privacy.values()]
        for method in (measured, real)
    )
    assert ours == theirs
    # Nobody knows whether it is readable without the real images.
    assert measured.utility == real.utility.model_copy(update={"readable": None})


def test_other_pairs_train_another_attacker(config, whole, tmp_path):
    kinds = ("released-released", "released-real", "mixed")
    scratch, runs = {"evaluation.attacker_start": "scratch"}, []  # or the start may be what is kept
    for kind in kinds:
        asked = Choices({"evaluation.attacker_pairs": kind, **scratch})
        plan = plan_of(read_protocol(str(config)), whole, asked)
        entrants = [e for e in plan.entrants if e.spec.startswith("dp-pix")]
        one = Plan(entrants, plan.options, ("verification",), reference=plan.reference)
        attack = evaluate(one, tmp_path, compute=Compute()).results.methods[0].privacy
        runs.append(attack["verification"].auc.runs)
    assert len(set(runs)) == 3
    assert len(set(runs[0])) == 2, "two repeats of one seed"


@pytest.mark.usefixtures("undrawn")
def test_given_parts_are_used_instead_of_trained(config, whole, tmp_path):
    (reference,) = (whole / "runs").glob("reference-*")
    parts = {"classifier": str(reference), "verifier": str(reference / "verifier.safetensors")}
    options = [word for kind, spec in parts.items() for word in (f"--{kind}", spec)]
    output = call(
        *("--config", config.parent / "tiny.yaml", "--out", tmp_path, *options),
        *("--repeats", 1, "--method", "dp-pix:b=8,seed=0", "--attackers", "verification:ignorant"),
    )
    assert "classifier of real images: given" in output
    assert "verifier of real images: given" in output
    (own,) = tmp_path.glob("reference-*")
    assert {path.name for path in own.iterdir()} == {
        *("classifier.safetensors", "verifier.safetensors")
    }
    trained, given = (
        plan_of(read_protocol(str(config)), whole, Choices(parts=chosen)) for chosen in ({}, parts)
    )
    assert given.reference != trained.reference
    assert not {e.spec for e in given.entrants if e.training} & {e.spec for e in trained.entrants}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--part", "all"], "trains, so --part all"),
        (["--set", "generator.mu=0.5"], "generator.mu is swept"),
        (["--verifier", "nowhere"], "nowhere"),
        (["--set", "evaluation.attacker_pairs=all"], "option evaluation.attacker_pairs"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(config, whole, arguments, message):
    assert message in call("--config", config, "--out", whole, *arguments, code=2)


def test_it_is_one_process(config, monkeypatch, tmp_path):
    monkeypatch.setenv("WORLD_SIZE", "2")
    output = call("--config", config, "--out", tmp_path, code=2)
    assert "attacks evaluate is one process" in output
