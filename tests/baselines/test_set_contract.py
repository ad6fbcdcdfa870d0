"""Every method that releases sets under one contract, and what of its own the contract refuses."""

import json

import numpy as np
import pytest
import torch
from method_table import SET_CASES
from release_specimens import threads
from sets_made_up import chosen, people, same

import anonymize
from anonymize.data.batches import HeldImages
from anonymize.errors import ModelError, UsageError
from anonymize.set_anonymizer import Radiographs, SetAnonymizer, SetRelease

GIVEN = people(20)
KNOWN = people(20, seed=7)  # what a method may learn from


@pytest.fixture(scope="module", params=SET_CASES, ids=str)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def model(case, tmp_path_factory, quick_readers):
    return anonymize.load(case.spec(tmp_path_factory.mktemp("method"))).fit(KNOWN)


@pytest.fixture(scope="module")
def release(model):
    return model.released(GIVEN)


# Every method


def test_one_image_has_nobody_to_hide_among(model, images):
    with pytest.raises(UsageError, match=r"releases sets of images.*released\(Radiographs"):
        model(images)


def test_outputs_are_images_of_several_people_of_one_group(model, release):
    assert len(release) == len(release.images) > 3
    pixels = release.images.batch(np.arange(len(release)))
    assert (pixels.dtype, pixels.shape[1:]) == (torch.float32, (1, 24, 31))
    assert 0 <= pixels.min() < pixels.max() <= 1
    group_of = {}
    for rows, group in zip(release.contributors, release.groups, strict=True):
        assert list(rows) == sorted(set(rows.tolist()))
        whose = GIVEN.patients[rows]
        assert len(set(whose.tolist())) == len(rows) >= model.people
        assert all(group_of.setdefault(patient, group) == group for patient in whose.tolist())


def test_labels_are_the_mean_of_what_is_known(model, release):
    assert (release.labels is not None) == model.says
    if model.says:
        return  # test_readers.py
    found = release.targets(GIVEN.targets)
    for target, rows in zip(found, release.contributors, strict=True):
        for value, given in zip(target, GIVEN.targets[rows].T, strict=True):
            known = [v for v in given.tolist() if v == v]
            assert value == pytest.approx(np.mean(known)) if known else np.isnan(value)
    unknown = np.full_like(GIVEN.targets, np.nan)
    assert np.isnan(release.targets(unknown)).all()
    assert release.targets(unknown[:, :0]).shape == (len(release), 0)


def test_withheld_are_those_who_stand_nowhere(release):
    used = {row for rows in release.contributors for row in rows.tolist()}
    assert set(release.withheld(len(GIVEN)).tolist()) == set(range(len(GIVEN))) - used


def test_the_secret_repeats_a_release(case, model, release):
    assert same(release, model.released(GIVEN))
    assert model.noise_is_known == case.seeded
    other, again = (model.redrawn(5).released(GIVEN) for _ in range(2))
    assert not same(release, other)
    assert same(other, again)


def test_neither_order_nor_codes_nor_depth_matter(model, release):
    order = np.random.default_rng(3).permutation(len(GIVEN))
    listed = chosen(GIVEN, order)
    codes = np.unique(listed.patients, return_inverse=True)[1]
    other = Radiographs(
        HeldImages(listed.images.batch(np.arange(len(order)))), codes, listed.targets
    )
    found = model.released(other)
    back = [np.sort(order[rows]) for rows in found.contributors]
    assert same(release, SetRelease(found.images, back, found.groups))


def test_the_number_of_threads_does_not_matter(model, release):
    with threads(torch.get_num_threads() % 2 + 1):
        assert same(release, model.released(GIVEN))


def test_another_label_or_owner_gives_another_release(model, release):
    for changed in (
        Radiographs(GIVEN.images, GIVEN.patients, 1 - GIVEN.targets),
        Radiographs(GIVEN.images, np.roll(GIVEN.patients, 1), GIVEN.targets),
    ):
        assert not same(release, model.released(changed))


