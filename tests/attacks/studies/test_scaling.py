"""The scaling curve: which pairs a size means, warm starts, and the command as a user runs it."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from asked import ask
from changing import altered
from identities import saved_verifier, trained_by
from overlapping import read_table
from PIL import Image
from sklearn.metrics import roc_auc_score

from anonymize.configuration import load_options
from anonymize.data.dataset import Dataset
from anonymize.data.pairs import Pairs, genuine
from anonymize.errors import UsageError
from attacks.cli import main
from attacks.commands.scaling import _tell
from attacks.measuring.estimates import Estimate
from attacks.reporting.pictures.scaling_curve import draw_scaling, write_scaling
from attacks.studies.listed_pairs import ListedPairs
from attacks.studies.scaling import ScalingPlan
from attacks.studies.scaling_results import Point, Scaling
from attacks.studies.training_sets import repeated, training_pairs


@pytest.fixture(scope="module")
def small(tiny):
    """Settings of the command, and the data they name."""
    changes = {f"verifier.{k}": v for k, v in tiny["verifier"].items() if k != "objective"}
    changes |= {f"data.{k}": v for k, v in tiny["data"].items() if k != "pairs"}
    changes |= {"data.size": 32, "verifier.epochs": 1, "evaluation.resamplings": 30, "threads": 1}
    return changes


@pytest.fixture(scope="module")
def table(small):
    return Dataset.open(load_options("quick", small).data).table


def drawn(table, pairs, negatives, seed=5):
    rows = table.part("train")
    return training_pairs(table, rows, pairs=pairs, negatives=negatives, seed=seed)


def named(pairs, same):
    chosen = pairs.same == same
    return set(zip(pairs.first[chosen].tolist(), pairs.second[chosen].tolist(), strict=True))


@pytest.mark.parametrize("negatives", ["fixed", "fresh"])
def test_a_size_is_a_balanced_set_of_training_pairs(table, negatives):
    found = drawn(table, 40, negatives)(1)
    patients, train = table.frame["patient_id"].to_numpy(), set(table.part("train"))
    assert len(found) == 40
    assert found.same.sum() == 20
    assert ((patients[found.first] == patients[found.second]) == found.same).all()
    assert set(found.first) | set(found.second) <= train


def test_fts_keeps_its_pairs_and_rnp_only_the_genuine_ones(table):
    fixed = drawn(table, 40, "fixed")
    once, again = (fixed(seed) for seed in (1, 2))
    assert [named(once, same) for same in (True, False)] == [
        named(again, same) for same in (True, False)
    ]
    fresh, other, same_seed = (drawn(table, 40, "fresh")(seed) for seed in (1, 2, 1))
    assert named(fresh, True) == named(other, True) == named(once, True)
    assert named(fresh, False) != named(other, False)
    assert named(fresh, False) == named(same_seed, False)


def test_small_sets_lie_within_large_ones(table):
    sizes = [named(drawn(table, n, "fixed")(0), True) for n in (10, 20, 60)]
    assert sizes[0] < sizes[1] < sizes[2]
    assert named(drawn(table, 10, "fixed", seed=6)(0), True) != sizes[0]


def test_more_pairs_than_there_are_is_an_error(table):
    available = 2 * len(genuine(table, table.part("train")))
    assert len(drawn(table, available, "fixed")(0)) == available
    with pytest.raises(UsageError, match=f"--pairs {available + 2} are more .* make {available}"):
        drawn(table, available + 2, "fixed")


def test_an_epoch_of_a_given_length_shows_every_pair_about_equally_often():
    pairs = Pairs(np.arange(10), np.arange(10) + 10, np.arange(10) < 5)
    counts = np.bincount(repeated(pairs, 25, seed=3).first)
    assert counts.sum() == 25
    assert set(counts) == {2, 3}
    few = repeated(pairs, 4, seed=3)
    assert len(set(few.first)) == 4
    assert (few.second - few.first == 10).all()
    assert (few.same == (few.first < 5)).all()
    assert (repeated(pairs, 25, seed=4).first != repeated(pairs, 25, seed=3).first).any()


def call(small, *arguments, code=0):
    settings = [part for k, v in small.items() for part in ("--set", f"{k}={v}")]
    return ask(main, "scaling", "--device", "cpu", *settings, *arguments, code=code).output


@pytest.fixture(scope="module")
def curve(small, tmp_path_factory):
    out = tmp_path_factory.mktemp("scaling")
    output = call(small, "--pairs", "10,20", "--repeats", 2, "--out", out)
    return out, output


def test_the_command_writes_the_curve(curve):
    out, output = curve
    found = Scaling.model_validate_json((out / "scaling.json").read_bytes())
    assert json.loads((out / "scaling.json").read_text())["schema"] == 1
    assert [(p.negatives, p.pairs) for p in found.points] == [
        *(("fixed", 10), ("fixed", 20), ("fresh", 10), ("fresh", 20))
    ]
    for point in found.points:
        assert len(point.auc.runs) == len(point.epochs) == 2
        assert point.auc.ci95[0] <= point.auc.mean <= point.auc.ci95[1]
        assert set(point.epochs) == {1}
    assert found.floor.mean > 0.7
    rows = read_table(out / "scaling.csv")
    assert [float(row["auc"]) for row in rows] == pytest.approx(
        [auc for point in found.points for auc in point.auc.runs], abs=1e-6
    )
    with Image.open(out / "scaling.png") as picture:
        assert min(picture.size) > 300
    assert "RNP        20 pairs: AUC" in output
    assert output.count(", listed pairs\n") >= len(found.points) + 1
    known = "findings, sex, age, view"
    assert f"matched impostors: not measured: none is alike in {known}\n" in output
    assert found.undertrained == ("do not trust: every verifier stays below" in output)


def test_the_same_command_again_trains_nothing(small, curve, monkeypatch):
    out, _ = curve
    before = (out / "scaling.csv").read_bytes()
    monkeypatch.setattr("attacks.studies.scaling.fit", None)  # who calls it fails
    call(small, "--pairs", "10,20", "--repeats", 2, "--out", out)
    assert (out / "scaling.csv").read_bytes() == before


@pytest.fixture(scope="module")
def alike(small):
    """Listed pairs of images of which nothing but findings is known, some with the same ones."""
    data = Dataset.open(load_options("quick", small).data)
    frame = data.table.frame.assign(sex="", view="", age=np.nan)
    frame[list(data.table.labels)] = 0.0
    frame[data.table.labels[0]] = np.arange(len(frame)) % 2.0
    told = replace(data, table=data.table.with_frame(frame))
    return ListedPairs(told, load_options("quick", small))


def test_the_matched_reading_is_of_listed_pairs_of_the_same_findings(alike):
    pairs, label = alike.pairs, alike.data.table.labels[0]
    finding = alike.data.table.frame[label].to_numpy()
    same = finding[pairs.first] == finding[pairs.second]
    scores = np.random.default_rng(0).random(len(pairs))
    found = alike.figures(scores)
    assert found["auc"].value == pytest.approx(roc_auc_score(pairs.same, scores))
    assert found["matched"].value == pytest.approx(roc_auc_score(pairs.same[same], scores[same]))
    assert alike.matched == ((pairs.same & same).sum(), (~pairs.same & same).sum())


def test_a_verifier_that_is_given_is_where_training_begins(small, tmp_path, monkeypatch):
    """Without a step of training the test pairs get the given verifier's own AUC."""
    options = load_options("quick", small | {"verifier.objective": "pairs"})
    path = tmp_path / "given.safetensors"
    network = saved_verifier(path, options.verifier, seed=8)
    monkeypatch.setattr("attacks.studies.scaling.fit", lambda stage, **rest: rest["report"]([{}]))
    out = tmp_path / "out"
    arguments = ("--pairs", 20, "--negatives", "fixed", "--repeats", 1, "--out", out)
    output = call(small, *arguments, "--verifier", path)
    assert f"not known whom --verifier {path} learnt from" in output
    found = Scaling.model_validate_json((out / "scaling.json").read_bytes())
    data = Dataset.open(options.data)
    pairs = data.fixed_pairs("test")
    with torch.no_grad():
        scores = network(*(data.images.batch(rows) for rows in (pairs.first, pairs.second)))
    assert found.start == "given"
    assert found.points[0].auc.mean == pytest.approx(roc_auc_score(pairs.same, scores), abs=1e-3)
    saved_verifier(path, options.verifier, seed=9)
    said = call(small, *arguments, "--verifier", path, code=2)
    assert "holds results of something else (the verifier); choose another --out" in said


