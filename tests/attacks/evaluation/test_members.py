"""Who is in a release of sets at all: a figure of the evaluation of the very films, beside others
that stay as they are."""

import numpy as np
import pytest
import released_data
import torch
from changing import altered
from released_data import release

from attacks.knowledge.set_release import Released
from attacks.knowledge.trial import Release
from attacks.reporting.attacker_table import MEMBERS, attacker_table
from attacks.results import Method, Results

ATTACKERS = ("histogram-metric", "training-free", "identical", "metadata")
KSAME, MOSAIC = "k-same:k=2,seed=1", "mosaic:g=2,m=4,seed=1"


def attacked(options, made, folder, scenario="before-after", attackers=ATTACKERS):
    options = altered(options, evaluation={"scenario": scenario})
    return released_data.attacked(options, made, attackers, folder)


def test_every_attacker_of_pixels_says_how_well_it_tells_members(options, data, tmp_path):
    made = release(data, KSAME)
    found, runs = attacked(options, made, tmp_path)
    people = len(made.game("test").member)
    assert 0 < made.game("test").member.sum() < people
    for key, attack in found.items():
        assert (attack.estimate("auc_members") is not None) == (key != "metadata"), key
    assert found["histogram-metric"].auc_members == np.mean(
        [run["auc_members"].value for run in runs["histogram-metric"]]
    )
    assert found["identical"].auc_members == 0.5  # nobody's own film is there
    assert found["training-free"].estimate("auc_members").ci95 is not None
    assert attacked(options, made, tmp_path)[0] == found  # of what was kept


def test_it_is_asked_of_mosaics_too(options, data, tmp_path):
    made = release(data, MOSAIC)
    found, _ = attacked(options, made, tmp_path, attackers=("training-free",))
    assert found["training-free"].auc_members is not None
    one, other = made.game("test"), release(data, MOSAIC).game("test")  # of another process
    assert np.array_equal(one.member, other.member)
    assert torch.equal(one.released.images, other.released.images)


def test_no_other_figure_depends_on_it(options, data, tmp_path, monkeypatch):
    made = release(data, KSAME)
    beside, _ = attacked(options, made, tmp_path / "with")
    monkeypatch.setattr(Release, "game", lambda self, part: None)
    alone, _ = attacked(options, release(data, KSAME), tmp_path / "without")
    for key, attack in beside.items():
        told = attack.model_dump()
        told["auc_members"] = None
        told["estimates"].pop("auc_members", None)
        assert told == alone[key].model_dump()


@pytest.mark.parametrize(
    ("spec", "scenario"),
    [
        (KSAME, "released-real"),
        ("random-warp:mu=0.01,seed=1", "before-after"),
        ("utility-code:codes=3,donors=4,seed=1", "before-after"),
    ],
)
def test_elsewhere_nobody_asks(options, data, tmp_path, spec, scenario):
    names = ("training-free",)
    found, _ = attacked(options, release(data, spec), tmp_path, scenario, names)
    assert found["training-free"].estimate("auc_members") is None


@pytest.mark.parametrize(
    ("scenario", "other", "fits"),
    [("before-after", True, 1), ("released-real", True, 0), ("before-after", False, 0)],
)
def test_what_another_process_released_is_learnt_again_only_to_be_asked(
    options, data, tmp_path, monkeypatch, scenario, other, fits
):
    made, learnt = release(data, KSAME), []
    if other:
        made.released.write(tmp_path / "made.npz")
        made = release(data, KSAME, Released.read(tmp_path / "made.npz"))
    monkeypatch.setattr(type(made.model), "fit", lambda self, known: learnt.append(known))
    attacked(options, made, tmp_path, scenario, ("training-free", "identical"))
    assert len(learnt) == fits


def test_the_table_of_attackers_says_it(options, data, tmp_path):
    found, _ = attacked(options, release(data, KSAME), tmp_path)
    method = Method(name="k-same", options={"k": 2}, privacy=found)
    source = {"name": "phantom", "images": 1, "patients": 1}
    results = Results(source=source, methods=(method,))
    results.write(tmp_path / "results.json")
    assert Results.read(tmp_path / "results.json") == results
    rows = [row for row in attacker_table(results)[1] if row[3] == MEMBERS]
    assert len(rows) == len(ATTACKERS) - 1
    assert rows[0][4].startswith(f"{found['histogram-metric'].auc_members:.3f} (")
