"""The attackers' own tests: what passes, and what is caught."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from asked import ask
from identities import owners_of

from anonymize.configuration import train_options
from anonymize.errors import UsageError
from anonymize.options import DataOptions
from anonymize.training.compute import Compute
from attacks.attacker import Attacker
from attacks.attackers.combination import ensemble
from attacks.attackers.training_free import TrainingFree
from attacks.check.cases import CASES, REAL
from attacks.check.cohort import cohort, relabelled
from attacks.check.donors import CASES as DONORS
from attacks.check.donors import of_donors
from attacks.check.maps import AffineMap, Noise, PixelShuffle, SmoothWarp
from attacks.check.run import Examination, names_dealt_out
from attacks.cli import main
from attacks.evaluation.checks import check_record as record
from attacks.evaluation.donors import pool_rows
from attacks.knowledge.levels import Level
from attacks.measuring.metrics import Contributors, pair_auc
from attacks.registry import choose

OF_SETS = {case.name for case in CASES if case.made_for}
DATA = {"size": 48, "patients": 40, "images": 160, "workers": 1}


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    return train_options("prichexy-net")(
        data=DATA | {"cache": str(tmp_path_factory.mktemp("drawn"))}
    )


@pytest.fixture(scope="module")
def data(options):
    return cohort(options.data)


@pytest.fixture(scope="module")
def examination(options, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("examined")
    return Examination(options, data, compute=Compute(), folder=folder)


@pytest.fixture
def outcomes(examination, monkeypatch):
    """The outcomes by case of an attacker of that class, as if it were at the level of ``key``."""

    def of(attacker, key="training-free", cases=CASES, **level):
        chosen = choose(key)
        made = Level(lambda setting: attacker(), chosen.level.scenario, **level)
        monkeypatch.setattr(type(chosen), "level", property(lambda self: made))
        return {outcome.case: outcome for outcome in examination.of(chosen, cases)}

    return of


@pytest.mark.whole
def test_an_honest_attacker_passes_what_concerns_it(outcomes):
    found = outcomes(TrainingFree, "training-free:white-box")
    assert set(found) == {case.name for case in CASES}
    wrong = {n: o.why for n, o in found.items() if o.status != "passed" and n not in OF_SETS}
    assert wrong == {"a useless member": "it combines nobody"}
    assert found["pixel shuffle"].auc == pytest.approx(found["real images"].auc, abs=1e-6)


# Three of real images and of each warp, of noise and under other names one; who learns from real
# images alone needs none for what becomes of them.
@pytest.mark.parametrize(("learns", "times"), [("nothing", 0), ("real", 3 + 1), ("released", 11)])
def test_of_equal_images_an_attacker_learns_once(outcomes, monkeypatch, learns, times):
    taught = []

    class Counting(TrainingFree):
        def fit(self, auxiliary, *, seed):
            taught.append(seed)
            return self

    monkeypatch.setattr("attacks.check.run.MORE", 3)
    cases = [case for case in CASES if not case.made_for]
    found = outcomes(Counting, "histogram-metric", cases, learns=learns)
    assert sum(o.auc is not None for o in found.values()) == 7
    assert len(taught) == times
    assert found["identity"].auc == found["pixel shuffle"].auc == found["real images"].auc


@pytest.mark.parametrize(("lost", "status"), [(3, "passed"), (9, "failed")])
def test_who_does_not_come_back_is_trained_more_often(
    examination, outcomes, monkeypatch, lost, status
):
    """Luck of three trainings is no fault: nine on both sides decide."""
    examination._learnt.cache_clear()
    taught = {True: [], False: []}  # on warped images and on real ones

    class Unlucky(TrainingFree):
        def fit(self, auxiliary, *, seed):
            warped = not torch.equal(auxiliary.released.images, auxiliary.real.images)
            taught[warped].append(seed)
            self.blind = warped and len(taught[warped]) <= lost
            return self

        def score(self, probes, gallery):
            found = super().score(probes, gallery)
            return np.random.default_rng(0).permuted(found, axis=1) if self.blind else found

    monkeypatch.setattr("attacks.check.run.NEAR", 0.16)  # three blind ones of nine lose 0.13
    cases = [case for case in CASES if case.name in ("real images", "smooth warp")]
    found = outcomes(Unlucky, "histogram-metric", cases, learns="released")
    assert found["smooth warp"].status == status, found
    assert {len({*seeds}) for seeds in taught.values()} == {9}


@pytest.mark.parametrize("key", ["ensemble:ignorant", "sets:ignorant"])
def test_who_combines_others_is_tested_on_a_known_few(examination, key):
    found = {outcome.case: outcome for outcome in examination.of(choose(key))}
    assert {name: o.why for name, o in found.items() if o.status == "failed"} == {}
    warps = {"affine map", "smooth warp"}
    assert {n for n, o in found.items() if o.status != "passed"} == warps | OF_SETS
    assert found["a useless member"].auc >= found["identity"].auc - 0.02
    alone = {outcome.case: outcome for outcome in examination.of(choose("pixels"))}
    assert alone["a useless member"].status == "not applicable"
    assert found["real images"].auc > alone["real images"].auc - 0.02


def test_an_ensemble_that_keeps_who_is_useless_is_caught(examination, monkeypatch):
    """Every attacker a member: half of the sum is the coin's."""

    def everybody(own, owners, combine):
        return {
            p: combine(
                ensemble({n: s[p] for n, s in own.items()}, dict.fromkeys(own, 1)),
                owners[p],
                owners[p],
            )
            for p in owners
        }

    monkeypatch.setattr("attacks.check.run.together", everybody)
    found = {outcome.case: outcome for outcome in examination.of(choose("ensemble:ignorant"))}
    assert found["a useless member"].status == "failed"
    assert "below its" in found["a useless member"].why


