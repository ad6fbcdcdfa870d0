"""What of a radiograph is shown to the gate and the OCR."""

import numpy as np
import pytest
from scipy import ndimage
from text_specimens import gray

from anonymize.release.burned_in import views
from anonymize.release.radiograph import Radiograph


def test_views_keep_the_brightest_letters_and_stretch_dim_pictures():
    picture = np.linspace(0, 3000, 10_000).reshape(100, 100).astype(np.uint16)
    whole, _ = views.views(gray(picture))
    assert (whole.pixels.min(), whole.pixels.max()) == (0, 255)
    picture[:2, :2] = 65535
    first, second, _ = (view.pixels for view in views.views(gray(picture)))
    assert first[50, 50] < 12
    assert first[0, 0] == 255 > first[5, 5]
    assert 100 < second[50, 50] < 155


def test_views_that_show_the_same_are_looked_at_once():
    picture = np.linspace(0, 255, 10_000).reshape(100, 100).astype(np.uint8)
    table = np.arange(256, dtype=np.uint8)
    steep = np.where(table < 100, 0, 255).astype(np.uint8)
    same = {"brightness": table / np.float32(255), "tables": (table, table + np.uint8(0), steep)}
    found = views.views(gray(picture, **same))
    assert [view.least for view in found] == [views.PLAIN, views.PLAIN, views.FAINT]
    np.testing.assert_array_equal(found[1].pixels, steep[picture])


@pytest.mark.parametrize("colours", [(), (3,)])
def test_local_contrast_is_an_inverse_hyperbolic_sine(colours):
    values = np.random.default_rng(0).integers(0, 4096, (90, 140, *colours)).astype(np.uint16)
    values[:40] //= 100
    side = (views.WIDE, views.WIDE, *(1 for _ in colours))
    low = ndimage.grey_opening(values, side, mode="nearest").astype(float)
    high = ndimage.grey_closing(values, side, mode="nearest").astype(float)
    thin = 2.0 * values - low - high
    usual = [
        ndimage.uniform_filter(np.abs(thin), (n, n, *(1 for _ in colours)), mode="mirror")
        for n in views.AROUND
    ]
    shown = 128 + views.GAIN * np.arcsinh(thin / np.maximum(views.USUAL * np.min(usual, 0), 0.5))
    found = views.local_contrast(values).astype(float)
    assert np.abs(found - shown.clip(0, 255)).max() < 0.51


def test_of_noise_there_is_a_view_with_less_of_it():
    rng, shades = np.random.default_rng(0), np.add.outer(np.arange(90), np.arange(140)) * 10
    assert [v.least for v in views.views(gray(shades.astype(np.uint16)))] == [
        views.PLAIN,
        views.FAINT,
    ]
    noisy = np.round(1000 + shades + rng.normal(0, 20, shades.shape)).astype(np.uint16)
    *_, sharp, soft = views.views(gray(noisy))
    assert sharp.least == soft.least == views.FAINT
    even = ndimage.gaussian_filter(noisy.astype(float), views.SOFT, mode="mirror")
    assert np.array_equal(sharp.pixels, views.local_contrast(noisy))
    off = views.local_contrast(even.astype(np.float32)).astype(int) - soft.pixels
    assert np.abs(off).max() <= 1


@pytest.mark.parametrize("ground", [(0, 0, 0, 255), (200, 255, 255, 0)])
def test_inks_that_others_cover_are_seen(ground):
    inks = np.full((120, 160, 4), ground, np.uint8)
    inks[..., ground.index(0)] += 90 * (np.arange(160) % 16 < 3).astype(np.uint8)
    seen = views.views(Radiograph("TIFF", "cmyk", 8, inks))
    assert np.ptp(views.colours(Radiograph("TIFF", "cmyk", 8, inks))[..., 1:]) == 0
    assert max(np.ptp(view.pixels) for view in seen if view.least == views.PLAIN) == 255
    assert max(np.ptp(view.pixels) for view in seen if view.least > views.PLAIN) > views.FAINT


@pytest.mark.parametrize("most", [0.3, 2.0, 40.0])
def test_noise_is_told_from_edges(most):
    """Of normal noise on shades and edges, beside a black ground without any."""
    rng, shades = np.random.default_rng(0), np.add.outer(np.arange(300), np.arange(400)) / 3.0
    picture = 1000 + shades + 500 * (shades % 60 < 30) + rng.normal(0, most, shades.shape)
    picture[:, :250] = 0
    assert views.noise(picture) == pytest.approx(most, rel=0.1)
    assert views.noise(np.zeros((40, 40, 3), np.uint8)) == 0


def test_little_contrast_is_stretched():
    """Strokes of two gray levels across a shade of forty."""
    on = np.arange(120) % 16 < 2
    part = np.round(np.linspace(100, 140, 80)[:, None] + 2 * on).astype(np.uint8)
    shown = views.stretched(part)
    assert (shown.min(), shown.max()) == (0, 255)
    inner = shown[20:-20].astype(float)
    assert inner[:, on].mean() - inner[:, np.roll(on, 8)].mean() > 30
    colours = np.repeat(part[..., None], 3, 2)
    assert np.array_equal(views.stretched(colours), np.repeat(shown[..., None], 3, 2))


@pytest.mark.parametrize("level", [0, 300, 4095])
def test_one_gray_level_shows_in_local_contrast(level):
    picture = np.full((120, 160), level, np.uint16)
    picture[50:70, 40:120:8] = level + 1 if level < 4095 else level - 1
    shown = views.local_contrast(picture).astype(int)
    assert np.ptp(shown[50:70, 40:120]) > 40
    picture[:, 130:] = 2000 - level // 3  # an edge beside it takes nothing away
    again = views.local_contrast(picture).astype(int)
    assert np.ptp(again[50:70, 40:110]) > 40


def test_large_pictures_are_reduced_and_colours_stay():
    colours = np.zeros((300, 3000, 3), np.uint8)
    colours[:, 1500:] = 200, 10, 10
    assert {view.pixels.shape for view in views.views(gray(colours))} == {(144, 1440, 3)}
