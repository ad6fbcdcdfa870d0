"""Risk at the size of the world: exact up to those measured, and beyond against known truths."""

import numpy as np
import pytest
from identities import owners_of
from worlds_made_up import SPREAD, images, table_of, world_of

from attacks.measuring import chances
from attacks.measuring.crowd import KEPT, Best, Crowd, crowds, largest
from attacks.measuring.metrics import genuine_places
from attacks.measuring.retrieval import retrieve
from attacks.measuring.statistics import estimate_identification, measure_identification
from attacks.measuring.tails import Strangers
from attacks.measuring.world import measure_crowd
from attacks.measuring.world_records import split_world


@pytest.fixture(scope="module")
def small():
    vectors, who = images(150, 3, seed=1)
    noisy = vectors + 0.2 * np.random.default_rng(2).standard_normal(vectors.shape)
    age = 50.0 + np.tile([0, 0, 4], 150)
    view = np.tile(["AP", "PA", "PA"], 150)
    owners = owners_of(who)
    scores = noisy.astype(np.float32) @ vectors.T
    world = world_of(scores, owners, table_of(who, age=age, view=view), resamplings=40)
    return scores, owners, world


def test_all_who_were_measured_give_the_measured_figures(small):
    scores, owners, world = small
    measured = measure_identification(scores, owners, owners, resamplings=10)
    whole = world.at(150)
    assert whole.people == world.people == 150
    assert not whole.extrapolated
    assert whole.rank_1.estimate.mean == pytest.approx(measured["precision_at_1"].value)
    assert whole.r_s.estimate.mean == pytest.approx(measured["r_s"].value)
    assert whole.linked == pytest.approx(150 * measured["r_s"].value)


def test_smaller_galleries_are_what_drawn_ones_give(small):
    scores, owners, world = small
    rng, found = np.random.default_rng(3), []
    for _ in range(60):
        some = np.flatnonzero(np.isin(owners.patient, rng.permutation(150)[:30]))
        part = measure_identification(
            scores[np.ix_(some, some)], owners[some], owners[some], resamplings=1
        )
        found.append([part["precision_at_1"].value, part["r_s"].value])
    point = world.at(30)
    expected, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(60)
    assert abs(point.rank_1.estimate.mean - expected[0]) < 4 * error[0]
    assert abs(point.r_s.estimate.mean - expected[1]) < 4 * error[1]


def test_risk_falls_with_people_and_rises_with_probes(small):
    world = small[2]
    exact = [p for p in world.points if not p.extrapolated]
    tails = [p for p in world.points if p.extrapolated]
    assert tails[-1].people == 10**9
    for points in (exact, tails):
        for name in ("rank_1", "r_s"):
            rates = [getattr(p, name).estimate.mean for p in points]
            assert rates == sorted(rates, reverse=True)
    shown = [b.r_s.mean for b in world.by_probes]
    assert [b.probes for b in world.by_probes] == [1, 2, 3]
    assert shown == sorted(shown)
    assert shown[-1] == pytest.approx(world.at(150).r_s.estimate.mean)


def test_extrapolations_say_what_they_do_not_know(small):
    for point in (p for p in small[2].points if p.extrapolated):
        for rate in (point.rank_1, point.r_s):
            low, high = rate.within
            ends = [rate.estimate.ci95, rate.second.ci95]
            assert low <= min(e[0] for e in ends) + 1e-12
            assert high >= 1 - 0.025 ** (1 / 150)  # rule of three
            name = "rank_1" if rate is point.rank_1 else "r_s"
            met = getattr(small[2].at(150), name).within[1]
            assert high == pytest.approx(min(met, max(e[1] for e in ends)))
            assert point.people <= 150**2 or low == 0


def test_strata(small):
    scores, owners, world = small
    same = np.diag(scores)
    ahead = [
        max(scores[i, owners.patient == p].max() for p in range(150) if p != owners.patient[i])
        for i in range(0, 450, 7)
    ]
    expected = np.mean(same[::7] > np.array(ahead))
    found = world.strata["same_image"].points
    whole = next(p for p in found if p.people == 150)
    assert abs(whole.rank_1.estimate.mean - expected) < 0.1
    # two images of equal age, one four years later: the first two have one within a year
    assert world.strata["year"].probes == 300
    assert world.strata["later"].probes == 450
    assert world.strata["view"].probes == 450