def test_the_set_is_left_alone(release):
    for given, before in ((GIVEN, people(20)), (KNOWN, people(20, seed=7))):
        assert torch.equal(given.images.pixels, before.images.pixels)
        assert np.array_equal(given.patients, before.patients)
        assert np.array_equal(given.targets, before.targets, equal_nan=True)


def test_fewer_people_than_an_output_has_are_withheld(model):
    for labels in (0, 1, 2):
        if model.says and labels != KNOWN.targets.shape[1]:
            with pytest.raises(UsageError, match=f"fitted on 2 labels, .* release {labels}; give"):
                model.released(people(3, labels=labels))
            continue
        for patients in {0, 1, model.people - 1} & set(range(model.people)):
            given = people(patients, labels=labels)
            found = model.released(given)
            assert found.images.pixels.shape == (0, 1, 24, 31)
            assert found.withheld(len(given)).tolist() == list(range(len(given)))
            assert found.targets(given.targets).shape == (0, labels)
        assert len(model.released(people(model.people, labels=labels))) > 0


def test_copies_and_blank_images_are_images(model):
    given = people(20, seed=2)
    for pixels in (given.images.pixels[:1].expand(len(given), -1, -1, -1), None):
        copied = HeldImages(torch.zeros(len(given), 1, 24, 31) if pixels is None else pixels)
        found = model.released(Radiographs(copied, given.patients, given.targets))
        assert len(found) > 3
        made = found.images.pixels
        # Nobody else's went into it, and each patch is not bent another way.
        if model.people > 1 and not model.options.get("warp"):
            assert (made - made[:1]).abs().max() < 1e-5


def test_options_are_plain_and_make_the_same_method(case, model, release, tmp_path):
    """However the images are listed that it learns from."""
    assert json.loads(json.dumps(model.options)) == model.options
    text = ",".join(f"{key}={value}" for key, value in model.options.items())
    again = anonymize.load(case.spec(tmp_path) if case.key else f"{case.name}:{text}")
    assert again.options == model.options
    listed = chosen(KNOWN, np.random.default_rng(4).permutation(len(KNOWN)))
    repeated = same(again.fit(listed).released(GIVEN), release)
    assert repeated == (case.seeded or case.key)


def test_images_that_are_none_are_refused(model):
    pixels = GIVEN.images.batch(np.arange(len(GIVEN)))
    pixels[-1, 0, 0, 0] = 1.5
    with pytest.raises(UsageError, match=r"lie in \[0, 1\]"):
        model.released(Radiographs(HeldImages(pixels), GIVEN.patients, GIVEN.targets))


# What the contract refuses


def test_names_of_a_set_are_one_an_image():
    with pytest.raises(UsageError, match="3 images, 2 names"):
        Radiographs(HeldImages(torch.zeros(3, 1, 4, 4)), np.arange(3), np.zeros((3, 0)), ["a", "b"])


@pytest.mark.parametrize(
    ("patients", "targets", "message"),
    [
        (np.zeros(2, int), np.zeros((3, 1)), r"got 3, \(2,\) and \(3, 1\)"),
        (np.zeros(3, int), np.zeros(3), r"got 3, \(3,\) and \(3,\)"),
        (np.zeros((3, 1), int), np.zeros((3, 1)), r"got 3, \(3, 1\) and \(3, 1\)"),
        (np.zeros(3), np.zeros((3, 1)), "integer codes .* got float64 and float64"),
        (np.zeros(3, int), np.zeros((3, 1), int), "floating point numbers; got int64 and int64"),
    ],
)
def test_a_set_that_does_not_fit_is_refused(patients, targets, message):
    with pytest.raises(UsageError, match=message):
        Radiographs(HeldImages(torch.zeros(3, 1, 4, 4)), patients, targets)


class Toy(SetAnonymizer):
    """Releases what it was given."""

    name = "toy"
    people = 2
    says = False

    def __init__(self, found):
        super().__init__()
        self.found = found

    def release(self, given):
        return self.found


