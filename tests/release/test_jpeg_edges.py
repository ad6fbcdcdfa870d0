"""What lies in a JPEG file beyond the edges of its picture is its edge repeated, or refused."""

from itertools import pairwise

import numpy as np
import pytest
from release_specimens import pillow, said_to_be, scene

from anonymize.release.raster import jpeg, jpeg_edges
from anonymize.release.reasons import ContainerError

KINDS = {"L": ("L", 0), "4:4:4": ("RGB", 0), "4:2:2": ("RGB", 1), "4:2:0": ("RGB", 2)}
KINDS["CMYK"] = ("CMYK", 0)


def encoded(pixels, kind, quality):
    mode, subsampling = KINDS[kind]
    options = {"subsampling": subsampling} if mode == "RGB" else {}
    return pillow(pixels, "JPEG", mode, quality=quality, optimize=True, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_what_libjpeg_repeats_is_sound(kind):
    for quality in (1, 50, 75, 95, 100):
        rng = np.random.default_rng(quality)
        noise = rng.integers(0, 256, (64, 64, 3)).astype(np.uint8)
        for source in (scene(255, size=(64, 64), dtype=np.uint8), noise, noise // 128 * 255):
            for height, width in rng.integers(33, 65, (4, 2)):
                jpeg.check(encoded(source[:height, :width], kind, quality))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("quality", [50, 75, 95])
@pytest.mark.parametrize("seen", [(48, 41), (41, 48), (43, 44)])
def test_anything_else_beyond_an_edge_is_found(kind, quality, seen):
    whole = np.pad(scene(255, size=seen, dtype=np.uint8), [(0, 48 - n) for n in seen], mode="edge")
    jpeg.check(said_to_be(encoded(whole, kind, quality), *seen))
    whole[seen[0] :, ::2] ^= 128
    whole[::2, seen[1] :] ^= 128
    with pytest.raises(ContainerError, match="beyond an edge"):
        jpeg.check(said_to_be(encoded(whole, kind, quality), *seen))


def test_a_block_of_no_sample_says_nothing():
    flat = np.full((16, 16), 90, np.uint8)
    flat[:, 8:] = 91  # one step of the mean, in a block that nobody sees
    said = np.repeat(flat[..., None], 3, 2)
    with pytest.raises(ContainerError, match="beyond an edge"):
        jpeg.check(said_to_be(encoded(said, "4:2:0", 95), 16, 8))
    said[:, 8:] = 90
    jpeg.check(said_to_be(encoded(said, "4:2:0", 95), 16, 8))


def test_coefficients_are_in_the_order_of_the_standard():
    assert jpeg_edges.ZIGZAG[:6] == [(0, 0), (0, 1), (1, 0), (2, 0), (1, 1), (0, 2)]
    assert jpeg_edges.ZIGZAG[-3:] == [(6, 7), (7, 6), (7, 7)]
    steps = [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairwise(jpeg_edges.ZIGZAG)]
    assert set(steps) == {1, 2}
