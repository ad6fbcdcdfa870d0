"""Who is found in the files of a release: ties, intervals, outputs of several people."""

from types import SimpleNamespace

import asked
import numpy as np
import pytest
from files_attacked import ask, by_attacker, found_in
from overlapping import read_table
from scipy.stats import binom

from anonymize.cli import main as apply_main
from attacks.linkage import release_attack
from attacks.linkage.matching import Known
from attacks.linkage.release_attack import _hits
from attacks.linkage.release_results import exact_interval
from attacks.measuring.metrics import Owners, pair_auc


def test_equally_near_images_count_in_part_and_all_equal_ones_not_at_all():
    probes = Owners(np.arange(4), np.array([0, 1, 2, 9]), np.ones(4, bool))
    gallery = Owners(np.arange(4, 7), np.array([0, 1, 2]), np.ones(3, bool))
    scores = np.array([[3, 1, 0], [2, 2, 1], [1, 1, 1], [5, 4, 3]], float)
    columns = np.array([[0, 1, 2], [1, 2, 0], [0, 1, 2], [0, 1, 2]])
    near = scores == scores[:, :1]
    found = _hits(near, near.all(axis=1), columns, probes, gallery)
    np.testing.assert_array_equal(found, [1, 0.5, 0, np.nan])


def test_the_interval_is_that_of_the_binomial_law():
    low, high = exact_interval(0.9, 20, 0.95)
    assert binom.sf(17, 20, low) == pytest.approx(0.025)
    assert binom.cdf(18, 20, high) == pytest.approx(0.025)
    assert exact_interval(0, 30, 0.95) == pytest.approx((0, 1 - 0.025 ** (1 / 30)))
    assert exact_interval(1, 30, 0.95) == pytest.approx((0.025 ** (1 / 30), 1))


@pytest.mark.parametrize("most", [0, 1 << 28])
def test_what_nobody_says_of_whom_it_is_counts_in_no_figure_of_however_many_files(
    most, monkeypatch
):
    monkeypatch.setattr(release_attack, "MAX_SCORES", most)
    drawn = np.random.default_rng(0)
    scores = drawn.random((9, 6)).astype(np.float32) + 0.2 * np.eye(9, 6, dtype=np.float32)
    scores[6:] += 5  # more alike than anything else
    probes = Owners(np.arange(9), np.arange(9), np.arange(9) < 6)
    gallery = Owners(np.arange(9, 15), np.arange(6), np.ones(6, bool))
    albums = [SimpleNamespace(images=range(n), key="") for n in (9, 6)]
    foreign = np.arange(9) >= 6
    subject = SimpleNamespace(released=albums[0], real=albums[1], foreign=foreign, matched_by=())
    options = SimpleNamespace(evaluation=SimpleNamespace(resamplings=20), seed=0)
    trial = release_attack._Trial(subject, 0.95, options)
    found = trial._reading(Known(scores), (probes, gallery))
    assert found.auc.mean == pytest.approx(pair_auc(scores[:6], probes[:6], gallery))


@pytest.mark.whole
def test_a_release_of_means_is_attacked_for_everybody_in_it(a_release, tmp_path):
    folder, _ = a_release
    people = ("--patients", folder / "patients.csv")
    released = tmp_path / "means"
    given = ("--model", "k-same:k=3,codes=1", "--canonical", "96,png", "--names", "hashed")
    said = asked.ask(apply_main, "apply", folder / "real", released, *given, *people).stdout
    assert f"attacks release {folder / 'real'} {released} --attackers histogram-metric" in said
    result = ask(a_release, folder / "real", released, *people, "--out", tmp_path / "attack")
    assert "training-free finds somebody of those whom" in result.stdout
    found = found_in(tmp_path / "attack")
    assert found["made_of"] == 3
    assert found["method"].startswith("k-same:")
    assert by_attacker(found)["identical"] == 0
    best = {a["attacker"]: a for a in found["attacks"]}["training-free"]
    assert best["found"]["files"] == found["released"] == 10
    assert best["found"]["patients"] == 5
    assert best["found"]["expected"] == pytest.approx(10 * 6 / 30)
    assert best["found"]["found"] > best["found"]["expected"]
    for row in read_table(tmp_path / "attack" / "found.csv"):
        assert row["original"].count(" | ") == row["patient"].count(" | ") == 2
