"""Files as they are released are canonical, whatever they show and whichever zlib packed them."""

import tracemalloc
import zlib
from types import SimpleNamespace

import imagecodecs
import numpy as np
import pytest
from dicom_specimens import JPEG_2000, capture, cr, dx, file, picture, with_pixels
from label_specimens import ellipse, nifti_mask, palette_mask, png_mask
from PIL import Image
from release_specimens import COLOURS, KINDS, Constant, Wave, fill, png, saved, scene

from anonymize.release import verify
from anonymize.release.checking import canonical
from anonymize.release.dicom.options import DicomOptions
from anonymize.release.labels.options import LabelOptions
from anonymize.release.raster import deflate, jpeg, write
from anonymize.release.reasons import ContainerError

RNG = np.random.default_rng(11)
NOISE = RNG.integers(0, 256, (300, 170), dtype=np.uint8)


def dicoms():
    made = {}
    for name, make in (("cr", cr), ("dx", dx), ("capture", capture)):
        for bits, signed in ((8, False), (12, False), (12, True), (16, False), (15, True)):
            values = picture(bits, signed=signed, size=(41, 53))
            data = with_pixels(make(), values, bits=bits, signed=signed)
            made[f"{name}{bits}{signed}.dcm"] = file(data)
            made[f"{name}{bits}{signed}-j.dcm"] = file(data, JPEG_2000)
    return made


class OtherZlib:
    """A compressor as zlib.compressobj gives it, of zlib-ng."""

    def __init__(self, level, strategy):
        self.level, self.parts = level, []

    def compress(self, part):
        self.parts.append(part)
        return b""

    def flush(self):
        return bytes(imagecodecs.zlibng_encode(b"".join(self.parts), level=self.level))


def sound(out):
    report = verify.verify(out)
    assert report.sound, report.findings
    return report.files


@pytest.mark.parametrize(
    ("model", "other"), [(Wave(), False), (Wave(), True), (Constant(3, -2), False)]
)
def test_every_kind_of_picture(release, monkeypatch, model, other):
    large = {
        "noise.png": png(NOISE, 8, 0),
        "many-colours.png": png(NOISE, 8, 3, palette=COLOURS),
        "large.png": png(scene(size=(700, 900)), 8, 0),
    }
    with monkeypatch.context() as patched:
        if other:
            patched.setattr(write, "zlib", SimpleNamespace(compressobj=OtherZlib))
        done = release(KINDS | large, model)
    assert not done.quarantine
    assert sound(release.out) == len(KINDS) + len(large)


def test_pictures_of_earlier_releases(monkeypatch):
    """Whose streams were packed with all that zlib can find, not with runs alone."""
    now = write.png(NOISE[..., None], 8, 0)
    monkeypatch.setattr(write, "FILTERED", write.PLAIN)
    before = write.png(NOISE[..., None], 8, 0)
    monkeypatch.undo()
    assert before != now
    canonical.check("PNG", before)
    canonical.check("PNG", now)


def test_a_stream_of_more_than_the_picture_is_not_unpacked():
    bomb = zlib.compress(bytes(1 << 25))
    tracemalloc.start()
    with pytest.raises(ContainerError, match="of other data"):
        deflate.check(bomb, bytes(8))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("syntax", ["keep", "rle"])
def test_dicom(release, syntax):
    files = dicoms()
    assert not release(files, dicom=DicomOptions(transfer_syntax=syntax)).quarantine
    assert sound(release.out) == len(files)


def test_masks(release, tmp_path):
    shape = ellipse()
    values = shape * 1 + ellipse(centre=(20, 12), axes=(5, 5)) * 2
    masks = {
        "a_lungs.png": palette_mask(values),
        "a_heart.png": png_mask(shape),
        "a_rib.png": png_mask(shape, "1"),
        "a_hilum.nii": nifti_mask(shape, compressed=False),
        "a_aorta.nii.gz": nifti_mask(values),
    }
    fill(tmp_path / "given", masks)
    release({"a.png": KINDS["gray8.png"]}, labels=LabelOptions((tmp_path / "given",)))
    assert sound(release.out) == 6


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_tables_that_libjpeg_chooses(mode):
    """The optimal Huffman tables, also where codes of more than 16 bits must be shortened."""
    for turn in range(40):
        height, width = RNG.integers(16, 90, 2)
        channels = {"L": 1, "RGB": 3, "CMYK": 4}[mode]
        spread = (1, 20, 90)[turn % 3]
        pixels = RNG.normal(128, spread, (height, width, channels)).clip(0, 255).astype(np.uint8)
        image = Image.frombytes(mode, (int(width), int(height)), pixels.tobytes())
        options = {"subsampling": turn % 3} if mode == "RGB" else {}
        quality = int(RNG.integers(1, 101))
        jpeg.check(saved(image, "JPEG", quality=quality, optimize=True, **options))


def sizes_as_libjpeg_counts_them(counts):
    """jpeg_gen_optimal_table with its linked lists."""
    counts, sizes, others = [*counts, 1], [0] * 257, [-1] * 257

    def least(but=-1):
        there = [i for i in range(257) if counts[i] and i != but]
        return min(there, key=lambda i: (counts[i], -i), default=-1)

    def deepen(i):
        sizes[i] += 1
        while others[i] >= 0:
            i = others[i]
            sizes[i] += 1
        return i

    while (other := least(but=(one := least()))) >= 0:
        counts[one] += counts[other]
        counts[other] = 0
        others[deepen(one)] = other
        deepen(other)
    return sizes


def test_optimal_tables():
    for turn in range(30):
        check_optimal(turn)


def check_optimal(turn):
    counts = np.zeros(256, int)
    there = RNG.permutation(256)[: RNG.integers(1, 250)]
    counts[there] = 2 ** RNG.integers(0, 1 + turn, len(there)) + RNG.integers(0, 3, len(there))
    table = jpeg.optimal(counts.tolist())
    lengths, symbols = table[:16], list(table[16:])
    sizes = sizes_as_libjpeg_counts_them(counts.tolist())
    assert symbols == sorted(there.tolist(), key=lambda symbol: (sizes[symbol], symbol))
    if max(sizes) <= 16:
        longest = max(i for i in range(1, 17) if i in sizes)
        found = [sizes.count(i) - (i == longest) for i in range(1, 17)]
        assert list(lengths) == found
    # With the code that no symbol has, the tree is full (Kraft).
    used = [i + 1 for i, n in enumerate(lengths) for _ in range(n)]
    assert sum(2.0**-size for size in used) == 1 - 2.0 ** -max(used)