def test_a_verifier_that_learnt_from_the_test_part_is_refused(small, tmp_path):
    options, path = load_options("quick", small), tmp_path / "given.safetensors"
    saved_verifier(path, learnt=trained_by(options.data, seed=1))
    arguments = ("--pairs", 20, "--out", tmp_path / "out", "--verifier", path)
    assert f"--verifier {path} learnt from" in call(small, *arguments, code=2)
    assert not (tmp_path / "out").exists()


def test_a_chain_goes_on_from_the_size_before(small, tmp_path, monkeypatch):
    from attacks.studies import scaling

    started, original = [], scaling.load_weights
    monkeypatch.setattr(
        scaling,
        "load_weights",
        lambda network, path: started.append(path.name) or original(network, path),
    )
    options = ("--pairs", "60,20", "--negatives", "fresh", "--repeats", 2, "--out", tmp_path)
    call(small, *options, "--warm-start")
    assert [name[: len("fresh-20-0")] for name in started] == ["fresh-20-0", "fresh-20-1"]
    assert json.loads((tmp_path / "scaling.json").read_text())["chained"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pairs", "many"], "--pairs must be whole numbers"),
        (["--pairs", "5"], "--pairs must be even numbers from 2"),
        (["--pairs", "10,10"], "each once"),
        (["--pairs", "100000"], "are more than the training part has"),
        (["--negatives", "soft"], "--negatives must be fixed"),
        (["--epoch-pairs", "1"], "--epoch-pairs must be at least 2"),
        (["--set", "verifier.objective=batch"], "takes its impostors from the batch"),
        (["--verifier", "nowhere"], "nowhere"),
    ],
)
def test_wrong_input_is_one_line_and_status_2(small, tmp_path, arguments, message):
    assert message in call(small, "--out", tmp_path / "out", *arguments, code=2)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def made_up():
    auc = {"mean": 0.8, "sd": 0.1, "runs": [0.7, 0.9], "ci95": [0.6, 0.95]}
    points = [
        Point(negatives=kind, pairs=n, auc=auc, epochs=[3, 4])
        for kind in ("fixed", "fresh")
        for n in (100, 1000)
    ]
    return Scaling(
        source="phantom", size=64, fingerprint="", seed=0, start="scratch", chained=False,
        epoch_pairs=None, training_patients=9, test_pairs=10, test_patients=4, floor=auc,
        points=points,
    )  # fmt: skip


