"""Files of every kind and small anonymizers, for the tests of the release."""

import csv
import io
import struct
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import tifffile
import torch
from click.testing import CliRunner
from PIL import Image, UnidentifiedImageError

from anonymize import flow
from anonymize.anonymizer import Anonymizer
from anonymize.cli import main
from anonymize.release.reasons import Refused
from anonymize.release.workers import worker, worker_pool

SIZE = (40, 52)  # H, W


class Wave(Anonymizer):
    """A smooth displacement of strength μ without any symmetry."""

    name = "wave"
    fingerprint = "0123456789abcdef" * 4

    def __init__(self, mu=0.05):
        self.options = {"mu": mu}

    def displacement(self, images):
        x, y = flow.identity_grid(images.float()).chunk(2, 1)
        d = torch.cat([torch.sin(3 * y + 1), torch.cos(4 * x + y)], 1)
        return (self.options["mu"] * d).expand(len(images), -1, -1, -1).contiguous()

    def anonymize(self, images):
        return flow.warp(images, self.displacement(images))


class Constant(Wave):
    """Moves every pixel of an image by whole pixels (right, down)."""

    def __init__(self, right, down):
        super().__init__()
        self.shift = right, down

    def displacement(self, images):
        h, w = images.shape[-2:]
        units = torch.tensor([2 * self.shift[0] / (w - 1), 2 * self.shift[1] / (h - 1)])
        return units.view(1, 2, 1, 1).expand(len(images), 2, h, w).contiguous()


class Broken(Wave):
    """Gives a displacement of NaN."""

    def displacement(self, images):
        return super().displacement(images) * float("nan")


class Still(Wave):
    """Says that it moves, and does not."""

    def displacement(self, images):
        return super().displacement(images) * 0


class Gray(Anonymizer):
    """Moves nothing, so that labels are released where they were."""

    name = "gray"
    options = {}  # noqa: RUF012

    def anonymize(self, images):
        return (images * 0.5 + 0.25).clamp(0, 1)


LONGEST = 240  # seconds that the kernel gives a forked process, which may inherit a lock


class InProcess(worker_pool.WorkerPool):
    """A crew without processes: tests reach into what it does, and it starts at once."""

    def call(self, function, *arguments):
        return worker_pool.unpacked(worker.outcome(function, arguments))


def fill(folder, files):
    for name, content in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def tree(folder):
    """{relative path: bytes} of every file."""
    files = sorted(p for p in folder.rglob("*") if not p.is_dir())
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}


def called(*words, stdin=None, code=None):
    """What comes of a command, whose exit status must be ``code`` where there is one."""
    result = CliRunner().invoke(main, [*map(str, words)], input=stdin)
    assert code in (None, result.exit_code), (result.exit_code, result.output)
    return result


def command(*arguments, model="dp-pix:b=4", **expected):
    """What comes of ``anonymize apply``; ``model``: None for none."""
    fixed = [*(("--model", model) if model else ()), "--device", "cpu"]
    return called("apply", *arguments, *fixed, **expected)


def checked(*arguments, **expected):
    """What comes of ``anonymize verify``."""
    return called("verify", *arguments, **expected)


@contextmanager
def refused(reason, detail=None):
    """What runs within must be refused for this reason, and in these words where there are any."""
    found = None
    try:
        yield
    except Refused as refusal:
        found = refusal
    assert found, "it was not refused"
    assert found.reason is reason, found.reason
    assert detail in (None, found.detail)


@contextmanager
def threads(number):
    """Torch computes in so many."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def rows(data):
    """The rows of a CSV table, dicts."""
    text = io.StringIO(data.decode("utf-8", "surrogateescape"), newline="")
    return list(csv.DictReader(text))


def table_of(rows):
    """The CSV table of rows."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def quarantine(private):
    """{input: reason} of the private list."""
    return {row["input"]: row["reason"] for row in rows((private / "quarantine.csv").read_bytes())}


def pixels(data):
    """A picture's values as Pillow gives them; by tifffile where Pillow cannot."""
    try:
        return np.asarray(Image.open(io.BytesIO(data)))
    except UnidentifiedImageError:
        return tifffile.imread(io.BytesIO(data))


def scene(top=255, channels=1, size=SIZE, dtype=np.uint8):
    """(H, W) or (H, W, C) without any symmetry, from 0 to ``top``."""
    y, x = np.mgrid[0 : size[0], 0 : size[1]] / max(size)
    planes = [
        0.5 + 0.3 * np.sin(7 * x + 3 * k + 5 * y * y) + 0.2 * np.cos(11 * y + k)
        for k in range(channels)
    ]
    planes = [(p - p.min()) / (p.max() - p.min()) for p in planes]
    return np.round(np.stack(planes, -1) * top).astype(dtype).squeeze()


def gray_rgb():
    return np.repeat(scene()[..., None], 3, 2)


def chunk(kind, content):
    body = kind + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def segment(marker, content):
    """A segment of a JPEG file."""
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def said_to_be(data, height, width):
    """A JPEG file with another size in its frame."""
    at = 5 + max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
    return data[:at] + struct.pack(">HH", height, width) + data[at + 4 :]


