"""Strangers of one code in everybody's place: who they are, what follows from whom, and the bound
that no attacker passes."""

from collections import Counter

import numpy as np
import pytest
import torch
from asked import ask
from sets_made_up import chosen, people, same

import anonymize
from anonymize.anonymizer import load
from anonymize.cli import main
from anonymize.data.batches import HeldImages
from anonymize.errors import DataError, ModelError
from anonymize.set_anonymizer import Radiographs
from baselines.grouping import by_patient
from baselines.teacher import CrossFitted, descriptions
from baselines.utility_code import bound

STRIPES = 4  # kinds of patients


def striped(patients, seed, *, each=2):
    """Images (16 × 16) with a bright stripe at one of four heights, which three labels tell; some
    patients have one image, others ``each``."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, each + 1, patients)
    whose = np.repeat(np.arange(patients), sizes)
    kind = rng.integers(0, STRIPES, patients)[whose]
    images = torch.tensor(rng.random((len(whose), 1, 16, 16)), dtype=torch.float32) * 0.5
    for image, height in zip(images, kind, strict=True):
        image[0, 4 * height : 4 * height + 3] += 0.4
    targets = (kind[:, None] == np.arange(STRIPES - 1)).astype(np.float32)
    names = [f"{seed}-{row}" for row in range(len(whose))]
    return Radiographs(HeldImages((images * 255).byte()), whose, targets, names)


KNOWN, GIVEN = striped(120, 0), striped(60, 1)


def made(text="", *, known=KNOWN):
    return load(f"utility-code:codes=4,donors=5,seed=1{text}").fit(known)


@pytest.fixture(scope="module")
def model():
    return made()


@pytest.fixture(scope="module")
def release(model):
    return model.released(GIVEN)


def rows_of(names):
    return np.array(sorted(int(name.partition("-")[2]) for name in names))


# The pool


def test_the_pool_is_a_share_of_the_patients_with_all_their_images(model):
    rows = rows_of(model.pool)
    patients = np.unique(KNOWN.patients[rows])
    assert len(patients) == 60
    assert np.array_equal(rows, np.flatnonzero(np.isin(KNOWN.patients, patients)))


def test_who_is_in_the_pool_is_withheld_and_nobody_else(model):
    """Also with an image that was not learnt from, and under another code of his."""
    rows = rows_of(model.pool)
    found = model.released(KNOWN)
    assert np.array_equal(found.withheld(len(KNOWN)), rows)
    pixels = torch.cat([KNOWN.images.pixels[rows[:1]], GIVEN.images.pixels[:2]])
    two = Radiographs(HeldImages(pixels), np.array([9, 9, 4]), np.zeros((3, 1), np.float32))
    assert model.released(two).withheld(3).tolist() == [0, 1]
    assert len(model.released(chosen(KNOWN, rows))) == 0


def test_an_output_is_an_image_of_the_pool(model, release):
    pool = {image.numpy().tobytes() for image in KNOWN.images.pixels[rows_of(model.pool)]}
    levels = (release.images.pixels * 255).round().byte()
    assert {image.numpy().tobytes() for image in levels} <= pool
    assert release.withheld(len(GIVEN)).tolist() == []


def test_nobody_stands_in_twice_before_everybody_of_the_code_has(model, release):
    sent = model.coding.sent(release.images)
    donors = model._pool.known_again(release.images)
    for code in np.unique(sent):
        members = model._pool.members[code]
        patient_of = {row: n for n, rows in enumerate(members) for row in rows.tolist()}
        times = Counter(patient_of[row] for row in donors[sent == code].tolist())
        turns, rest = divmod(int((sent == code).sum()), len(members))
        assert max(times.values()) == turns + (rest > 0)
        assert min(times[n] for n in range(len(members))) == turns


def test_other_options_draw_no_other_pool():
    one = made()
    for text in ("own=0.2", "codes=2"):
        assert load(f"utility-code:donors=5,seed=1,{text}").fit(KNOWN).pool == one.pool
    assert load("utility-code:donors=5,seed=2").fit(KNOWN).pool != one.pool


def test_another_draw_keeps_the_pool(model, release):
    other = model.redrawn(5)
    assert other.pool == model.pool
    again = other.released(GIVEN)
    assert not same(again, release)
    assert not torch.equal(again.images.pixels, release.images.pixels)


# The codes


def test_an_output_shows_what_its_patient_does(model, release):
    """The stripe of every donor is that of the image; teachers saw no label of them."""
    stands = release.images.pixels.unflatten(2, (4, 4))[:, 0, :, :3].mean(dim=(2, 3)).argmax(dim=1)
    own = GIVEN.targets[np.concatenate(release.contributors)]
    kind = np.where(own.any(axis=1), own.argmax(axis=1), STRIPES - 1)
    assert (stands.numpy() == kind).mean() > 0.95


def test_images_of_a_patient_have_one_code_which_is_the_nearest_centre(model, release):
    rows = np.concatenate(release.contributors)
    sent = model.coding.sent(release.images)
    assert np.array_equal(
        release.groups, release.groups[np.unique(sent, return_index=True)[1]][sent]
    )
    read = model.coding.read(GIVEN.images)
    for own in by_patient(GIVEN.patients):
        away = np.linalg.norm(model.coding.centres - read[own].mean(axis=0), axis=1)
        assert set(sent[np.isin(rows, own)].tolist()) == {away.argmin()}


def test_or_every_image_has_the_code_of_what_is_read_in_it_alone():
    model = made(",per=image")
    found = model.released(GIVEN)
    rows = np.concatenate(found.contributors)
    away = model.coding.read(GIVEN.images)[rows][:, None] - model.coding.centres
    nearest = np.linalg.norm(away, axis=2).argmin(axis=1)
    assert np.array_equal(model.coding.sent(found.images), nearest)
    assert set(found.groups.tolist()) == {0}  # a patient's images may be of several codes
    assert found.bound == bound(nearest, GIVEN.patients[rows], GIVEN.targets[rows])


def test_labels_of_who_is_released_decide_nothing(model, release):
    """But the lot: the codes stay."""
    told = Radiographs(GIVEN.images, GIVEN.patients, 1 - GIVEN.targets)
    other = model.released(told)

    def code(found):
        rows = np.concatenate(found.contributors)
        return model.coding.sent(found.images)[np.argsort(rows)]

    assert np.array_equal(code(release), code(other))


def test_every_code_has_enough_donors():
    for donors in (5, 12, 40):
        model = load(f"utility-code:codes=8,donors={donors},seed=3").fit(KNOWN)
        sizes = [len(patients) for patients in model._pool.members]
        assert min(sizes) >= donors
        assert sum(sizes) == 60


def test_strangers_are_read_by_all_teachers():
    """A second derivation from what each teacher says."""
    given, strangers = people(20, seed=3), people(9, seed=4)
    fitted = CrossFitted.fit(given, np.random.default_rng(0))
    described, patients = descriptions(strangers.images), np.unique(strangers.patients)
    expected = np.zeros((9, 2))
    for teacher, standard in fitted.teachers:
        logits = teacher.logits(described)
        for n, patient in enumerate(patients):
            mean = logits[strangers.patients == patient].mean(axis=0)
            expected[n] += (mean - standard.mean) / standard.spread / len(fitted.teachers)
    np.testing.assert_allclose(fitted.read(strangers.images, strangers.patients), expected)


# The image's own share


@pytest.mark.parametrize("own", [0.15, 0.5])
def test_the_own_share_is_linear(own):
    """What is left without it is an image of the pool, with 1 − own."""
    model = made(f",own={own}")
    found = model.released(GIVEN)
    pixels = GIVEN.images.batch(np.concatenate(found.contributors))
    left = (found.images.pixels - own * pixels) / (1 - own)
    pool = KNOWN.images.batch(rows_of(model.pool))
    apart = torch.cdist(left.flatten(1), pool.flatten(1), p=torch.inf).min(dim=1).values
    assert apart.max() < 1e-5
    assert (model.coding, found.bound, model.guess) == (None, None, None)


def test_who_has_the_pool_takes_the_donor_off():
    """Up to the gray levels that an output is rounded to."""
    for own in (0.15, 0.5):
        model = made(f",own={own}")
        found = model.released(GIVEN)
        undone = model.undoing((found.images.pixels * 255).round() / 255)
        pixels = GIVEN.images.batch(np.concatenate(found.contributors))
        assert (undone - pixels).abs().max() < 0.6 / 255 / own
    assert made().undoing is None


# The bound


def test_the_bound_is_the_number_of_codes_by_that_of_people():
    codes, everybody = np.arange(30) % 5, np.arange(30)
    assert bound(codes, everybody, np.zeros((30, 0))) == pytest.approx(5 / 30)
    # A label that the code does not fix multiplies it; one that it fixes does not.
    coin = (np.arange(30) // 5 % 2)[:, None].astype(np.float32)
    assert bound(codes, everybody, coin) == pytest.approx(10 / 30)
    assert bound(codes, everybody, codes[:, None].astype(np.float32)) == pytest.approx(5 / 30)
    unknown = np.full((30, 1), np.nan, np.float32)
    assert bound(codes, everybody, unknown) == pytest.approx(5 / 30)
    # Who has more images is the better guess.
    assert bound(np.zeros(4, int), np.array([7, 7, 7, 8]), np.zeros((4, 1))) == 0.75


def test_nobody_knows_more_than_the_bound():
    """An attacker that knows every image, label and code, the pool and its codes, and learns from
    many releases which donor stands for whom, guesses the likeliest patient of each output."""
    given = striped(40, 5, each=1)
    told = Radiographs(given.images, given.patients, np.zeros((40, 0), np.float32))
    model = load("utility-code:codes=4,donors=5").fit(KNOWN)
    seen = np.zeros((len(model.pool), 40))
    right, promised, releases = [], [], 40
    for turn in range(2 * releases):
        found = model.keyed(turn.to_bytes(4, "big")).released(told)  # a lot of its own
        donors = model._pool.known_again(found.images)
        patients = told.patients[np.concatenate(found.contributors)]
        if turn < releases:
            np.add.at(seen, (donors, patients), 1)
        else:
            right.append((seen[donors].argmax(axis=1) == patients).mean())
            promised.append(found.bound)
    assert (
        promised == [len(np.unique(model._pool.codes(told.images, told.patients))) / 40] * releases
    )
    error = np.std(right) / np.sqrt(releases)
    assert np.mean(right) <= promised[0] + 3 * error
    assert np.mean(right) > promised[0] / 2  # and not by being blind


# What it cannot do


def test_without_a_pool_there_is_no_release():
    model = anonymize.load("utility-code:seed=1")
    assert model.pool == ()
    with pytest.raises(ModelError, match=r"no pool of strangers yet: call fit\(Radiographs"):
        model.released(GIVEN)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (striped(8, 0), "must have 5 patients or more.* got 4 patients"),
        (people(0), "must have 5 patients or more.* got 0 patients"),
        (people(40, labels=0), "must have a label that some of its patients have"),
    ],
)
def test_a_pool_that_is_none_is_refused(known, message):
    with pytest.raises(DataError, match=message):
        made(known=known)


def test_files_are_not_released_with_it(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.png").write_bytes(b"none")
    words = ("--model", "utility-code", "--canonical", "32,png")
    result = ask(main, "apply", tmp_path / "in", tmp_path / "out", *words, code=2)
    assert "is for attacks evaluate: none of its outputs is of several people" in result.stderr
    assert not (tmp_path / "out").exists()
