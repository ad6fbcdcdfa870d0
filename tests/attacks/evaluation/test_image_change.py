"""How far images are moved: each image by itself, and those that are left where they are."""

import numpy as np
import pytest
import torch

from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import HeldImages
from attacks.evaluation import image_change as measured

SIZE = 17  # 8 pixels to one unit of displacement


class Shift(Anonymizer):
    """Moves each image to the right by as many pixels as its first pixel says, times 8."""

    name = "shift"

    def displacement(self, images):
        moved = torch.zeros(len(images), 2, SIZE, SIZE)
        moved[:, 0] = images[:, 0, :1, :1]
        return moved

    def anonymize(self, images):
        return images


@pytest.mark.parametrize(
    ("pixels", "left"), [([2.0] * 8, 0), ([0.0, 0.5, 4.0, 4.0], 0.5), ([0.8, 4.0, 4.0, 4.0], 1 / 4)]
)
@pytest.mark.parametrize("batch", [64, 3])
def test_an_image_that_moves_less_than_a_quarter_as_far_is_left(pixels, left, batch, monkeypatch):
    monkeypatch.setattr(measured, "BATCH", batch)
    shown = torch.rand(len(pixels), 1, SIZE, SIZE, generator=torch.manual_seed(0))
    shown[:, 0, 0, 0] = torch.tensor(pixels) / 8
    images, rows = HeldImages(shown), np.arange(len(pixels))
    found = measured.image_change(Shift(), images, images, rows, device=torch.device("cpu"))
    far = found.displacement_px
    assert far.left == pytest.approx(left)
    assert far.mean == pytest.approx(np.mean(pixels), rel=1e-5)
    assert far.rms == pytest.approx(np.sqrt(np.mean(np.square(pixels))), rel=1e-5)
    assert far.max == pytest.approx(max(pixels), rel=1e-5)
