"""Releases of sets in an evaluation: who contributed, what was withheld, and all of it measured."""

from copy import copy
from itertools import product

import numpy as np
import pytest
import released_data
import torch
import yaml
from asked import ask
from hypothesis import given, settings
from hypothesis import strategies as st
from identities import assert_of_own_parts
from pictures import unsaved
from released_data import CPU

import anonymize
from anonymize.auc import plain_auc
from anonymize.data.batches import Rows
from anonymize.data.pairs import Pairs
from anonymize.data.table import PARTS
from anonymize.errors import DataError
from anonymize.set_anonymizer import Radiographs
from attacks.attacker import unit_float
from attacks.attackers.combination import Ensemble
from attacks.cli import main
from attacks.evaluation.evaluator import refuse_alone
from attacks.evaluation.measured import Measurer
from attacks.evaluation.set_figures import set_figures
from attacks.knowledge.set_release import Released, contributors_of, released_by, shared_out
from attacks.measuring.metrics import genuine_places, impostor_pairs
from attacks.measuring.statistics import measure_identification
from attacks.results import Results

K = 2
KSAME = f"k-same:k={K},seed=1"
STRANGERS = "utility-code:codes=3,donors=4,seed=1"
MOSAIC = "mosaic:g=2,m=2,uses=8,seed=1"  # more outputs than images


@pytest.fixture(scope="module")
def release(data):
    return released_data.release(data, KSAME)


@pytest.fixture(scope="module")
def released(release):
    return release.released


def test_a_row_is_the_mean_of_those_who_contributed_to_it(data, released):
    for row in np.flatnonzero(released.there):
        rows = released.contributors.image[row]
        rows = rows[rows >= 0]
        assert row in rows
        assert len(np.unique(data.patients[rows])) == len(rows) >= K
        mean = data.images.batch(rows).mean(dim=0) * 255
        assert (released.pixels[row].float() - mean).abs().max() <= 0.5 + 1e-3


def test_nobody_contributes_to_another_part(data, released):
    assert_of_own_parts(released, data.table)


def test_what_was_withheld_is_neither_probe_nor_known(data, released, release):
    assert not released.there.all()
    for part in PARTS:
        rows = data.table.part(part)
        probes, gallery = release.plain.compared("released-real", part)
        assert np.array_equal(probes.owners.image, rows[released.there[rows]])
        assert np.array_equal(gallery.owners.image, probes.owners.image)
        figures = set_figures(released, rows, part)
        assert figures.withheld == len(rows) - len(probes)
        assert figures.outputs == len(torch.unique(probes.images.flatten(1), dim=0))


@pytest.mark.parametrize("uses", [2, 8])
def test_attackers_and_classifiers_see_every_output_of_every_part(data, uses):
    """Of a mosaic with two uses there are nearly as many outputs as images, with eight more."""
    model = anonymize.load(f"mosaic:g=2,m=2,uses={uses},warp=0.1,seed=1")
    made = released_data.release(data, model)
    found, made = made.released, made.plain
    assert (len(found) > len(data.table)) == (uses == 8)
    for part in PARTS:
        every = data.table.part(part)
        rows, given = found.of(every), Rows(data.images, every)
        release = model.released(Radiographs(given, data.patients[every], data.targets[every]))
        assert len(release) == found.parts[part].outputs
        stand = np.bincount(found.image[rows], minlength=len(found.there))[
            every[found.there[every]]
        ]
        assert stand.max() - stand.min() <= 2  # nobody stands for many more than others do
        levels = (release.images.batch(np.arange(len(release))) * 255).round().byte()
        kept = {image.numpy().tobytes() for image in levels}
        assert {image.numpy().tobytes() for image in found.pixels[rows]} == kept
        assert set_figures(found, every, part).shown == len(release)

        learnt, real = made.released(part), made.real(part)
        assert len(learnt) == len(real) == len(rows)
        assert np.array_equal(learnt.owners.image, real.owners.image)
        assert torch.equal(unit_float(real.images), data.images.batch(real.owners.image))
        assert (learnt.owners.contributors.image == learnt.owners.image[:, None]).any(axis=1).all()
        probes, gallery = made.compared("released-real", part)
        assert len(probes) == len(rows)
        assert np.array_equal(gallery.owners.image, every[found.there[every]])


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_outputs_are_shared_out_as_evenly_as_they_can_be(seed):
    rng = np.random.default_rng(seed)
    holds = rng.random(rng.integers(1, 5, 2)) < 0.4
    holds[np.arange(len(holds)), rng.integers(holds.shape[1], size=len(holds))] = True
    shared, left = shared_out([np.flatnonzero(row) for row in holds])
    assert {*left} == {*range(len(holds))} - {*shared.values()}
    assert sorted(shared) == np.flatnonzero(holds.any(axis=0)).tolist()
    assert all(
        holds[output, image]
        for image, output in [*shared.items(), *((i, o) for o, i in left.items())]
    )
    own = [np.flatnonzero(column).tolist() or [-1] for column in holds.T]
    most = max(len({*choice} - {-1}) for choice in product(*own))  # a second derivation: try all
    assert len(set(shared.values())) == most