FOUR = Radiographs(HeldImages(torch.rand(4, 1, 5, 6)), np.arange(4) - 2, np.zeros((4, 0)))
PAIRS = (np.array([0, 1]), np.array([2, 3]))
TWO = torch.full((2, 1, 5, 6), 0.5)


def toy(pixels=TWO, contributors=PAIRS, groups=(0, 1), labels=None, says=False):
    found = Toy(SetRelease(HeldImages(pixels), contributors, np.array(groups), labels=labels))
    found.says = says
    return found


def test_a_sound_release_passes():
    found = toy().released(FOUR)
    assert found.withheld(6).tolist() == [4, 5]
    assert len(toy(TWO[:0], (), ()).released(FOUR)) == 0
    assert toy().fit(FOUR).changes_nothing is False


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"pixels": TWO[:1]}, "got 1 outputs, 2 and 2"),
        ({"groups": [0]}, "got 2 outputs, 2 and 1"),
        ({"contributors": PAIRS[:1]}, "got 2 outputs, 1 and 2"),
        ({"pixels": TWO.mT}, r"images \(1, 5, 6\), got \(1, 6, 5\)"),
        ({"pixels": TWO * 3}, "gray levels"),
        ({"pixels": -TWO}, "gray levels"),
        ({"pixels": TWO * float("nan")}, "gray levels"),
        ({"contributors": [PAIRS[0], np.array([2, 4])]}, "rows of the set"),
        ({"contributors": [PAIRS[0], np.array([-1, 3])]}, "rows of the set"),
        ({"contributors": [PAIRS[0], np.array([3, 2])]}, "ascending"),
        ({"contributors": [PAIRS[0], np.array([2, 2, 3])]}, "ascending"),
        ({"contributors": [PAIRS[0], np.array([2.0, 3.0])]}, "rows of the set"),
        ({"contributors": [PAIRS[0], np.zeros(0, int)]}, "rows of the set"),
        ({"contributors": [PAIRS[0], np.array([3])]}, "2 patients or more, got one of 1"),
        ({"contributors": [PAIRS[0], np.array([1, 2])]}, "got one in two"),
        ({"says": True}, "labels if, and only if, it says so"),
        ({"labels": np.zeros((2, 0))}, "labels if, and only if, it says so"),
        ({"says": True, "labels": np.zeros((1, 0))}, r"labels \(2, 0\) from 0 to 1"),
        ({"says": True, "labels": np.zeros((2, 1))}, r"labels \(2, 0\) from 0 to 1"),
    ],
)
def test_an_unsound_release_is_refused(wrong, message):
    with pytest.raises(ModelError, match=f"method toy must .*{message}"):
        toy(**wrong).released(FOUR)


@pytest.mark.parametrize(("value", "sound"), [(1, True), (1.01, False), (-0.1, False)])
def test_labels_lie_between_0_and_1_or_are_unknown(value, sound):
    given = Radiographs(FOUR.images, FOUR.patients, np.zeros((4, 2)))
    one = toy(says=True, labels=np.array([[value, np.nan], [0, 0.5]], np.float32))
    if sound:
        assert one.released(given).targets(given.targets)[0, 0] == value
        return
    with pytest.raises(ModelError, match="from 0 to 1, or NaN"):
        one.released(given)


def test_two_images_of_one_patient_are_one_person():
    alike = Radiographs(FOUR.images, np.array([0, 1, 5, 5]), FOUR.targets)
    with pytest.raises(ModelError, match="got one of 1"):
        toy().released(alike)
    # One group may show a patient in several outputs.
    shared = (np.array([0, 1]), np.array([1, 2]))
    assert len(toy(contributors=shared, groups=(7, 7)).released(FOUR)) == 2


def test_what_goes_wrong_names_the_method():
    with pytest.raises(AttributeError) as error:
        Toy(None).released(FOUR)
    broken = Toy(None)
    broken.release = lambda given: 1 / 0
    with pytest.raises(ZeroDivisionError) as error:
        broken.released(FOUR)
    assert error.value.__notes__ == ["This happened in method toy."]
