"""Labels that networks read in outputs: what is shown, by none that learnt from who is in it."""

from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from quarters import SIDE, blocks
from release_specimens import threads
from sets_made_up import people

import anonymize
from anonymize.auc import plain_auc
from anonymize.data.batches import HeldImages
from anonymize.errors import UsageError
from anonymize.set_anonymizer import Radiographs
from baselines import readers
from baselines.readers import LEVELS, Readers, read_by_others

pytestmark = pytest.mark.usefixtures("quick_readers")

PATIENTS = 60
GIVEN = blocks(PATIENTS, 0)
LOTS = [np.flatnonzero(GIVEN.patients % 3 == lot) for lot in range(3)]
SHOWN = blocks(20, 1)
LOT_OF = np.arange(len(SHOWN)) % 3


def read(given, shown=SHOWN.images):
    return read_by_others(given, LOTS, shown, LOT_OF, np.random.default_rng(5))


def changed(rows, *, targets=False):
    """The set with other images of some rows, or with other labels."""
    pixels, labels = GIVEN.images.pixels.clone(), GIVEN.targets.copy()
    if targets:
        labels[rows] = 1 - labels[rows]
    else:
        pixels[rows] = pixels[rows].flip(-1)
    return Radiographs(HeldImages(pixels), GIVEN.patients, labels)


def learning(patch, epochs):
    """Networks have time to learn."""
    more = {"epochs": epochs, "patience": epochs, "batch": 8, "rate": 3e-3, "width": 8}
    patch.setattr(readers, "NETWORK", readers.NETWORK.model_copy(update=more))


@pytest.fixture(scope="module")
def found(quick_readers):
    with pytest.MonkeyPatch.context() as patch:
        learning(patch, 4)
        return read(GIVEN)


def test_they_say_what_is_shown(found):
    assert (found.dtype, found.shape) == (np.float32, SHOWN.targets.shape)
    assert 0 <= found.min() < found.max() <= 1
    for label, present in zip(found.T, SHOWN.targets.T == 1, strict=True):
        assert plain_auc(label, present) > 0.9


@pytest.mark.whole
@pytest.mark.parametrize("targets", [False, True])
def test_whoever_went_in_taught_no_reader_of_it(targets, monkeypatch):
    learning(monkeypatch, 2)
    before = read(GIVEN)
    for lot, rows in enumerate(LOTS):
        after = read(changed(rows, targets=targets))
        same_rows = (before == after).all(axis=1)
        assert same_rows[lot == LOT_OF].all()
        assert not same_rows[lot != LOT_OF].any()


def test_they_follow_from_what_is_released():
    """From its gray levels, and not from the number of threads or what else torch draws."""
    levels = (SHOWN.images.pixels * LEVELS).round() / LEVELS
    state, number = torch.get_rng_state(), 3 - min(torch.get_num_threads(), 2)
    with threads(number):
        other = read(GIVEN, HeldImages(levels))
        assert torch.get_num_threads() == number
    assert torch.equal(torch.get_rng_state(), state)
    assert np.array_equal(read(GIVEN), other)


def test_networks_are_the_same_to_the_last_bit_whatever_torch_has(monkeypatch):
    """Training images are changed at random, and what is read is rounded: see the weights."""
    learning(monkeypatch, 2)
    monkeypatch.setattr(readers, "READERS", 2)
    rows, weights = np.arange(len(GIVEN)), []
    for number in (1, 2, 2):
        with threads(number):
            networks = Readers.fit(GIVEN, rows, 7).networks
        weights.append([v for n in networks for v in n.state_dict().values()])
    first, *others = weights
    for other in others:
        assert all(map(torch.equal, first, other))


def test_what_the_others_do_not_know_nobody_reads():
    targets = GIVEN.targets.copy()
    targets[LOTS[1], 0] = targets[LOTS[2], 0] = np.nan
    targets[:, 1] = 1
    found = read(Radiographs(GIVEN.images, GIVEN.patients, targets))
    assert np.isnan(found[:, 1]).all()
    assert np.array_equal(np.isnan(found[:, 0]), LOT_OF == 0)
    assert not np.isnan(found[:, 2]).any()
    few = np.flatnonzero(GIVEN.patients < 9)
    lots = [np.intersect1d(few, rows) for rows in LOTS]
    alone = read_by_others(GIVEN, lots, SHOWN.images, LOT_OF, np.random.default_rng(5))
    assert np.isnan(alone).all()  # six other patients teach nobody