def png(samples, bits, colour, *, extra=b"", palette=None, interlaced=False, tail=b""):
    """A PNG by hand: filter 0, Adam7 where it is asked for; ``extra`` chunks behind IHDR."""
    h, w = samples.shape[:2]

    def rows(part):
        lines = []
        for row in part:
            if bits == 16:
                line = row.astype(">u2").tobytes()
            elif bits == 8:
                line = row.astype(np.uint8).tobytes()
            else:
                flat = row.ravel().astype(np.uint8)
                split = (flat[:, None] >> np.arange(bits - 1, -1, -1, dtype=np.uint8)) & 1
                line = np.packbits(split.ravel()).tobytes()
            lines.append(b"\0" + line)
        return b"".join(lines)

    adam7 = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4)]
    adam7 += [(2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    passes = adam7 if interlaced else [(0, 0, 1, 1)]
    stream = b"".join(rows(samples[y::dy, x::dx]) for y, x, dy, dx in passes)
    header = struct.pack(">IIBBBBB", w, h, bits, colour, 0, 0, int(interlaced))
    parts = [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), extra]
    if palette is not None:
        parts.append(chunk(b"PLTE", np.asarray(palette, np.uint8).tobytes()))
    parts += [chunk(b"IDAT", zlib.compress(stream)), chunk(b"IEND", b""), tail]
    return b"".join(parts)


def pillow(array, format, mode=None, **options):
    image = Image.fromarray(array)
    return saved(image if mode is None else image.convert(mode), format, **options)


def tiff(array, **options):
    file = io.BytesIO()
    tifffile.imwrite(file, array, **options)
    return file.getvalue()


def opaque(array):
    alpha = np.full((*array.shape[:2], 1), 255, array.dtype)
    return np.dstack([array, alpha])


RAMP = np.repeat(np.arange(256)[:, None], 3, 1)
COLOURS = np.stack([np.arange(256), 255 - np.arange(256), np.arange(256) * 7 % 256], 1)
SCENE16 = scene(65535, dtype=np.uint16)
CMYK = Image.fromarray(scene(255, 3)).convert("CMYK")


def saved(image, format, **options):
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


# Every kind of file that is released: name → content.
KINDS = {
    "gray1.png": png(scene(1), 1, 0),
    "gray2.png": png(scene(3), 2, 0),
    "gray4.png": png(scene(15), 4, 0),
    "gray8.png": png(scene(), 8, 0),
    "gray16.png": png(SCENE16, 16, 0),
    "gray-alpha.png": png(opaque(scene()), 8, 4),
    "rgb.png": png(scene(255, 3), 8, 2),
    "gray-as-rgb.png": png(gray_rgb(), 8, 2),
    "rgba.png": png(opaque(scene(255, 3)), 8, 6),
    "gray-as-rgba.png": png(opaque(gray_rgb()), 8, 6),
    "palette-gray.png": png(scene(), 8, 3, palette=RAMP),
    "palette-gray4.png": png(scene(15), 4, 3, palette=RAMP[::17]),
    "palette-colour.png": png(scene(), 8, 3, palette=COLOURS),
    "palette-colour2.png": png(scene(3), 2, 3, palette=COLOURS[::64]),
    "interlaced.png": png(scene(), 8, 0, interlaced=True),
    "interlaced16.png": png(SCENE16, 16, 0, interlaced=True),
    "gray.jpg": pillow(scene(), "JPEG", quality=90),
    "rgb.jpg": pillow(scene(255, 3), "JPEG", quality=75, subsampling=0),
    "rgb420.jpg": pillow(scene(255, 3), "JPEG", quality=60, subsampling=2),
    "gray-as-rgb.jpg": pillow(gray_rgb(), "JPEG", quality=80),
    "progressive.jpeg": pillow(scene(), "JPEG", quality=85, progressive=True),
    "cmyk.jpg": saved(CMYK, "JPEG", quality=90),
    "gray8.tif": tiff(scene()),
    "gray16.tif": tiff(SCENE16),
    "gray16-big-endian.tiff": tiff(SCENE16, byteorder=">"),
    "gray16-deflate.tif": tiff(SCENE16, compression="zlib"),
    "gray16-lzw.tif": pillow(SCENE16, "TIFF", compression="tiff_lzw"),
    "white-is-zero8.tif": tiff(scene(), photometric="miniswhite"),
    "white-is-zero16.tif": tiff(SCENE16, photometric="miniswhite"),
    "white-is-zero16-big-endian.tif": tiff(SCENE16, photometric="miniswhite", byteorder=">"),
    "gray1.tif": pillow(scene(1) > 0, "TIFF"),
    "gray1-fax.tif": pillow(scene(1) > 0, "TIFF", compression="group4"),
    "rgb.tif": tiff(scene(255, 3), photometric="rgb"),
    "rgba.tif": tiff(opaque(scene(255, 3)), photometric="rgb", extrasamples=["unassalpha"]),
    "gray-alpha.tif": pillow(opaque(scene()), "TIFF"),
    "gray-as-rgb.tif": tiff(gray_rgb(), photometric="rgb"),
    "palette.tif": saved(Image.fromarray(scene(255, 3)).quantize(64), "TIFF"),
    "cmyk.tif": saved(CMYK, "TIFF"),
    "jpeg-inside.tif": pillow(scene(255, 3), "TIFF", compression="jpeg"),
}
# A few of them, and two that are not.
MIXED = {
    "a/1.png": KINDS["gray8.png"],
    "a/2.jpg": KINDS["rgb.jpg"],
    "b/3.tif": KINDS["gray16.tif"],
    "4.png": KINDS["rgb.png"],
    "broken.png": b"x",
    "notes.txt": b"x",
}