def test_ties_go_to_the_smaller_index():
    owners = owners_of([0, 1, 0, 1])
    scores = np.ones((4, 4), np.float32)
    found = crowds(
        scores, owners, owners, {"all": Best.of(scores, *genuine_places(owners, owners))}
    )["all"]
    # the other image of probe 2's person is the first one of the gallery
    assert found.ahead.tolist() == [1, 1, 0, 1]
    ranks = retrieve(scores, owners, owners)
    assert (found.ahead == 0).tolist() == ranks.within(1).tolist()


def streamed_crowd(asked, patient, best, blocks):
    """A crowd of people who are met a block (n, E) at a time, an image each: as many as there may
    be. ``asked``: (Q, E) vectors of the probes; inner products are scores."""
    count, who = 0, []
    tops, whose = np.zeros((len(asked), 0)), np.zeros((len(asked), 0), int)
    for block in blocks:
        alike = asked @ block.T
        who.append(alike > best[:, None])
        numbers = np.broadcast_to(np.arange(count, count + len(block)), alike.shape)
        alike, numbers = np.hstack([tops, alike]), np.hstack([whose, numbers])
        tops, whose = largest(alike, numbers, min(KEPT, alike.shape[1]))
        count += len(block)
    people = np.full(len(asked), count)
    met = Strangers(people, tops, whose, np.ones(count, bool))
    return Crowd(patient, best, people, np.hstack(who), met)


def test_a_block_at_a_time_is_the_same_crowd():
    vectors, who = images(80, 1, seed=4)
    asked, best = vectors[:5], np.full(5, 8.0)
    whole = streamed_crowd(asked, who[:5], best, [vectors[5:]])
    parts = streamed_crowd(asked, who[:5], best, np.array_split(vectors[5:], 7))
    assert (whole.ahead == parts.ahead).all()
    of_parts = parts.strangers.scores[:, :50]
    # Some processors add up a block of another size in another order.
    assert whole.strangers.scores[:, :50] == pytest.approx(of_parts, rel=1e-5, abs=1e-5)
    assert (whole.people == 75).all()


def streamed(people, asked, who, best, *, seed):
    """People of one image each, met 20,000 at a time."""
    rng, spread = np.random.default_rng(seed), np.float32(np.hypot(1, SPREAD))
    shape = asked.shape[1]
    blocks = (
        rng.standard_normal((min(20_000, people - n), shape), dtype=np.float32) * spread
        for n in range(0, people, 20_000)
    )
    return streamed_crowd(asked, who, best, blocks)


def test_a_million_people_are_foretold_by_two_thousand():
    """Identities and noise are normal, of a known separation; the truth is computed."""
    vectors, who = images(100, 2, seed=5)
    asked, best = vectors[::2], (vectors[::2] * vectors[1::2]).sum(axis=1)
    few = streamed(2_000, asked, who[::2], best, seed=6)
    many = streamed(1_000_000, asked, who[::2], best, seed=7)
    _, world = split_world(estimate_identification([measure_crowd(few, resamplings=100)]))
    for people in (10**4, 10**5, 10**6):
        truth = chances.unbeaten(many.people, many.ahead, people - 1).mean()
        point = world.at(people)
        low, high = point.rank_1.within
        assert point.people == people
        assert point.extrapolated
        assert low <= truth <= high
        assert high - low < 0.6
        # normal scores end sooner than the first model thinks: it is the safer one
        assert point.rank_1.estimate.mean >= truth - 0.02
    assert world.held_out.covered
    assert world.held_out.people == 2001
    assert 400 < world.held_out.fitted_on < 600


def test_too_few_people_foretell_nothing():
    vectors, who = images(30, 2, seed=8)
    world = world_of(vectors @ vectors.T, owners_of(who), table_of(who), resamplings=10)
    assert not any(p.extrapolated for p in world.points)
    assert world.held_out is None


def test_scores_without_any_difference_are_no_error():
    who = np.repeat(np.arange(120), 2)
    scores = np.zeros((240, 240), np.float32)
    world = world_of(scores, owners_of(who), table_of(who), resamplings=10)
    assert world.at(120).rank_1.estimate.mean == pytest.approx(1 / 240, abs=0.01)
