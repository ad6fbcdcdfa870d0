"""Whether the lowest bits of a release link it, whichever attackers were asked for."""

from types import SimpleNamespace

import numpy as np
import pytest
from released_data import release

from anonymize.configuration import train_options
from anonymize.data.dataset import Dataset
from attacks.check.releases import class_images, watermarked
from attacks.evaluation import marks
from attacks.evaluation.marks import marks_told


@pytest.fixture(scope="module")
def options():
    return train_options("prichexy-net")(
        data={"size": 32, "patients": 60, "images": 180, "workers": 1},
        evaluation={"resamplings": 50},
    )


@pytest.fixture(scope="module")
def data(options):
    return Dataset.open(options.data)


def told(model, data, options, part="all"):
    return marks_told(release(data, model), part, options)


def test_a_watermark_is_found(data, options):
    found = told(watermarked(data, 0), data, options)
    assert found.value == 1
    assert found.interval[0] > 0.7


def test_without_one_matched_images_of_a_class_are_as_alike_as_those_of_a_patient(data, options):
    assert abs(told(class_images(data), data, options).value - 0.5) < 0.1


def test_a_sample_of_whole_patients_tells_as_much(data, options, monkeypatch):
    monkeypatch.setattr(marks, "MOST_PIXELS", 60 * 32 * 32)
    assert told(watermarked(data, 0), data, options).value == 1


def test_patients_are_drawn_whole():
    patients = np.repeat(np.arange(30), 3)
    rows = marks._of_some(patients, 10, 0)
    assert len(rows) == 12
    assert (np.unique(patients[rows], return_counts=True)[1] == 3).all()
    assert (marks._of_some(patients, 90, 0) == np.arange(90)).all()


def test_outputs_of_several_people_are_not_asked(options):
    several = SimpleNamespace(released=SimpleNamespace(contributors=object()))
    assert marks_told(several, "all", options) is None


def test_nobody_with_two_images_is_no_figure(data, options, monkeypatch):
    monkeypatch.setattr(marks, "_of_some", lambda *asked: np.unique(asked[0], return_index=True)[1])
    assert told(watermarked(data, 0), data, options) is None
