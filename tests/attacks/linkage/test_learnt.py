"""What is said of an attacker before its answers are believed."""

import numpy as np
import pytest
from identities import assert_of_own_parts, saved_verifier, trained_by

import anonymize
from anonymize.configuration import load_options, write_options
from anonymize.data.dataset import Dataset
from anonymize.data.released import released_images
from anonymize.display import Silent
from anonymize.errors import UsageError
from anonymize.training.compute import Compute
from attacks.linkage.learnt import Learnt
from attacks.linkage.prepared import Wanted, _released, chosen_attacker, prepare
from attacks.measuring.estimates import Estimate, Matched


def learnt(mean=0.9, interval=(0.8, 0.95), **fields):
    known = {
        "attacker": "training-free",
        "knowledge": "lazy",
        "scenario": "as it comes",
        "source": "chestxray14",
        "size": 64,
        "patients": {"validation": 30, "test": 40},
        "slope": 2.0,
        "offset": -1.0,
        "genuine": 60,
        "impostors": 1740,
        "bits": 0.4,
        "figures": {"auc": Estimate(mean=mean, sd=0, runs=(mean,), ci95=interval)},
    }
    return Learnt(**(known | fields))


@pytest.mark.parametrize(
    ("fields", "warning"),
    [
        ({}, None),
        ({"mean": 0.55, "interval": (0.48, 0.62)}, "not above chance"),
        ({"bits": 1.3}, "these probabilities mislead"),
        ({"slope": 0.0, "offset": 0.0, "bits": 1.0}, "every probability is the prior"),
    ],
)
def test_who_says_so_and_why_it_may_not_be_believed(fields, warning):
    lines = learnt(**fields).in_words()
    assert "60 genuine and 1,740 impostor pairs of 30 patients" in lines[0]
    assert f"AUC {fields.get('mean', 0.9):.3f}" in lines[1]
    assert len(lines) == (3 if warning else 2)
    assert warning is None or warning in lines[2]


@pytest.mark.parametrize(("interval", "doubted"), [((0.6, 0.8), False), ((0.45, 0.8), True)])
def test_both_readings_of_its_own_figures_are_named(interval, doubted):
    auc = Estimate(mean=0.7, sd=0, runs=(0.7,), ci95=interval)
    matched = Matched(auc=auc, impostor_pairs=9)
    lines = learnt(matched=matched, matched_by=("findings", "age")).in_words()
    like = "the same findings, age ± 2 years, where known"
    assert f"AUC 0.700 ({interval[0]:.3f}–0.800) against matched impostors ({like}), " in lines[1]
    assert "AUC 0.900 (0.800–0.950) against all impostors" in lines[1]
    assert [line for line in lines if "it may tell findings, age, and nobody" in line] == (
        lines[2:] if doubted else []
    )
    assert len(lines) == 2 + doubted
    unknown = learnt(unmatched="no findings, sex, age or view is known").in_words()[1]
    assert "against matched impostors not measured: no findings" in unknown


def test_who_knows_drawings_alone_is_named_first():
    """Probabilities of real children's images were 0.99 and above."""
    assert learnt().first() == []
    [line] = learnt(source="phantom").first()
    assert line.startswith("beware: learnt on drawn radiographs")
    assert "--source" in line


def test_a_run_whose_verifier_learnt_from_the_test_part_teaches_nobody(tmp_path):
    data = {"size": 32, "patients": 40, "images": 120, "workers": 1}
    options = load_options("quick", {f"data.{key}": value for key, value in data.items()})
    run = tmp_path / "run"
    run.mkdir()
    write_options(options, run / "options.yaml")
    saved_verifier(run / "verifier.safetensors", learnt=trained_by(options.data, seed=1))
    wanted = Wanted(chosen_attacker("verification", released=False), options, runs=[run])
    with pytest.raises(UsageError, match=r"^the verifier of --run .*run learnt from \d+ of the"):
        prepare(wanted, tmp_path / "out", compute=Compute(), display=Silent())


@pytest.mark.parametrize("method", ["gaussian-blur:sigma=0.05", "k-same:k=2,seed=1"])
def test_what_was_released_for_another_split_is_not_taken_for_this_ones(method, tmp_path):
    compute, model = Compute(), anonymize.load(method)
    chosen = chosen_attacker("contrastive", released=True)
    for seed in (0, 1):
        changes = {"size": 32, "patients": 40, "images": 120, "workers": 1, "split_seed": seed}
        options = load_options("quick", {f"data.{key}": value for key, value in changes.items()})
        data = Dataset.open(options.data)
        wanted = Wanted(chosen, options, method)
        found, _ = _released(wanted, tmp_path, data, compute, Silent())
        if found.contributors is None:
            same = released_images(model, data.images, device=compute.device)
            assert np.array_equal(found.pixels, same.pixels)
            continue
        assert_of_own_parts(found, data.table)