def test_too_few_patients_for_an_output_are_no_evaluation(data):
    model = anonymize.load("k-same:k=30,seed=1")
    with pytest.raises(DataError, match=r"nothing of the .* part.* every output needs 30"):
        released_by(model, data, device=CPU, bits=8)


def test_a_release_in_which_nobody_has_another_image_is_refused_by_name(data, released, release):
    refuse_alone(release, PARTS, "released-real", "k-same k=3")
    rows = data.table.part("validation")
    of_one = released.contributors.image[released.of(rows)[0]]  # what went in is nobody's other
    alone = copy(released)
    alone.there = released.there & ~np.isin(np.arange(len(released)), np.setdiff1d(rows, of_one))
    few = released_data.release(data, release.model, alone)
    refuse_alone(few, ["test"], "released-real", "k-same k=3")
    with pytest.raises(DataError, match=r"^k-same k=3 cannot be measured: of the validation part"):
        refuse_alone(few, ["test", "validation"], "released-real", "k-same k=3")
    one_each = rows[np.unique(data.patients[rows], return_index=True)[1]]
    whole = copy(released)
    whole.there = np.isin(np.arange(len(released)), rows)
    made_of = [one_each if row in rows else one_each[:0] for row in range(len(released))]
    whole.contributors = contributors_of(made_of, data)
    everybody = released_data.release(data, release.model, whole)
    with pytest.raises(DataError, match=r"nothing that is not of everybody"):
        refuse_alone(everybody, ["validation"], "released-real", "k-same k=3")


def test_labels_of_a_method_stand_beside_each_image(data, quick_readers):
    model = anonymize.load("k-same:k=2,read=1,seed=1")
    found = released_by(model, data, device=CPU, bits=8)
    assert found.labels.shape == data.targets.shape
    assert np.isnan(found.labels[~found.there]).all()
    rows = data.table.part("train")
    made = model.released(
        Radiographs(Rows(data.images, rows), data.patients[rows], data.targets[rows])
    )
    outputs = zip(made.contributors, made.labels, strict=True)
    said = {tuple(rows[own].tolist()): label for own, label in outputs}
    for row in found.of(rows):
        image = found.contributors.image[row]
        label = said[tuple(image[image >= 0].tolist())]
        assert np.array_equal(found.labels[row], label, equal_nan=True)


@pytest.mark.parametrize("spec", [KSAME, MOSAIC, "gaussian-blur", "k-same:k=2,read=1,seed=1"])
def test_other_processes_read_what_one_made(data, spec, tmp_path, quick_readers):
    made = released_by(anonymize.load(spec), data, device=CPU, bits=8)
    made.seconds = 0.25
    made.write(tmp_path / "made.npz")
    found = Released.read(tmp_path / "made.npz")
    assert torch.equal(found.pixels, made.pixels)
    assert (found.seconds, found.parts) == (0.25, made.parts)
    assert np.array_equal(found.there, made.there)
    assert np.array_equal(found.image, made.image)
    for one, other in ((found.labels, made.labels), (found.contributors, made.contributors)):
        assert (one is None) == (other is None)
    if made.labels is not None:
        assert np.array_equal(found.labels, made.labels, equal_nan=True)
    if made.contributors is not None:
        for one, other in zip(*(vars(r.contributors).values() for r in (found, made)), strict=True):
            assert np.array_equal(one, other)


