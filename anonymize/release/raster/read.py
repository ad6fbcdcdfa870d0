"""Bytes of a PNG, JPEG or TIFF file → Radiograph; nothing but pixels is taken over."""

from __future__ import annotations

import io
import struct
from dataclasses import replace

import numpy as np
from PIL import Image, ImageOps, JpegImagePlugin

from anonymize.release.radiograph import MAX_PIXELS, Radiograph, check_size
from anonymize.release.raster import containers
from anonymize.release.raster.containers import TiffDirectory
from anonymize.release.raster.jpeg import quantisations
from anonymize.release.reasons import Reason, Refused, damage_refused

USUAL_SCANS, MAX_SCANS = 16, 256  # of a progressive JPEG: of the largest size, of any
ORIENTATION = 274  # of Exif and TIFF; 1 is upright
PNG_LAYOUTS = {0: "gray", 2: "rgb", 3: "palette", 4: "gray", 6: "rgb"}
TIFF_LAYOUTS = {0: "gray", 1: "gray", 2: "rgb", 3: "palette", 5: "cmyk", 6: "rgb"}
COLOURS = {"gray": 1, "palette": 1, "rgb": 3, "cmyk": 4}


@damage_refused()
def decode(format: str, data: bytes) -> Radiograph:
    """The radiograph in ``data``, a file of ``format``. Raises Refused: damaged, several pictures,
    too large or small, or pixels that could not be written back at their own depth."""
    return {"PNG": _png, "JPEG": _jpeg, "TIFF": _tiff}[format](data)


def _open(data: bytes, format: str, modes: tuple[str, ...]) -> Image.Image:
    image = Image.open(io.BytesIO(data), formats=[format])
    if image.mode not in modes:
        raise Refused(Reason.UNSUPPORTED_PIXELS, f"mode {image.mode}")
    image.load()
    return image


def _png(data: bytes) -> Radiograph:
    chunks = containers.png_chunks(data)
    width, height, bits, colour = struct.unpack(">IIBB", chunks[0][1][:10])
    check_size(width, height)
    if any(kind in (b"acTL", b"fcTL", b"fdAT") for kind, _ in chunks):
        raise Refused(Reason.MULTI_FRAME, "animation")
    if bits == 16 and colour != 0:
        raise Refused(Reason.UNSUPPORTED_PIXELS, "16 bits with colour or alpha")
    if containers.png_excess(chunks) > 0:
        raise Refused(Reason.DAMAGED, "more than its pixels")
    # Pillow sees no text, profile or time: only pixels, and Exif for its Orientation.
    kept = (b"IHDR", b"PLTE", b"IDAT", b"IEND", b"eXIf", *((b"tRNS",) if colour == 3 else ()))
    image = _open(
        containers.png_join([chunk for chunk in chunks if chunk[0] in kept]),
        "PNG",
        ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"),
    )
    turned = _turned(image)
    image = ImageOps.exif_transpose(image)
    layout = PNG_LAYOUTS[colour]
    transparency = next((content for kind, content in chunks if kind == b"tRNS"), None)
    if layout == "palette":
        pixels = _palette(image, transparent=transparency is not None)
        return Radiograph("PNG", layout, bits, pixels, turned=turned)
    pixels = _native(np.asarray(image), bits)
    if transparency is not None and colour in (0, 2):
        hidden = struct.unpack(f">{len(transparency) // 2}H", transparency)
        clear = (pixels == np.array(hidden[: COLOURS[layout]])).all(-1)
        pixels = np.where(clear[..., None], pixels.dtype.type(0), pixels)
    return _opaque(Radiograph("PNG", layout, bits, pixels, turned=turned))


