"""The soft-biometric floor, on drawn bars: as high as an age, on the side of a sex."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch
from identities import auc, owners_of
from sklearn.metrics import roc_auc_score

from anonymize.errors import DataError, UsageError
from anonymize.options import ClassifierOptions
from attacks.attacker import Auxiliary, ImageSet
from attacks.attackers.soft_biometrics import Reading, SoftBiometrics

SMALL = ClassifierOptions(
    architecture="compact", width=8, epochs=12, patience=12, rate=1e-2, augment=False
)
PATIENTS, EACH = 90, 3
PARTS = {"train": (0, 60), "validation": (60, 70), "test": (70, 90)}


@pytest.fixture(scope="module")
def table():
    """Ages and sexes that stay with the patient; the view changes from image to image."""
    rng = np.random.default_rng(0)
    age, female = rng.uniform(20, 80, PATIENTS), rng.random(PATIENTS) < 0.5
    n = PATIENTS * EACH
    return pd.DataFrame(
        {
            "patient": np.repeat(np.arange(PATIENTS), EACH),
            "age": np.repeat(age, EACH),
            "sex": np.where(np.repeat(female, EACH), "F", "M"),
            "view": np.where(rng.random(n) < 0.5, "PA", "AP"),
            "follow_up": np.tile(np.arange(EACH), PATIENTS),
        }
    )


@pytest.fixture(scope="module")
def images(table):
    """A bar as high as the patient is old, to the left or right by sex, over noise."""
    random = torch.Generator().manual_seed(0)
    height = torch.tensor(table["age"].to_numpy() / 90).view(-1, 1, 1)
    left = torch.tensor((table["sex"] == "M").to_numpy()).view(-1, 1, 1)
    reached = torch.linspace(1, 0, 24).view(-1, 1) <= height
    drawn = reached & ((torch.arange(24) < 12) == left)
    noise = 0.1 * torch.rand(drawn.shape, generator=random)
    return (0.9 * drawn + noise).unsqueeze(1).float()


def part(name, images, table):
    first, last = (EACH * n for n in PARTS[name])
    return ImageSet(images, owners_of(table["patient"]))[np.arange(first, last)]


def fitted(table, real, released, knowledge):
    auxiliary = Auxiliary(
        real=part("train", real, table),
        released=part("train", released, table),
        validation_real=part("validation", real, table),
        validation_released=part("validation", released, table),
    )
    return SoftBiometrics(SMALL, table, knowledge=knowledge).fit(auxiliary, seed=0)


@pytest.fixture(scope="module")
def ignorant(table, images):
    return fitted(table, images, images, "ignorant")


def linked(attacker, probes, gallery, table):
    return auc(attacker, *(part("test", images, table) for images in (probes, gallery)))


def test_facts_are_read_and_link(table, images, ignorant):
    assert ignorant.facts == ("age", "sex", "view")
    outputs = ignorant._outputs(part("test", images, table).images)
    test = table.iloc[EACH * 70 :]
    assert np.abs(ignorant.probes[0].number(outputs[:, 0]) - test["age"]).mean() < 8
    assert roc_auc_score(test["sex"] == "M", outputs[:, 1]) > 0.95
    assert linked(ignorant, images, images, table) > 0.85
    # The view is drawn at random: its likelihood ratios are near 1.
    assert np.abs(np.log(ignorant.model.ratios["view"])).max() < 0.4


def test_only_who_saw_released_images_reads_them(table, images, ignorant):
    """Released as negatives: who learnt from real images takes old for young, and who learnt from
    released ones alone would take the gallery's."""
    negatives = 1 - images
    informed = fitted(table, images, negatives, "informed")
    assert linked(informed, negatives, images, table) > 0.85
    assert linked(ignorant, negatives, images, table) < 0.7


def test_the_patients_of_the_probes_are_not_looked_at(table, images, ignorant):
    attacker = copy.copy(ignorant)
    attacker.frame = table.assign(age=50.0, sex="F", view="AP")
    probes = part("test", images, table)
    np.testing.assert_array_equal(
        attacker.score(probes.images, probes.images), ignorant.score(probes.images, probes.images)
    )


def test_nothing_to_read_is_an_error(table, images, ignorant):
    silent = table.assign(age=np.nan, sex="", view="AP")
    with pytest.raises(UsageError, match="finds no age, sex or view to learn"):
        fitted(silent, images, images, "informed")
    with pytest.raises(DataError, match="no probe image"):
        ignorant.score(images[:0], images)


def test_an_age_is_a_density_around_the_calibrated_output():
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=400)
    values = 50 + 15 * outputs + rng.normal(scale=4, size=400)
    values[::7] = np.nan
    reading = Reading("age", outputs, values, np.array([40.0, 60.0]))
    assert (reading.slope, reading.offset) == pytest.approx((15, 50), abs=0.6)
    assert reading.deviation == pytest.approx(4, abs=0.4)
    probabilities = reading.probabilities(np.array([-1.0, 0.4]))
    assert probabilities.shape == (2, 121)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    years = np.arange(121)
    assert probabilities @ years == pytest.approx([35, 56], abs=1)
    spread = np.sqrt(probabilities[0] @ (years - 35) ** 2)
    assert spread == pytest.approx(4, abs=0.5)


def test_a_choice_is_a_calibrated_probability():
    rng = np.random.default_rng(0)
    outputs = rng.normal(scale=3, size=2000)
    values = (rng.random(2000) < 1 / (1 + np.exp(-outputs / 3))).astype(float)
    probabilities = Reading("sex", outputs, values, values).probabilities(np.array([0.0, 3.0]))
    np.testing.assert_allclose(probabilities[:, 1], [0.5, 1 / (1 + np.exp(-1))], atol=0.04)
    np.testing.assert_allclose(probabilities.sum(1), 1)


def test_too_few_to_calibrate_fall_back_on_the_training_images():
    trained = np.array([20.0, 40.0, 60.0])
    reading = Reading("age", np.array([1.0]), np.array([np.nan]), trained)
    assert reading.number(np.array([0.0])) == pytest.approx(40)
    assert reading.deviation == pytest.approx(trained.std())
    one_sided = Reading("sex", np.array([1.0, 2.0]), np.array([1.0, 1.0]), np.array([0.0, 1.0]))
    assert one_sided.probabilities(np.array([0.0]))[0, 1] == 0.5