def test_whom_the_white_box_knows_he_cannot_undo(release):
    assert release.seen_with("white-box") is release.plain


def test_strangers_are_of_the_training_part_and_withheld_there(data):
    model = anonymize.load(STRANGERS)
    found = released_by(model, data, device=CPU, bits=8)
    pool = np.flatnonzero(data.table.frame["image_id"].isin(model.pool))
    train = data.table.part("train")
    assert 0 < len(pool) == len(model.pool) < len(train)
    assert np.array_equal(np.flatnonzero(~found.there), pool)
    assert np.isin(pool, train).all()
    assert not set(data.patients[pool]) & set(data.patients[found.there])
    shown = {image.numpy().tobytes() for image in found.pixels[found.there]}
    levels = (data.images.batch(pool) * 255).round().byte()
    assert shown <= {image.numpy().tobytes() for image in levels}
    rows = data.table.part("test")
    assert set_figures(found, rows, "test").bound == found.parts["test"].bound
    outputs = sum(one.outputs for one in found.parts.values())
    mean = sum(one.bound * one.outputs for one in found.parts.values()) / outputs
    assert set_figures(found, np.arange(len(data.table)), "all").bound == pytest.approx(mean)


def test_who_has_the_pool_sees_the_image_of_its_own(data):
    """Beside the real images that a plain view has; of nobody who was withheld."""
    release = released_data.release(data, f"{STRANGERS},own=0.25")
    plain, view = release.plain, release.seen_with("white-box")
    assert view is not plain
    for part in PARTS:
        real, shown = view.real(part), view.released(part)
        assert np.array_equal(shown.owners.image, plain.released(part).owners.image)
        assert np.array_equal(real.owners.image, shown.owners.image)
        original = data.images.batch(shown.owners.image)
        assert (shown.images - original).abs().max() < 0.6 / 255 / 0.25
        assert (plain.released(part).images.float() / 255 - original).abs().max() > 0.1
    release = released_data.release(data, STRANGERS)
    assert release.seen_with("white-box") is release.plain


def test_before_and_after_every_contributor_is_found(release):
    """Who finds the images that an output is made of is always right; they are no pairs where a
    patient's other images are asked for."""
    owners = release.owners("before-after", "test")
    made_of = release.plain.released("test").owners.contributors.image
    number = release.plain.real("test").owners.image
    scores = (made_of[:, :, None] == number).any(axis=1).astype(float)
    assert measure_identification(scores, *owners)["auc"].value == 1
    others = measure_identification(scores, *release.owners("released-real", "test"))
    assert others["auc"].value == 0.5


def test_every_patient_is_asked_for_by_an_output_that_stands_for_her(data, release, options):
    """Also where it is kept, as one trial, for somebody else; and so are the listed pairs, but for
    those of two patients who are in one output."""
    probes, gallery = release.owners("released-real", "test")
    scores = np.random.default_rng(0).random((len(probes), len(gallery)))
    _, output = np.unique(probes.contributors.image, axis=0, return_inverse=True)
    scores, measurer = scores[output], Measurer(options, data, "test")
    first, second = np.indices(scores.shape).reshape(2, -1)
    same = probes.patient[first] == gallery.patient[second]
    known = np.flatnonzero(probes.image[first] != gallery.image[second])
    measurer._pairs = Pairs(probes.image[first[known]], gallery.image[second[known]], same[known])
    found = measurer.figures({"test": scores}, "released-real", release)
    row, column = genuine_places(probes, gallery)
    own = probes.patient[row] == gallery.patient[column]
    assert found["world|all|patients"].value == len(np.unique(probes.patient[row[own]]))
    assert found["world|all|probes"].value == len(np.unique(row[own]))
    asked = [m.value for name, m in found.items() if name.startswith("pairs|images|")]
    assert sum(asked) == own.sum()
    told = same | impostor_pairs(probes, gallery).ravel()
    listed = known[told[known]]
    assert len(listed) < len(known)
    assert found["auc_listed"].value == plain_auc(scores.ravel()[listed], same[listed])