def _jpeg(data: bytes) -> Radiograph:
    frame, scans = None, 0
    for marker, content, _ in containers.jpeg_segments(data):
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            if marker > 0xC2 or content[0] != 8 or frame is not None:
                raise Refused(Reason.UNSUPPORTED_PIXELS, "neither baseline nor progressive, 8 bits")
            frame = content
            width, height = containers.jpeg_size(content, data)
        scans += marker == 0xDA
        if marker == 0xE2 and content.startswith(b"MPF\0"):
            raise Refused(Reason.MULTI_FRAME, "MPO")
    if frame is None:
        raise Refused(Reason.DAMAGED, "no frame")
    check_size(width, height)
    if scans > min(MAX_SCANS, USUAL_SCANS * MAX_PIXELS // (width * height)):
        raise Refused(Reason.DAMAGED, "more scans than a picture needs")
    image = _open(data, "JPEG", ("L", "RGB", "CMYK"))
    layout = {"L": "gray", "RGB": "rgb", "CMYK": "cmyk"}[image.mode]
    assert isinstance(image, JpegImagePlugin.JpegImageFile)
    table = image.quantization[image.layer[0][3]]
    subsampling = JpegImagePlugin.get_sampling(image) if layout == "rgb" else 0
    pixels = _native(np.asarray(ImageOps.exif_transpose(image)), 8)
    return Radiograph(
        "JPEG",
        layout,
        8,
        pixels,
        turned=_turned(image),
        quality=jpeg_quality(table),
        subsampling=max(subsampling, 0),
    )


def _turned(image: Image.Image) -> bool:
    return image.getexif().get(ORIENTATION, 1) in range(2, 9)


def jpeg_quality(table: list[int]) -> int:
    """The quality of 1 to 100 whose luminance table is nearest to ``table`` in its sum.

    A number is taken over instead of the table, since 64 free bytes could carry a message.
    """
    distances = [abs(sum(table) - sum(known[1:])) for known in quantisations(1)]
    return 1 + distances.index(min(distances))


def _tiff(data: bytes) -> Radiograph:
    directory = containers.tiff_directory(data)
    if directory.following:
        raise Refused(Reason.MULTI_FRAME, "pages")
    check_size(directory.value(256, 0), directory.value(257, 0))
    if _parts_missing(directory):  # a decoder would make up the rest, megapixels of it
        raise Refused(Reason.DAMAGED, "strips or tiles for a part of the picture only")
    photometric, samples = directory.value(262, -1), directory.value(277, 1)
    depths = set(directory.values(258, (1,)))
    layout, bits = TIFF_LAYOUTS.get(photometric, ""), min(depths)
    allowed = {"gray": (1, 2, 4, 8, 16), "palette": (1, 2, 4, 8), "rgb": (8,), "cmyk": (8,)}
    extra = directory.values(338, ())
    alpha = samples - COLOURS.get(layout, 0) == 1 and extra in ((1,), (2,))
    if (
        len(depths) != 1
        or bits not in allowed.get(layout, ())
        or set(directory.values(339, (1,))) != {1}
        or samples != COLOURS[layout] + alpha
        or (alpha and (layout in ("palette", "cmyk") or bits != 8))
    ):
        raise Refused(
            Reason.UNSUPPORTED_PIXELS,
            f"TIFF of PhotometricInterpretation {photometric}, {bits} bits and {samples} samples a "
            "pixel; gray of 1 to 16 bits, a palette of 1 to 8, RGB and CMYK of 8 are read",
        )
    white_is_zero = photometric == 0
    if white_is_zero:
        # Decoders differ in whether they invert (and at which depth); as BlackIsZero they agree.
        tag = directory.tags[262]
        at, letter = tag.place[0], {1: "B", 3: "H", 4: "I"}[tag.kind]
        one = struct.pack(directory.order + letter, 1)
        data = data[:at] + one + data[at + len(one) :]
    image = _open(data, "TIFF", ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I;16B"))
    if layout == "palette":
        pixels = _palette(image, transparent=False)
    else:
        pixels = _native(np.asarray(image), bits)
    radiograph = Radiograph(
        "TIFF",
        layout,
        bits,
        pixels,
        turned=directory.value(ORIENTATION, 1) in range(2, 9),
        white_is_zero=white_is_zero,
        order=directory.order,
        compressed=directory.value(259, 1) != 1,
    )
    if white_is_zero:
        return radiograph.with_pixels((radiograph.top - pixels).astype(pixels.dtype))
    return _opaque(radiograph) if alpha else radiograph


def _parts_missing(directory: TiffDirectory) -> bool:
    """Whether a TIFF has fewer strips or tiles than its size needs."""
    width, height = directory.value(256, 0), directory.value(257, 0)
    if 324 in directory.tags:
        across, down, offsets = directory.value(322, 1), directory.value(323, 1), 324
    else:
        across, down, offsets = width, directory.value(278, height), 273
    planes = directory.value(277, 1) if directory.value(284, 1) == 2 else 1
    needed = planes * -(-width // max(across, 1)) * -(-height // max(down, 1))
    return len(directory.values(offsets, ())) < needed


def _native(array: np.ndarray, bits: int) -> np.ndarray:
    """A decoder's array as (H, W, C) in native byte order and [0, 2**bits − 1]."""
    if bits == 16:
        if array.dtype.itemsize != 2:
            raise Refused(Reason.UNSUPPORTED_PIXELS, "16 bits were not decoded as such")
        array = array.astype(np.uint16)
    elif bits < 8:  # Pillow spreads these over [0, 255]
        array = array.astype(np.uint8) // (1 if bits == 1 else 255 // ((1 << bits) - 1))
    return array[..., None] if array.ndim == 2 else array


def _opaque(radiograph: Radiograph) -> Radiograph:
    """Colours over black, the alpha channel dropped and noted."""
    pixels = radiograph.pixels
    if pixels.shape[2] == COLOURS[radiograph.layout]:
        return radiograph
    colours, alpha = pixels[..., :-1], pixels[..., -1:].astype(np.uint32)
    top = radiograph.top
    if (alpha != top).any():
        colours = ((colours * alpha + top // 2) // top).astype(pixels.dtype)
    return replace(radiograph, pixels=np.ascontiguousarray(colours), alpha=True)


def _palette(image: Image.Image, *, transparent: bool) -> np.ndarray:
    """(H, W, 3) colours of a palette image over black, or (H, W, 1) where all are gray."""
    if image.mode != "P":
        raise Refused(Reason.UNSUPPORTED_PIXELS, f"palette as mode {image.mode}")
    pixels = np.asarray(image.convert("RGBA" if transparent else "RGB"))
    if transparent:
        pixels = _opaque(Radiograph("PNG", "rgb", 8, pixels)).pixels
    return pixels[..., :1] if (pixels[..., :1] == pixels[..., 1:]).all() else pixels
