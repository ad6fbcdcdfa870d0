"""What attackers of each knowledge are given, and what combines them; small, and stopped once."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from changing import altered
from released_data import attacked, release

from anonymize.errors import UsageError
from attacks.attacker import Attacker
from attacks.evaluation.measured import Measurer
from attacks.evaluation.plan import Plan
from attacks.knowledge.levels import Level
from attacks.measuring.matching import split_matched
from attacks.measuring.statistics import estimate_identification
from attacks.registry import choose
from attacks.results import Method

WARP = "random-warp:mu=0.3,size=16,kernel=15,sigma=3,seed=1"


class Spy(Attacker):
    """Keeps what it was given."""

    name, knowledge = "training-free", "ignorant"
    seen = None

    def score(self, probes, gallery):
        Spy.seen = probes, gallery
        return np.random.default_rng(0).random((len(probes), len(gallery)))


@pytest.mark.parametrize(
    ("key", "changes", "compares"),
    [
        ("training-free", {}, "released-real"),
        ("training-free:lazy", {}, "released-released"),
        ("training-free", {"scenario": "released-released"}, "released-released"),
        ("training-free", {"scenario": "before-after"}, "before-after"),
        ("unmixing", {"scenario": "released-released"}, "released-real"),
        ("unmixing", {"scenario": "before-after"}, "before-after"),
    ],
)
def test_who_meets_which_gallery(options, data, tmp_path, monkeypatch, key, changes, compares):
    level = choose(key).level
    spied = Level(lambda setting: Spy(), level.scenario, compares=level.compares)
    monkeypatch.setattr(type(choose(key)), "level", property(lambda self: spied))
    made = release(data, WARP)
    found, _ = attacked(altered(options, evaluation=changes), made, [key], tmp_path)
    probes, gallery = Spy.seen
    part = "test" if compares == "before-after" else None
    rows = data.table.part(part or "validation")  # scored last, where it is scored
    assert torch.equal(probes, made.plain.released(part or "validation").images)
    real = torch.from_numpy(data.images.array(rows)).unsqueeze(1)
    assert torch.equal(gallery, real) == (compares != "released-released")
    assert found[key].compares == compares


def test_a_white_box_adversary_undoes_a_release_or_averages(data):
    blurred = release(data, "gaussian-blur:sigma=0.02")
    undone = blurred.seen_with("white-box")
    real, plain = blurred.plain.real("test").images, blurred.plain.released("test").images

    def error(images):
        return float(
            (images * (1 if images.is_floating_point() else 1 / 255) - real / 255).abs().mean()
        )

    assert error(undone.released("test").images) < 0.8 * error(plain)
    assert undone.real is blurred.plain.real
    assert blurred.seen_with("informed") is blurred.plain
    warped = release(data, WARP)
    averaged = warped.seen_with("white-box")
    assert torch.equal(averaged.released("test").images, warped.plain.released("test").images)
    assert not torch.equal(averaged.real("test").images * 255, real.float())


ATTACKERS = ("histogram-metric", "training-free", "pixels:lazy", "ensemble", "sets:lazy")


def test_combined_attackers_are_found_again_and_made_again(options, data, tmp_path):
    made = release(data, WARP)
    first, runs = attacked(options, made, ATTACKERS, tmp_path)
    assert tuple(first) == ATTACKERS
    again, same = attacked(options, made, ATTACKERS, tmp_path)
    assert again == first
    assert runs.keys() == same.keys() == first.keys()
    for key, measured in runs.items():
        assert [run["auc"].value for run in measured] == list(first[key].auc.runs)
        for one, other in zip(measured, same[key], strict=True):
            assert np.array_equal(one["auc"].draws, other["auc"].draws)
    for path in tmp_path.glob("*/ensemble*.json"):
        path.unlink()
    assert attacked(options, made, ATTACKERS, tmp_path)[0] == first
    assert (
        first["ensemble"].auc_validation
        >= max(first[key].auc_validation for key in ("histogram-metric", "training-free")) - 0.02
    )
    assert len(first["ensemble"].auc.runs) == len(first["histogram-metric"].auc.runs) == 2
    # A lazy adversary has no metric that was learnt from released images
    assert "histogram-metric" not in {
        a.key for a in Plan([], options, ATTACKERS).members_of(choose("sets:lazy"))
    }


def test_where_it_succeeds_is_told_in_both_readings(options, data):
    made = release(data, WARP)

    def owners(scenario, part):
        """Of two kinds of images."""
        for own in made.owners(scenario, part):
            known = replace(own.covariates, findings=own.image % 2, age=np.zeros(len(own)))
            yield replace(own, covariates=known)

    scores = np.random.default_rng(0).random([len(own) for own in owners("released-real", "test")])
    found = Measurer(options, data, "test").figures(
        {"test": scores}, "released-real", SimpleNamespace(owners=owners, everybody=made.everybody)
    )
    pairs = {
        prefix: sum(v.value for k, v in found.items() if k.startswith(f"{prefix}pairs|images|"))
        for prefix in ("", "matched|")
    }
    assert 0 < pairs["matched|"] == found["matched|genuine_pairs"].value < pairs[""]
    rate = split_matched(estimate_identification([found]), 0.01)[1].breakdown.rate
    assert rate.mean == found["matched|true_match_rate"].value


def test_outputs_that_no_pair_can_be_made_of_leave_one_figure_out(options, data):
    """Eleven patients and mosaics of nine: whoever is in one output is nobody else in another."""
    made = release(data, WARP)
    one = made.owners("released-released", "test")[0][:1]

    def owners(scenario, part):
        return (one, one) if scenario == "released-released" else made.owners(scenario, part)

    scores = np.random.default_rng(0).random([len(own) for own in owners("released-real", "test")])
    found = Measurer(options, data, "test").figures(
        {"test": scores, "auc_within": np.zeros((1, 1))},
        "released-real",
        SimpleNamespace(owners=owners, everybody=made.everybody),
    )
    assert "auc" in found
    assert "auc_within" not in found


@pytest.mark.parametrize(
    ("attackers", "kept"), [(["training-free"], 0), (["training-free", "ensemble"], 1)]
)
def test_large_scores_are_kept_for_who_combines_them_alone(
    options, data, tmp_path, monkeypatch, attackers, kept
):
    made = release(data, WARP)
    monkeypatch.setattr("attacks.evaluation.runner.LARGE", 0)
    attacked(options, made, attackers, tmp_path)
    assert len(list(tmp_path.glob("*/scores-*.npz"))) == kept


def test_the_strongest_is_chosen_on_the_validation_part(options, data, tmp_path):
    found, _ = attacked(options, release(data, WARP), ("training-free", "pixels"), tmp_path)
    judged = {"training-free": 0.9, "pixels": 0.8}
    swapped = {k: altered(a, auc_validation=judged[k]) for k, a in found.items()}
    assert Method(name="m", privacy=swapped).strongest[0] == "training-free"
    better = max(found, key=lambda key: found[key].auc.mean)
    undecided = {k: altered(a, auc_validation=None) for k, a in found.items()}
    assert Method(name="m", privacy=undecided).strongest[0] == better


@pytest.mark.parametrize(
    ("attackers", "changes", "message"),
    [
        (["ensemble"], {}, "combine others"),
        (["ensemble:ignorant", "histogram-metric"], {}, "know as much as it or less"),
        (["sets", "training-free"], {"scenario": "before-after"}, "combine others"),
    ],
)
def test_nothing_to_combine_is_refused(options, attackers, changes, message):
    with pytest.raises(UsageError, match=message):
        Plan([], altered(options, evaluation=changes), attackers)
