"""The findings of the phantom data set: each shows where and how it should."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from phantom_subject import SIDED, SIZE, Subject, finding

from anonymize.data.phantom import LABELS
from anonymize.data.phantom.body import heart

pytestmark = pytest.mark.filterwarnings("error")


@cache
def healthy() -> tuple[Subject, np.ndarray]:
    """A person, and the image without a finding."""
    subject = Subject(2)
    return subject, subject.image()


@pytest.mark.parametrize("label", LABELS)
def test_every_finding_shows_and_in_another_way_when_larger(label: str) -> None:
    subject, without = healthy()
    small, large = (subject.image(finding(label, size=size)) for size in (0.2, 0.9))
    assert np.abs(small - without).max() > 0.04
    assert np.abs(large - small).max() > 0.04


@pytest.mark.parametrize("label", SIDED)
def test_a_finding_shows_on_its_side(label: str) -> None:
    subject, without = healthy()
    for side in (-1, 1):
        change = np.abs(subject.image(finding(label, side)) - without)
        there, elsewhere = change[subject.mask(side)], change[subject.mask(-side)]
        assert there.mean() > 1.5 * elsewhere.mean(), side


@pytest.mark.parametrize("side", [-1, 1])
def test_an_effusion_fills_the_costophrenic_angle_from_below(side: int) -> None:
    subject = Subject(4)
    change = subject.image(finding("Effusion", side)) - subject.image()
    lung_mask = subject.mask(side)
    rows = np.flatnonzero(lung_mask.any(axis=1))
    low, high = np.quantile(rows, 0.9), np.quantile(rows, 0.4)
    below = lung_mask & (np.arange(SIZE)[:, None] > low)
    above = lung_mask & (np.arange(SIZE)[:, None] < high)
    assert change[below].mean() > 0.15
    assert abs(change[above].mean()) < 0.05


@pytest.mark.parametrize("side", [-1, 1])
def test_a_pneumothorax_is_dark_and_without_vessels_at_the_wall(side: int) -> None:
    subject = Subject(4, size=256)
    healthy, ill = subject.image(), subject.image(finding("Pneumothorax", side))
    lung_mask = subject.mask(side, finding("Pneumothorax", side))
    column = np.arange(256) * side
    rows = np.flatnonzero(lung_mask.any(axis=1))
    change = []
    for row in rows[len(rows) // 3 : len(rows) // 2]:
        inside = np.flatnonzero(lung_mask[row])
        outer = inside[np.argsort(column[inside])][-8:]
        change.append((ill - healthy)[row, outer].mean())
    assert np.mean(change) < -0.02


def test_shape_findings_change_the_shape() -> None:
    subject = Subject(5)
    healthy = subject.body()
    large = subject.body(finding("Cardiomegaly"))
    assert np.ptp(heart(large)[:, 0]) > 1.2 * np.ptp(heart(healthy)[:, 0])
    inflated, shrunk = subject.body(finding("Emphysema")), subject.body(finding("Fibrosis"))
    for k in range(2):
        assert inflated.domes[k] > healthy.domes[k] + 1.0
        assert shrunk.domes[k] < healthy.domes[k] - 1.0
        arch = inflated.angles[k] - inflated.domes[k]
        assert arch < healthy.angles[k] - healthy.domes[k]


def test_edema_lies_about_the_hila_on_both_sides() -> None:
    subject = Subject(4)
    change = subject.image(finding("Edema")) - subject.image()
    x = (np.arange(SIZE) + 0.5) / SIZE - 0.5
    for side in (-1, 1):
        lung_mask = subject.mask(side)
        inner = lung_mask & (np.abs(x) < 0.2)
        outer = lung_mask & (np.abs(x) > 0.28)
        assert change[inner].mean() > change[outer].mean() + 0.02


def test_a_hernia_has_an_air_fluid_level_behind_the_heart() -> None:
    subject = Subject(4, size=256)
    change = subject.image(finding("Hernia", x=0.2)) - subject.image()
    column = change[:, 118:150].mean(axis=1)
    dark, bright = column.argmin(), column.argmax()
    assert column[dark] < -0.05
    assert column[bright] > 0.02
    level = np.diff(column)
    assert level.max() > 0.05
    assert dark < level.argmax() + 2