def test_both_readings_are_printed_and_written(made_up, tmp_path, capsys):
    known = Estimate(mean=0.6, sd=0.05, runs=(0.55, 0.65), ci95=(0.4, 0.8))
    points = tuple(altered(point, matched=known) for point in made_up.points)
    told = {"points": points, "floor_matched": known, "matched_by": ("findings",)}
    found = altered(made_up, **told, matched_pairs=(3, 2))
    names = write_scaling(found, tmp_path)
    _tell(found, tmp_path, names)
    lines = capsys.readouterr().out.splitlines()
    both = "0.600 ± 0.050 (0.400–0.800), matched impostors; 0.800 ± 0.100 (0.600–0.950), listed"
    assert lines[0] == f"FTS       100 pairs: AUC {both} pairs"
    assert lines[4] == f"gradient histograms, no pair: AUC {both} pairs"
    assert lines[5] == (
        "matched impostors: 3 genuine and 2 of the listed pairs (the same findings)"
    )
    rows = read_table(tmp_path / "scaling.csv")
    assert [row["auc, matched"] for row in rows[:2]] == ["0.550000", "0.650000"]
    assert rows[0]["mean, matched"] == "0.600000"


def test_the_picture_is_the_same_for_the_same_figures(made_up, tmp_path):
    found = made_up
    assert not found.undertrained
    assert altered(found, floor={"mean": 0.81}).undertrained
    for name in ("a.png", "b.png"):
        draw_scaling(found, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_keys_train_small_sets_first():
    options = load_options("quick", {"verifier.objective": "pairs", "evaluation.repeats": 2})
    plan = ScalingPlan(options, pairs=(8, 4), negatives=("fresh",))
    assert list(plan.keys) == [
        *(("fresh", 4, 0), ("fresh", 8, 0), ("fresh", 4, 1), ("fresh", 8, 1))
    ]