@pytest.mark.parametrize("key", ["ensemble:ignorant", "sets:ignorant"])
def test_a_member_that_leaks_is_caught_in_who_combines_it(examination, monkeypatch, key):
    def leaks(member, case):
        found = {}
        for part in ("validation", "test"):
            who = examination._compared(choose(member), case, part)[0].owners
            noise = np.random.default_rng(0).normal(size=(len(who), len(who)))
            found[part] = (noise + (who.patient[:, None] == who.patient)).astype(np.float32)
        return found

    monkeypatch.setattr(examination, "_member", leaks)
    found = {outcome.case: outcome for outcome in examination.of(choose(key))}
    assert {found[c].status for c in ("noise", "patients permuted")} == {"failed"}


def test_chance_of_sets_is_where_names_dealt_out_put_it():
    """Products of few features, summed over a set: one half of them lies below the other mean."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(96, 1)).astype(np.float32)
    x /= np.abs(x)
    who = owners_of(np.repeat(np.arange(24), 4))
    alone, sets = (
        names_dealt_out(x @ x.T, choose(key).level, who, who, seed=0)
        for key in ("ensemble", "sets")
    )
    assert abs(alone.mean() - 0.5) < 0.02
    assert sets.mean() < 0.45


def test_names_of_who_went_into_an_output_are_dealt_out_too():
    """Where they stayed, every deal gave the AUC of the true names: a spread of next to nothing."""
    image = np.arange(40)
    made_of = np.stack([image, (image + 7) % 40], axis=1)
    patient = image // 2
    both = Contributors(made_of, patient[made_of], np.full_like(made_of, -1))
    gallery = owners_of(patient)
    outputs = replace(gallery, contributors=both)
    real = np.eye(20)[patient] @ np.eye(20)[patient].T
    scores = real[made_of[:, 0]] + real[made_of[:, 1]]  # of each contributor alike
    assert pair_auc(scores, outputs, gallery) == 1
    dealt = names_dealt_out(scores, choose("ensemble").level, outputs, gallery, seed=0)
    assert abs(dealt.mean() - 0.5) < 0.02
    assert dealt.std() > 0.01


@pytest.mark.whole
def test_a_release_of_sets_is_for_those_who_are_made_for_it(examination):
    cases = [case for case in CASES if case.made_for]
    found = {o.case: o for o in examination.of(choose("unmixing"), cases)}
    films = {"means, very films", "noise, very films"}
    measured = {n for n, o in found.items() if o.auc is not None}
    assert measured == {"means", "means, permuted"} | films
    assert found["means, permuted"].status == found["noise, very films"].status == "passed"
    assert found["means, very films"].auc > found["means"].auc > found["means, permuted"].auc


def test_whose_films_are_shown_in_the_place_of_others_is_told(examination):
    found = {o.case: o for o in of_donors(examination)}
    assert {o.status for o in found.values()} == {"passed"}
    assert found["strangers"].auc > 0.8


@pytest.mark.parametrize(
    ("knows", "wrong"),
    [(False, {"strangers"}), (True, {"strangers, noise"})],
    ids=["nothing", "the pool"],
)
def test_what_tells_donors_wrongly_is_caught(examination, monkeypatch, knows, wrong):
    method = examination.released(DONORS[0])[1]
    shown = np.isin(examination.data.table.part("train"), pool_rows(method, examination.data.table))
    scores = shown.astype(float) if knows else np.zeros(len(shown))
    monkeypatch.setattr("attacks.evaluation.donors._nearest", lambda *_: [scores])
    assert {o.case for o in of_donors(examination) if o.status == "failed"} == wrong


def test_other_images_have_other_checkpoints():
    """Who learns from names dealt out anew must not find what was learnt from the true ones."""
    every = [case.images for case in (*CASES, replace(REAL, relabelled=True))]
    pairs = [(one, other) for one, other in combinations(every, 2) if one != other]
    assert len(pairs) < len([*combinations(every, 2)])
    assert all(one.name != other.name for one, other in pairs)


@pytest.mark.parametrize(
    ("key", "finds", "finds_not"),
    [
        ("bit-planes", {"marks"}, {"noise", "patients permuted"}),
        ("format", {"files"}, {"files, alike"}),
    ],
)
def test_what_real_images_do_not_have_is_put_there(examination, key, finds, finds_not):
    found = {o.case: o for o in examination.of(choose(key)) if o.auc is not None}
    assert found.keys() == finds | finds_not
    assert {o.status for o in found.values()} == {"passed"}
    assert min(found[case].auc for case in finds) > 0.95
    assert max(found[case].auc for case in finds_not) < 0.6


class Cheat(Attacker):
    """Knows the patients by the order in which they come."""

    name, knowledge = "cheat", "ignorant"

    def link(self, probes, gallery):
        return (probes.owners.patient[:, None] == gallery.owners.patient).astype(np.float32)

    def score(self, probes, gallery):
        raise AssertionError("it looks at no image")


class Blind(Attacker):
    name, knowledge = "blind", "ignorant"

    def score(self, probes, gallery):
        return np.random.default_rng(0).random((len(probes), len(gallery))).astype(np.float32)


class Broken(Attacker):
    name, knowledge = "broken", "ignorant"

    def score(self, probes, gallery):
        return np.full((len(probes), len(gallery)), np.nan, np.float32)


def test_a_leak_is_caught(outcomes):
    found = outcomes(Cheat)
    assert {found[c].status for c in ("noise", "patients permuted")} == {"failed"}
    assert "pure noise" in found["noise"].why


def test_an_attacker_that_sees_nothing_is_caught(outcomes):
    found = outcomes(Blind)
    excused = {name for name, o in found.items() if o.status == "not applicable"}
    # It does not adapt.
    assert excused == {"affine map", "smooth warp", "a useless member"} | OF_SETS
    assert found["real images"].status == "failed"
    assert found["noise"].status == "passed"


def test_an_error_is_an_outcome(outcomes):
    found = outcomes(Broken)
    assert {o.status for o in found.values()} == {"failed", "not applicable"}
    assert "gave NaN" in found["real images"].why


def test_the_cohort_and_its_other_names(data, options):
    counts = data.table.frame["patient_id"].value_counts()
    assert set(counts) == {4}
    other = relabelled(data, seed=0)
    for part in ("train", "validation", "test"):
        rows = data.table.part(part)
        a, b = (t.frame.loc[rows, "patient_id"] for t in (data.table, other.table))
        assert sorted(a) == sorted(b)
        assert list(a) != list(b)
    with pytest.raises(UsageError, match="needs 20 patients or more"):
        cohort(DataOptions(**DATA | {"images": 161}))


@pytest.mark.parametrize(
    "method",
    [AffineMap(degrees=10, scale=0.95), SmoothWarp(reach=0.2, seed=1), PixelShuffle(key=1)],
)
def test_what_is_done_is_the_same_for_all_images(method):
    images = torch.rand(3, 1, 24, 24)
    together = method(images)
    assert not torch.allclose(together, images, atol=0.05)
    assert torch.equal(together[1:2], method(images[1:2]))
    if isinstance(method, PixelShuffle):
        assert torch.equal(method.undo(together), images)


def test_noise_has_nothing_of_the_images():
    images = torch.rand(2, 1, 24, 24)
    first, second = Noise(seed=1)(images), Noise(seed=1)(1 - images)
    assert torch.equal(first, second)
    assert not torch.equal(first[0], first[1])


def test_the_command_and_what_it_leaves(options, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    small = [f"--set=data.{k}={v}" for k, v in {**DATA, "cache": options.data.cache}.items()]
    result = ask(main, "check", "--attackers", "pixels", "--device", "cpu", "--json", *small)
    found = json.loads(result.stdout)
    assert {o["attacker"] for o in found} == {"pixels"}
    assert {o["by"] for o in found} == {record.examined_by("pixels")}
    assert "not kept for evaluations" in result.stderr
