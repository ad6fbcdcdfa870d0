"""DP-Pix against its definition: cells, noise, and the bound that makes it private."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from scipy.stats import kstest, laplace

from baselines.dp_pix import DPPix

FAR = 1e-6  # p-value of a distribution that is not the one


def noise_of(model, images):
    """What was added to each cell, in units of the range, before clipping."""
    settings = model.settings.model_dump(exclude={"epsilon"})
    means = DPPix(**settings | {"epsilon": 1e15, "seed": 0, "key_file": None})
    return (model.noisy_cells(images) - means.noisy_cells(images)).numpy()


@pytest.mark.parametrize("b", [1, 2, 4, 8])
def test_pixelization_is_the_published_one(parity, b):
    data = load_file(parity / "dp_pix_no_noise.safetensors")
    out = DPPix(b=b, epsilon=1e9, seed=0)(data["image"])
    # The published program rounds to whole gray levels.
    assert torch.allclose(out, data[f"dp_pix_b{b}_eps1e9"], atol=1.01 / 255)


@pytest.mark.parametrize("b", [2, 3, 7, 100])
def test_cells_at_the_edge_are_means_of_what_they_hold(b):
    image = torch.rand(1, 1, 5, 7, generator=torch.manual_seed(0))
    out = DPPix(b=b, epsilon=1e9, seed=0)(image)
    for y in range(0, 5, b):
        for x in range(0, 7, b):
            cell = (..., slice(y, y + b), slice(x, x + b))
            assert torch.allclose(out[cell], image[cell].mean().expand_as(out[cell]), atol=1e-5)


def test_released_are_the_noisy_cells_clipped_and_enlarged():
    image = torch.rand(1, 1, 21, 30, generator=torch.manual_seed(0))
    model = DPPix(b=4, epsilon=0.1, seed=5)
    cells = model.noisy_cells(image)
    assert cells.shape == (1, 1, 6, 8)
    assert cells.min() < 0
    assert cells.max() > 1
    expected = np.kron(cells[0, 0].numpy(), np.ones((4, 4)))[:21, :30].clip(0, 1)
    assert torch.equal(model(image)[0, 0], torch.from_numpy(expected).float())


@pytest.mark.parametrize(
    ("b", "epsilon", "m", "images", "side"),
    [(1, 0.1, 1, 1, 256), (2, 0.1, 1, 1, 512), (4, 0.5, 1, 4, 512), (8, 0.1, 16, 16, 512)],
)
def test_noise_is_laplace_with_the_published_scale(b, epsilon, m, images, side):
    """Kolmogorov–Smirnov on 65,536 cells, in gray levels of 255 as Fan writes it."""
    given = torch.rand(images, 1, side, side, generator=torch.manual_seed(0))
    noise = 255 * noise_of(DPPix(b=b, epsilon=epsilon, m=m, seed=3), given).ravel()
    scale = 255 * m / (b**2 * epsilon)
    assert len(noise) == 65536
    assert kstest(noise, laplace(scale=scale).cdf).pvalue > 0.01
    for wrong in (0.92, 1.08):  # what else would pass unseen
        assert kstest(noise, laplace(scale=wrong * scale).cdf).pvalue < FAR


def test_noise_of_a_smaller_cell_has_the_scale_of_its_own_pixels():
    given = torch.rand(6000, 1, 5, 5, generator=torch.manual_seed(0))
    noise = noise_of(DPPix(b=3, epsilon=0.7, m=2, seed=1), given)[:, 0]
    for (row, column), pixels in {(0, 0): 9, (0, 1): 6, (1, 0): 6, (1, 1): 4}.items():
        drawn = noise[:, row, column]
        assert kstest(drawn, laplace(scale=2 / (pixels * 0.7)).cdf).pvalue > 0.01
        assert kstest(drawn, laplace(scale=2 / ((pixels + 1) * 0.7)).cdf).pvalue < 0.01


@pytest.mark.parametrize("m", [1, 3, 9])
def test_images_that_differ_in_m_pixels_are_hidden_by_epsilon(m):
    """Fan, Theorem 1: the likelihoods of any output differ by e^ε at most.

    Those of Laplace noise differ by exp(Σ |difference of the means| / scale), over all cells.
    """
    model = DPPix(b=3, epsilon=0.4, m=m, seed=0)
    model.noise = SimpleNamespace(laplace=lambda image, shape: torch.ones(shape).double())
    black = torch.zeros(1, 1, 8, 10)
    scale = model.noisy_cells(black)
    generator = torch.manual_seed(0)
    for _ in range(50):
        other = black.clone()
        changed = torch.randperm(80, generator=generator)[:m]
        other.view(-1)[changed] = 1
        loss = ((model.noisy_cells(other) - scale).abs() / scale).sum().item()
        assert loss == pytest.approx(0.4, rel=1e-6)  # the budget is used up, and no more


def correlation(a, b):
    return abs(np.corrcoef(a.ravel(), b.ravel())[0, 1])


def test_cells_and_images_share_no_noise():
    """Noise in common would cancel in a difference. 0.02: five deviations for 65,536 cells."""
    image = torch.rand(1, 1, 256, 256, generator=torch.manual_seed(0)) * 0.9
    neighbour = image.clone()
    neighbour[0, 0, 100, 100] += 1e-7
    model = DPPix(b=1, seed=1)
    noise = noise_of(model, image)
    assert correlation(noise[..., 1:], noise[..., :-1]) < 0.02
    assert correlation(noise[..., 1:, :], noise[..., :-1, :]) < 0.02
    assert correlation(noise, noise_of(model, neighbour)) < 0.02
    assert correlation(noise, noise_of(DPPix(b=1, seed=2), image)) < 0.02
    # Two unknowns of a cell in two equations: with common noise its mean would be known.
    assert correlation(noise, noise_of(DPPix(b=1, epsilon=0.2, seed=1), image)) < 0.02
    assert correlation(noise, noise_of(model, image)) == pytest.approx(1)
