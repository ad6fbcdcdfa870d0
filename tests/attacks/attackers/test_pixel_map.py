"""A map of pixels is found by pairs of before and after, whatever moved the pixels."""

import numpy as np
import pytest
import torch
from identities import auc, owners_of

from attacks.attacker import Auxiliary, ImageSet
from attacks.attackers.pixel_map import MappedPixels, PixelMap, PixelMapOptions

SIDE, PAIRS = 8, 300
REAL = torch.rand(PAIRS, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
ORDER = torch.from_numpy(np.random.default_rng(0).permutation(SIDE * SIDE))


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x,
        lambda x: x.flip(-2),
        lambda x: 1 - x,
        lambda x: 0.25 + 0.5 * x.transpose(-1, -2),
        lambda x: x.flatten(2)[..., ORDER].view_as(x),
    ],
    ids=["identity", "upside-down", "inverted", "pale and turned", "shuffled"],
)
def test_what_was_done_alike_to_all_is_undone(change):
    first, others = REAL[:200], REAL[200:]
    found = PixelMap.fit(change(first), first, pixels=4)
    assert (found.restored(change(others)) - others).abs().max() < 0.05


def test_what_has_nothing_of_an_image_gives_the_mean_image():
    for released in (torch.full_like(REAL, 0.5), torch.rand(REAL.shape)):
        restored = PixelMap.fit(released[:200], REAL[:200], pixels=4).restored(released[200:])
        away = (restored - REAL[:200].mean(0)).square().mean().sqrt()
        assert away < 0.5 * REAL.std()


def test_the_weights_are_those_of_the_formula():
    real, released = (torch.rand(50, 1, 2, 2).double() for _ in range(2))
    released = 0.5 * released + 0.5 * real.flip(-1)
    found = PixelMap.fit(released.float(), real.float(), pixels=2)
    x, y = released.flatten(1).numpy(), real.flatten(1).numpy()
    for t in range(4):
        r = np.array([np.corrcoef(x[:, p], y[:, t])[0, 1] for p in range(4)])
        best = np.argsort(-abs(r))[:2]
        assert set(found.where[t].tolist()) == set(best)
        z = (x[:, best] - x[:, best].mean(0)) / x[:, best].std(0)
        told = (z * r[best] / (1 - r[best] ** 2)).sum(1) / (
            1 + (r[best] ** 2 / (1 - r[best] ** 2)).sum()
        )
        expected = (y[:, t].mean() + y[:, t].std() * told).clip(0, 1)
        got = found.restored(released.float()).flatten(1)[:, t].numpy()
        np.testing.assert_allclose(got, expected, atol=1e-4)


def test_a_secret_order_of_the_pixels_hides_nobody():
    rng, patients = np.random.default_rng(1), 60
    smooth = torch.nn.functional.interpolate(
        torch.from_numpy(rng.random((patients, 1, 6, 6), np.float32)), (24, 24), mode="bicubic"
    ).clamp(0, 1)
    who = np.repeat(np.arange(patients), 2)
    noise = torch.from_numpy(rng.normal(0, 0.02, (2 * patients, 1, 24, 24)).astype(np.float32))
    images = (smooth[who] + noise).clamp(0, 1)
    order = torch.from_numpy(rng.permutation(24 * 24))
    shuffled = images.flatten(2)[..., order].view_as(images)

    real, released = (ImageSet(pixels, owners_of(who)) for pixels in (images, shuffled))
    train, validation, test = np.split(np.arange(2 * patients), [60, 80])
    options = PixelMapOptions(
        side=24, cells=(3, 6), components=(20,), shrinkage=(0.3,), restoration=(), copies=1
    )
    known = Auxiliary(real[train], released[train], real[validation], released[validation])
    attacker = MappedPixels(options).fit(known, seed=0)
    assert auc(attacker, released[test], real[test]) > 0.95
