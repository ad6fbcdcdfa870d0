"""Whether a release gives away from whose films it was made."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from identities import smooth

from anonymize.data.batches import HeldImages
from attacks.evaluation import donors

PATIENTS, EACH = 40, 2
POOL = np.arange(PATIENTS * EACH // 2)  # the first half of the patients
DRAWN = {"resamplings": 200, "seed": 0}


FILMS = smooth(PATIENTS * EACH, 0)


def data(images=FILMS):
    rows = np.arange(len(images))
    table = SimpleNamespace(part=lambda part: {"train": rows}[part])
    return SimpleNamespace(table=table, images=HeldImages(images), patients=rows // EACH)


def told(released, pool=POOL):
    return donors.donors_told(released, data(), pool, **DRAWN)


@pytest.mark.parametrize("batch", [256, 7])
def test_films_that_are_shown_are_told(batch, monkeypatch):
    monkeypatch.setattr(donors, "BATCH", batch)
    found = told(FILMS[POOL])
    assert found.value == 1
    assert found.patients > 10


def test_also_when_noise_lies_over_them():
    noise = torch.randn(FILMS[POOL].shape, generator=torch.manual_seed(1)) * 0.1
    assert told((FILMS[POOL] + noise).clamp(0, 1)).interval[0] > 0.8


def test_images_of_nobody_tell_nothing():
    low, high = told(smooth(60, 9)).interval
    assert low < 0.5 < high


@pytest.mark.parametrize("pool", [np.arange(PATIENTS * EACH), np.array([], int)])
def test_nobody_is_told_from_nobody(pool):
    assert told(FILMS, pool) is None
