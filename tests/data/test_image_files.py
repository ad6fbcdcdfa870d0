"""Files of images: gray levels, sizes, and what cannot be read."""

import numpy as np
import pytest
import tifffile
from PIL import Image
from source_trees import save

from anonymize.data.image_files import read_gray, resize
from anonymize.errors import DataError


@pytest.mark.parametrize(
    ("suffix", "mode"),
    [
        *((".png", mode) for mode in ("1", "L", "LA", "P", "RGB", "RGBA")),
        *((".jpg", mode) for mode in ("L", "RGB", "CMYK")),
        *((".tif", mode) for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK")),
    ],
)
def test_gray_is_pillows_gray(tmp_path, suffix, mode):
    pixels = np.random.default_rng(1).integers(0, 256, (9, 14, 3), np.uint8)
    path = tmp_path / f"image{suffix}"
    Image.fromarray(pixels).convert(mode).save(path)
    with Image.open(path) as image:
        expected = np.asarray(image.convert("L"))
    found = read_gray(path)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_gray_levels_of_either_depth_stay(tmp_path, kind):
    top = np.iinfo(kind).max
    pixels = np.random.default_rng(2).integers(0, top, (12, 17), kind, endpoint=True)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    tifffile.imwrite(tmp_path / "b.tif", pixels, photometric="minisblack")
    tifffile.imwrite(tmp_path / "c.tif", pixels, photometric="minisblack", byteorder=">")
    tifffile.imwrite(tmp_path / "d.tif", top - pixels, photometric="miniswhite")
    for name in ("a.png", "b.tif", "c.tif", "d.tif"):
        found = read_gray(tmp_path / name)
        assert found.dtype == kind
        np.testing.assert_array_equal(found, pixels, err_msg=name)


def test_resize_is_bilinear_in_both_depths():
    pixels = np.random.default_rng(4).integers(0, 256, (50, 30), np.uint8)
    eight, sixteen = resize(pixels, 16), resize(pixels.astype(np.uint16) * 257, 16)
    expected = Image.fromarray(pixels).resize((16, 16), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(eight, np.asarray(expected))
    assert sixteen.dtype == np.uint16
    assert np.abs(sixteen / 257 - eight).max() < 1.01
    gradient = np.tile(np.arange(64, dtype=np.uint8), (64, 1))
    assert (np.diff(resize(gradient, 16).astype(int), axis=1) > 0).all()  # x stays x
    np.testing.assert_array_equal(resize(pixels[:30], 30), pixels[:30])


def damage_truncate(path):
    save(path, size=(64, 64))
    path.write_bytes(path.read_bytes()[:700])


UNREADABLE = {
    "truncated.png": (damage_truncate, "damaged or truncated"),
    "truncated.jpg": (damage_truncate, "damaged or truncated"),
    "text.png": (lambda p: p.write_text("hello"), "no PNG, JPEG or TIFF"),
    "empty.png": (lambda p: p.write_text(""), "no PNG, JPEG or TIFF"),
    "absent.png": (lambda p: None, "not there"),
    "image.bmp": (lambda p: save(p), "no PNG, JPEG or TIFF"),
    "frames.tif": (
        lambda p: tifffile.imwrite(p, np.zeros((3, 8, 8), np.uint8), photometric="minisblack"),
        "several frames",
    ),
    "float.tif": (lambda p: tifffile.imwrite(p, np.zeros((8, 8), np.float32)), "floating-point"),
    "deep.tif": (lambda p: tifffile.imwrite(p, np.full((8, 8), 70000, np.int32)), "fit 16 bits"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_files(name, tmp_path):
    make, message = UNREADABLE[name]
    make(tmp_path / name)
    with pytest.raises(DataError, match=message) as caught:
        read_gray(tmp_path / name)
    assert name not in str(caught.value)


@pytest.mark.parametrize("factor", [1.5, 3])
def test_decompression_bombs_are_refused(tmp_path, monkeypatch, factor):
    save(tmp_path / "a.png", size=(40, 40))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", int(1600 / factor))
    with pytest.raises(DataError, match="decompression bombs"):
        read_gray(tmp_path / "a.png")


def test_originals_of_the_wild(shared):
    files = sorted((shared / "data/originals").iterdir())
    assert len(files) == 18
    for path in files:
        image = read_gray(path)
        assert image.dtype == np.uint8
        assert image.ndim == 2
        assert resize(image, 64).std() > 5
