"""Sizes, modes, bit depths and grayness are kept; the warp is right in the file."""

import io

import numpy as np
import pytest
import tifffile
from PIL import Image
from release_specimens import (
    CMYK,
    KINDS,
    SCENE16,
    Constant,
    Wave,
    chunk,
    gray_rgb,
    pillow,
    pixels,
    png,
    saved,
    scene,
    tiff,
)
from scipy.ndimage import map_coordinates

from anonymize import flow
from anonymize.release import decode, encode, transform
from anonymize.release.radiograph import Radiograph
from anonymize.release.raster import read, write
from baselines.dp_pix import DPPix


def described(data):
    """What must stay, by other readers than the release's own."""
    if data[:2] in (b"II", b"MM"):
        with tifffile.TiffFile(io.BytesIO(data)) as file:
            page = file.pages[0]
            photometric = 2 if page.photometric == 6 else int(page.photometric)  # YCbCr → RGB
            kind = page.bitspersample, page.samplesperpixel, photometric, page.extrasamples
            return [file.byteorder, page.shape[:2], *kind]
    image = Image.open(io.BytesIO(data))
    depth = [data[24], data[25]] if image.format == "PNG" else []  # bit depth and colour type
    return [image.format, image.size, image.mode, *depth]


@pytest.mark.parametrize("method", ["wave", "dp-pix"])
def test_every_kind_is_kept(release, method, key):
    # By a key, since other noise may leave a small image of 1 bit as it is, which is quarantined.
    model = Wave() if method == "wave" else DPPix(b=4, key_file=key)
    done = release(KINDS, model, workers=2)
    assert done.quarantine == {}
    assert set(done.files) == {*KINDS, "manifest.csv"}
    for name, content in KINDS.items():
        assert described(done.files[name]) == described(content), name
        assert pixels(done.files[name]).shape == pixels(content).shape, name
        assert not np.array_equal(pixels(done.files[name]), pixels(content)), name
        if "gray-as" in name:
            colours = pixels(done.files[name])[..., :3]
            assert (colours[..., :1] == colours).all(), name


@pytest.mark.parametrize("name", ["gray16.png", "gray16-big-endian.tiff", "white-is-zero16.tif"])
def test_shift_by_whole_pixels_takes_the_pixel_to_the_right_and_below(release, name):
    done = release({name: KINDS[name]}, Constant(3, 2))
    released = pixels(done.files[name]).astype(int)
    assert np.abs(released[:-2, :-3] - SCENE16[2:, 3:]).max() <= 1


@pytest.mark.parametrize("name", ["gray8.png", "gray16.png", "rgb.tif"])
def test_warp_agrees_with_scipy(release, name):
    done = release({name: KINDS[name]}, Wave())
    before = np.atleast_3d(pixels(KINDS[name])).astype(float)
    after = np.atleast_3d(pixels(done.files[name]))
    view = transform.view(decode.picture("TIFF" if "tif" in name else "PNG", KINDS[name]))
    x, y = flow.pixels(Wave().displacement(view))[0].double().numpy()
    rows, columns = np.mgrid[0 : y.shape[0], 0 : y.shape[1]]
    for k in range(before.shape[2]):
        wanted = map_coordinates(before[..., k], [rows + y, columns + x], order=1, mode="nearest")
        assert np.abs(after[..., k] - wanted).max() < 0.6


def test_16_bit_ramp_survives_where_nothing_moves():
    ramp = np.arange(65536, dtype=np.uint16).reshape(256, 256, 1)
    radiograph = Radiograph("PNG", "gray", 16, ramp)
    displacement = Wave().displacement(transform.view(radiograph))
    displacement[..., :200, :] = 0
    made, _ = transform.anonymize(radiograph, displacement, Wave())
    assert (made.pixels[:200] == ramp[:200]).all()
    assert (made.pixels != ramp).any()
    again = decode.picture("PNG", encode.encode(made))
    assert (again.pixels == made.pixels).all()


@pytest.mark.parametrize("name", [n for n in KINDS if not n.endswith(("jpg", "jpeg"))])
def test_lossless_kinds_read_back_what_is_written(name):
    format = "TIFF" if "tif" in name else "PNG"
    radiograph = write.representable(decode.picture(format, KINDS[name]))
    again = decode.picture(format, encode.encode(radiograph))
    assert again.kind == radiograph.kind
    assert (again.pixels == radiograph.pixels).all()