def test_large_images_are_read_as_a_teacher_sees_them():
    large = HeldImages(torch.rand(1, 1, 300, 90))
    assert readers._seen(large, np.arange(1)).shape == (1, 1, readers.SIDE, 90)
    assert readers._seen(SHOWN.images, np.arange(2)).shape == (2, 1, SIDE, SIDE)


# In a method


@pytest.fixture(scope="module")
def mixed(quick_readers):
    given, specs = people(40), ("", ",read=0.25", ",read=1")
    return given, [anonymize.load(f"mosaic:g=2,m=2,seed=3{s}").released(given) for s in specs]


def test_so_much_of_a_label_is_read(mixed):
    given, (plain, *others) = mixed
    assert plain.labels is None
    for share, release in zip((0.25, 1), others, strict=True):
        known = replace(release, labels=None).targets(given.targets)
        labels = release.targets(given.targets)
        assert np.array_equal(np.isnan(labels), np.isnan(known))
        read = ((labels - (1 - share) * known) / share)[~np.isnan(known)]
        steps = read * readers.STEPS
        assert steps == pytest.approx(steps.round(), abs=1e-3)
        assert 0 <= read.min() < read.max() <= 1


def test_who_has_a_finding_alone_is_in_no_label():
    """Who could read it in her outputs never saw it, and what is known is not told instead."""
    given = people(40)
    her = given.patients[0]
    given.targets[:, 0] = given.patients == her
    found = anonymize.load("mosaic:g=2,m=4,seed=3,read=1").released(given)
    of_her = np.array([her in given.patients[rows] for rows in found.contributors])
    assert of_her.any()
    assert np.isnan(found.labels[of_her, 0]).all()
    assert not np.isnan(found.labels[:, 1:]).any()


def test_people_are_mixed_in_three_lots(mixed):
    given, (plain, _, every) = mixed
    for release, most in ((plain, 1), (every, 3)):
        lots = []
        for rows in release.contributors:
            met = {*given.patients[rows].tolist()}
            apart = [lot for lot in lots if not lot & met]
            together = met.union(*(lot for lot in lots if lot & met))
            lots = [*apart, together]
        assert len(lots) >= most
        assert most == 1 or max(map(len, lots)) <= np.ceil(40 / 3)


STRANGERS = blocks(PATIENTS, 2)


def test_strangers_read_whoever_is_released(monkeypatch):
    """One set of readers, which learnt from them alone, for all sets; also under a key."""
    fit = Mock(wraps=Readers.fit)
    monkeypatch.setattr(Readers, "fit", fit)
    method = anonymize.load("mosaic:g=2,m=2,read=1").fit(STRANGERS).keyed(bytes(32))
    first, other = method.released(SHOWN), method.released(GIVEN)
    assert [len(call.args[0]) for call in fit.call_args_list] == [len(STRANGERS)]
    assert first.labels.shape == (len(first), SHOWN.targets.shape[1])
    assert np.isfinite(first.labels).all()
    assert len({int(g) for g in other.groups}) < 3 * 4  # nobody is dealt into lots
    again = anonymize.load("mosaic:g=2,m=2,read=1").fit(STRANGERS).keyed(bytes(32)).released(SHOWN)
    assert np.array_equal(again.labels, first.labels)


def test_who_was_learnt_from_is_no_stranger():
    """One image is enough; then the set is mixed and read in lots, as if nobody else were known."""
    of_both = np.append(np.arange(len(STRANGERS)), 0)
    known = Radiographs(
        HeldImages(torch.cat([STRANGERS.images.pixels, GIVEN.images.pixels[:1]])),
        np.append(STRANGERS.patients, PATIENTS),
        STRANGERS.targets[of_both],
    )
    method = anonymize.load("mosaic:g=2,m=2,read=1,seed=3")
    alone = method.released(GIVEN)
    found = method.fit(known).released(GIVEN)
    assert np.array_equal(found.labels, alone.labels)
    other = method.fit(STRANGERS).released(GIVEN)
    assert not np.array_equal(other.labels, alone.labels)


def test_too_few_people_for_two_lots_are_withheld():
    method = anonymize.load("k-same:k=4,read=1,seed=3")
    assert len(method.released(people(7))) == 0
    assert len(method.released(people(8))) > 0


def test_without_labels_there_is_nothing_to_read():
    for given in (people(20, labels=0), people(20)):
        blank = Radiographs(given.images, given.patients, np.full_like(given.targets, np.nan))
        with pytest.raises(UsageError, match=r"mosaic reads findings with read=0\.5.*leave read"):
            anonymize.load("mosaic:g=2,read=0.5").released(blank)