@pytest.fixture(scope="module")
def evaluated(smaller, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    more = smaller["data"] | {"patients": 60, "images": 180}
    (folder / "tiny.yaml").write_text(yaml.safe_dump(smaller | {"data": more}))
    given = ("--config", folder / "tiny.yaml", "--out", folder / "out", "--device", "cpu")
    methods = ("--method", KSAME, "--method", MOSAIC, "--method", STRANGERS)
    attackers = (
        "--attackers",
        "verification,histogram-metric,training-free,codes,ensemble,ensemble:white-box,sets",
    )
    with unsaved():
        ask(main, "evaluate", *given, *methods, *attackers)
    return folder / "out"


@pytest.mark.whole
def test_an_evaluation_measures_it_whole(evaluated):
    results = Results.read(evaluated / "results.json")
    real, mean, mosaic, _ = results.methods
    assert real.sets is None
    assert real.privacy["histogram-metric"].precision_at_1_own is None
    assert 0 < mean.sets.outputs < mean.sets.images - mean.sets.withheld
    assert mosaic.sets.outputs > mosaic.sets.images
    for method, people in ((mean, K), (mosaic, 4)):
        assert method.sets.contributors >= people
        assert method.sets.outputs == method.sets.shown
        for name, attack in method.privacy.items():
            assert 0 <= attack.precision_at_1_own <= 1
            assert 0 <= attack.precision_at_1 <= 1
            for coin in (attack.precision_at_1_coin, attack.r_s_coin):
                assert 0 < coin < 1
            groups = [group.coin for group in attack.breakdown.facts["images"]]
            assert all(coin is None for coin in groups) == (name != "sets")
        assert Ensemble.name in method.privacy
        assert method.utility.retrained.auc.mean is not None
        assert method.image.displacement_px is None


@pytest.mark.whole
def test_of_strangers_the_pool_alone_and_the_codes_are_measured(evaluated):
    results = Results.read(evaluated / "results.json")
    *others, strangers = results.methods
    assert [method.utility.pool_only for method in others] == [None] * 3
    assert strangers.utility.pool_only.auc.mean is not None
    assert ["codes" in method.privacy for method in results.methods] == [False] * 3 + [True]
    assert all("ensemble:white-box" in method.privacy for method in results.methods)
    codes = strangers.privacy["codes"]
    assert (codes.knowledge, codes.compares) == ("white-box", "released-real")
    assert strangers.sets.contributors == 1
    assert 0 < strangers.sets.bound < 1
    assert [method.sets.bound for method in others[1:]] == [None] * 2
    assert strangers.image.of_others == 1
    assert strangers.image.donors.ci95[0] > 0.5  # some are shown, as they are
    assert [method.image.donors for method in others] == [None] * 3
    (check,) = (c for c in results.checks if c.name.startswith("the release tells more than"))
    assert check.tested
    table = (evaluated / "table.md").read_text()
    assert "other people's images alone" in table
    assert "other people told by their films" in table
    assert "utility-code: images of other people go into the release" in table
    assert f"named rightly at most {strangers.sets.bound:.1%}" in table
    assert "codes" in (evaluated / "attackers.md").read_text()


@pytest.mark.whole
def test_what_a_set_is_made_of_is_said(evaluated):
    table = (evaluated / "table.md").read_text()
    assert "outputs" in table
    guesses = (evaluated / "attackers.md").read_text()
    assert "this very one" in guesses
    assert "any contributor, a coin" in guesses