def test_large_png_uses_every_filter_and_more_than_one_band():
    rng = np.random.default_rng(0)
    array = scene(255, 3, size=(600, 300))
    array[300:] = rng.integers(0, 255, (300, 300, 3))
    array[:, 100:] = 7
    radiograph = Radiograph("PNG", "rgb", 8, array)
    assert (pixels(encode.encode(radiograph)) == array).all()


def test_network_sees_white_is_zero_inverted_and_cmyk_as_shown():
    plain = decode.picture("TIFF", tiff(SCENE16))
    inverted = decode.picture("TIFF", tiff(65535 - SCENE16, photometric="miniswhite"))
    assert (plain.gray() == inverted.gray()).all()
    shown = np.asarray(CMYK.convert("RGB").convert("L")) / 255
    assert np.abs(decode.picture("TIFF", saved(CMYK, "TIFF")).gray() - shown).max() < 0.02


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_applied_to_the_pixels(release, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    files = {
        "a.jpg": pillow(scene(), "JPEG", quality=95, exif=exif),
        "a.tif": pillow(scene(), "TIFF", exif=exif),
        "a.png": pillow(scene(), "PNG", exif=exif),
    }
    done = release(files, Constant(0, 1))
    upright = Image.fromarray(scene())
    if orientation > 1:
        turns = [None, 0, 3, 1, 5, 4, 6, 2]
        upright = upright.transpose(Image.Transpose(turns[orientation - 1]))
    wanted = np.asarray(upright).astype(int)[1:]
    for name in files:
        assert np.abs(pixels(done.files[name])[:-1] - wanted).mean() < 2, name


def test_what_transparency_hides_is_not_released(release):
    hidden = np.full((40, 52, 4), 255, np.uint8)
    hidden[..., :3] = gray_rgb()
    hidden[5:25, 5:25, :3] = np.random.default_rng(0).integers(200, 255, (20, 20, 3))
    hidden[5:25, 5:25, 3] = 0
    key = scene().copy()
    key[5:25, 5:25] = 77
    files = {
        "rgba.png": png(hidden, 8, 6),
        "key.png": png(key, 8, 0, extra=chunk(b"tRNS", b"\0\x4d")),
        "palette.png": pillow(scene(), "PNG", mode="P", transparency=bytes([0] * 256)),
    }
    done = release(files, Constant(1, 1))
    inner = np.s_[6:22, 6:22]
    assert pixels(done.files["rgba.png"])[inner][..., :3].max() == 0
    assert (pixels(done.files["rgba.png"])[..., 3] == 255).all()
    assert pixels(done.files["key.png"])[inner].max() == 0
    assert done.quarantine == {"palette.png": "no-content"}


def test_jpeg_keeps_about_its_quality_and_size(release):
    big = scene(255, 1, size=(400, 500))
    for quality in (30, 75, 95):
        content = pillow(big, "JPEG", quality=quality)
        table = Image.open(io.BytesIO(content)).quantization[0]
        assert read.jpeg_quality(table) == quality
    done = release({"a.jpg": content}, Wave(0.01))
    assert 0.7 < len(done.files["a.jpg"]) / len(content) < 1.3


def test_wrong_extension_keeps_name_and_true_format(release):
    done = release(
        {"a.jpg": KINDS["gray8.png"], "b.png": KINDS["gray.jpg"], "c": KINDS["gray8.tif"]}
    )
    kinds = [Image.open(io.BytesIO(done.files[n])).format for n in ("a.jpg", "b.png", "c")]
    assert kinds == ["PNG", "JPEG", "TIFF"]
    assert b"other than the extension says" in (release.private / "map.csv").read_bytes()
    assert b"extension" not in done.files["manifest.csv"]


def test_spacing_gives_millimetres():
    radiograph = decode.picture("PNG", KINDS["gray8.png"])
    displacement = Constant(3, 4).displacement(transform.view(radiograph))
    figures = transform.measure(displacement, (0.5, 2.0))
    assert figures.displacement_max_px == pytest.approx(5)
    assert figures.displacement_max_mm == pytest.approx(np.hypot(3 * 2.0, 4 * 0.5))
    assert figures.min_jacobian == pytest.approx(1)
    assert transform.measure(displacement, None).displacement_max_mm is None
