"""Whether somebody is in a release of sets at all, told by films that did not go in."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from identities import smooth

from anonymize.auc import plain_auc
from anonymize.data.batches import HeldImages
from anonymize.set_anonymizer import SetAnonymizer, SetRelease
from anonymize.statistics import measure_auc
from attacks.attacker import ImageSet
from attacks.attackers.training_free import TrainingFree
from attacks.knowledge.membership import dealt, game
from attacks.measuring.metrics import Owners

PATIENTS, EACH = 60, 3
ROWS = np.arange(PATIENTS * EACH)
WHOSE = ROWS // EACH


def films():
    """Of each patient EACH that are alike."""
    alike = smooth(PATIENTS, 0).repeat_interleave(EACH, dim=0)
    noise = torch.randn(alike.shape, generator=torch.manual_seed(1)) * 0.05
    return ((alike + noise).clamp(0, 1) * 255).round().to(torch.uint8)


FILMS = films()


class Pairs(SetAnonymizer):
    """Every image is released, and said to be of two patients: of the first ``most`` alone."""

    name = "pairs"
    people = 2

    def __init__(self, most=PATIENTS):
        super().__init__()
        self.most, self.given = most, None

    def release(self, given):
        self.given = given
        patients, first = np.unique(given.patients, return_index=True)
        rows = np.flatnonzero(np.isin(given.patients, patients[: self.most // 2 * 2]))
        place = np.searchsorted(patients, given.patients[rows])
        mate = first[np.minimum(place ^ 1, len(patients) - 1)]
        rows, mate, place = (a[(place ^ 1) < len(patients)] for a in (rows, mate, place))
        contributors = [np.sort([row, other]) for row, other in zip(rows, mate, strict=True)]
        return SetRelease(HeldImages(self.shown(given, rows)), contributors, place // 2)

    def shown(self, given, rows):
        return given.images.batch(rows)


class Nobody(Pairs):
    """In the place of everybody somebody who is in no data set."""

    def shown(self, given, rows):
        return smooth(len(rows), 9)


def owners(images=FILMS, whose=WHOSE, identified=None):
    known = np.ones(len(whose), bool) if identified is None else identified
    return Owners(np.arange(len(images)), whose, known)


def played(model, seed=0, whose=WHOSE, identified=None):
    who = owners(whose=whose, identified=identified)
    frame = pd.DataFrame({"image_id": [str(n) for n in ROWS], "identified": who.identified})
    targets = np.zeros((len(ROWS), 0), np.float32)
    data = SimpleNamespace(
        images=HeldImages(FILMS),
        patients=whose,
        told=SimpleNamespace(targets=targets),
        table=SimpleNamespace(frame=frame),
    )
    return game(model, data, ImageSet(FILMS, who), seed=seed)


def told(model, seed=0):
    reached, member = played(model, seed).scores(TrainingFree())
    return measure_auc(reached, member > 0, np.arange(len(member)), resamplings=200, seed=0)


def test_members_are_told_where_they_are_shown():
    found = told(Pairs())
    assert found.value > 0.98
    assert found.interval[0] > 0.8


def test_a_release_of_nobody_tells_nothing():
    low, high = told(Nobody()).interval
    assert low < 0.5 < high
    lots = (played(Nobody(), seed).scores(TrainingFree()) for seed in range(20))
    aucs = [plain_auc(reached, member > 0) for reached, member in lots]
    assert np.mean(aucs) == pytest.approx(0.5, abs=0.05)  # neither side is favoured


def test_neither_films_that_are_held_nor_outsiders_go_in():
    model = Pairs()
    found = played(model)
    went_in = {int(name) for name in model.given.names}
    held = found.known.owners.image[: len(found.person)]
    assert not went_in & {*held.tolist()}
    assert len(held) == len(found.member) == PATIENTS  # one of three films each
    shown = {int(name) // EACH for name in model.given.names}
    of = dict(zip(found.person.tolist(), (held // EACH).tolist(), strict=True))
    assert all((of[n] in shown) == member for n, member in enumerate(found.member.tolist()))
    assert found.member.sum() == PATIENTS // 2
    made_of = found.released.owners.contributors.image
    assert {*made_of[made_of >= 0].tolist()} <= went_in
    assert found.released.images.dtype == torch.uint8


def test_the_score_of_a_person_is_the_greatest_of_his_films():
    found = played(Pairs())

    class Given(TrainingFree):
        def score(self, probes, gallery):
            rng = np.random.default_rng(0)
            Given.made = rng.normal(size=(len(probes), len(gallery))).astype(np.float32)
            return Given.made

    reached, member = found.scores(Given())
    assert np.array_equal(member > 0, found.member)
    for person, score in enumerate(reached):
        assert score == Given.made[:, : len(found.person)][:, found.person == person].max()


def test_nobody_is_asked_about_who_has_one_film_or_no_name():
    whose = np.where(ROWS < 30, 1000 + ROWS, WHOSE)  # the first thirty have one each
    identified = ROWS >= 60
    asked = dealt(owners(whose=whose, identified=identified), np.random.default_rng(0))
    assert sorted(whose[held[0]] for held, _ in asked) == list(range(20, PATIENTS))
    found = played(Pairs(), whose=whose, identified=identified)
    others = found.known.owners.image[len(found.person) :]
    assert np.array_equal(others, np.arange(60))


def test_who_is_withheld_is_neither_and_too_few_are_no_game():
    found = played(Pairs(most=20))
    assert found.member.sum() == 20  # of thirty
    assert (~found.member).sum() == PATIENTS // 2
    assert played(Pairs(most=0)) is None
    alone = np.where(ROWS < 171, 1000 + ROWS, WHOSE)  # three patients with several
    assert played(Pairs(), whose=alone) is None
