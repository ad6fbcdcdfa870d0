"""Mosaics put together again: joined patches find no fewer people than windows by themselves."""

from functools import cache

import numpy as np
import pytest
from identities import image_set, parts, strangers
from mosaics_made_up import known, mosaics, people

from attacks.attackers.jigsaw import Jigsaw, JigsawOptions
from attacks.attackers.patchwise import Patchwise
from attacks.measuring.metrics import pair_auc
from attacks.training.patches import UNLIKE

OPTIONS = JigsawOptions(
    cells=12,
    parts=(3,),
    grids=(2, 3, 4),
    reach=(0,),
    components=20,
    copies=0,
    undo=0,
    pooling=("likelihood", "max"),
    levels=10,
    mates=(0.3,),
)


@cache
def taught(m, uses=1):
    return Jigsaw(OPTIONS).fit(known(m, uses), seed=0)


def linked(attacker, probes, gallery):
    """AUC of an output and another image of somebody who is in it."""
    scores = attacker.score(probes.images, gallery.images)
    return pair_auc(scores, probes.owners, gallery.owners)


# The attacker


@pytest.mark.parametrize(("m", "uses"), [(1, 1), (4, 1), (4, 2)])
def test_it_finds_as_many_as_windows_by_themselves_or_more(m, uses):
    attacker, unseen = taught(m, uses), people(54, seed=3, first=500)
    probes = mosaics(unseen, m=m, uses=uses)[1]
    assert attacker.grid == 3
    own = linked(attacker, probes, unseen)
    scores = Patchwise.score(attacker, probes.images, unseen.images)
    assert own > pair_auc(scores, probes.owners, unseen.owners) - 0.01
    assert own > 0.6
    if m > 1:
        assert attacker.affinity.worth["neighbours"].auc > 0.7
        assert attacker.affinity.worth["distant"].auc > 0.7
    else:
        assert attacker.affinity.worth["distant"].pairs == 0


def test_noise_and_names_dealt_out_anew_stay_at_chance():
    attacker, gallery = taught(4), people(54, seed=3, first=500)
    probes = mosaics(gallery, m=4)[1]
    assert abs(linked(attacker, strangers(probes), gallery) - 0.5) < 0.06
    others = people(54, seed=9, first=500)  # of the same names
    assert abs(linked(attacker, probes, others) - 0.5) < 0.06


def test_it_is_repeatable_and_takes_probes_in_any_order():
    attacker, gallery = taught(4), people(54, seed=3, first=500)
    probes = mosaics(gallery, m=4)[1].images
    again = Jigsaw(OPTIONS).fit(known(4), seed=0)
    scores = attacker.score(probes, gallery.images)
    assert np.array_equal(scores, again.score(probes, gallery.images))
    order = np.random.default_rng(0).permutation(len(probes))
    moved = attacker.score(probes[order], gallery.images)
    np.testing.assert_allclose(moved, scores[order], atol=1e-3)


def test_who_knows_no_released_image_takes_real_ones():
    attacker = Jigsaw(OPTIONS, knowledge="ignorant").fit(parts(), seed=0)
    assert (attacker.grid, attacker.likeness) == (3, UNLIKE)
    unseen = image_set(12, seed=4, first=500)
    assert linked(attacker, unseen, unseen) > 0.9
