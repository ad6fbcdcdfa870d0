"""Radiograph → bytes of a PNG, JPEG or TIFF file, written from pixels only.

PNG and TIFF are put together here, so that every byte is known; libjpeg writes JPEG. The same
pixels always give the same bytes.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterable

import numpy as np
from PIL import Image

from anonymize.release.radiograph import Radiograph
from anonymize.release.raster import containers
from anonymize.release.raster.deflate import HEAD

Deflate = Callable[[Iterable[bytes], int], bytes]  # parts of one stream, strategy → the stream
ROWS = 256  # rows that are filtered, or written as a TIFF strip, at a time
LEVEL = 6
# Of what filters have left of a gray picture, runs alone: ten times faster, and no larger. Equal
# channels repeat, which runs do not see.
FILTERED, PLAIN = zlib.Z_RLE, zlib.Z_DEFAULT_STRATEGY
PNG_COLOURS = {("gray", False): 0, ("rgb", False): 2, ("palette", False): 3}
PNG_COLOURS |= {("gray", True): 4, ("rgb", True): 6}
TIFF_PHOTOMETRIC = {"gray": 1, "rgb": 2, "palette": 3, "cmyk": 5}


def representable(radiograph: Radiograph) -> Radiograph:
    """The nearest radiograph that its own kind of file can hold: palettes are chosen anew."""
    if radiograph.layout != "palette":
        return radiograph
    indices, palette = _indexed(radiograph)
    colours = palette[indices]
    return radiograph.with_pixels(colours[..., : radiograph.pixels.shape[2]])


def deflated(parts: Iterable[bytes], strategy: int) -> bytes:
    """The zlib stream of ``parts``; its head is the same for each strategy."""
    stream = zlib.compressobj(LEVEL, strategy=strategy)
    return HEAD + b"".join([*map(stream.compress, parts), stream.flush()])[len(HEAD) :]


def encode(radiograph: Radiograph, deflate: Deflate = deflated) -> bytes:
    """The file. ``radiograph`` must be representable."""
    if radiograph.format == "JPEG":
        return _jpeg(radiograph)
    return {"PNG": _png, "TIFF": _tiff}[radiograph.format](radiograph, deflate)


def _indexed(radiograph: Radiograph) -> tuple[np.ndarray, np.ndarray]:
    """Indices (H, W) and palette (2**bits, 3): a ramp of grays, or colours of these very pixels."""
    pixels, size = radiograph.pixels, 1 << radiograph.bits
    if pixels.shape[2] == 1:
        ramp = np.round(np.linspace(0, 255, size)).astype(np.uint8)
        indices = np.round(pixels[..., 0] * np.float32((size - 1) / 255)).astype(np.uint8)
        return indices, np.repeat(ramp[:, None], 3, 1)
    colours = np.unique(_codes(pixels))
    if len(colours) <= size:
        palette = np.zeros((size, 3), np.uint8)
        palette[: len(colours)] = colours[:, None] >> np.array([16, 8, 0]) & 255
        return np.searchsorted(colours, _codes(pixels)).astype(np.uint8), palette
    image = Image.fromarray(pixels).quantize(
        size, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE
    )
    chosen = np.array(image.getpalette("RGB"), np.uint8).reshape(-1, 3)[:size]
    # Again: in the order of the colours, and without those that are not in use.
    return _indexed(radiograph.with_pixels(chosen[np.asarray(image)]))


def _codes(colours: np.ndarray) -> np.ndarray:
    return colours.astype(np.uint32) @ np.array([65536, 256, 1], np.uint32)


def stored_samples(radiograph: Radiograph) -> np.ndarray:
    """What is stored, (H, W, C): indices, inverted values, an opaque alpha channel."""
    if radiograph.layout == "palette":
        return _indexed(radiograph)[0][..., None]
    pixels = radiograph.pixels
    if radiograph.white_is_zero:
        pixels = (radiograph.top - pixels).astype(pixels.dtype)
    if radiograph.alpha:
        alpha = np.full((*pixels.shape[:2], 1), radiograph.top, pixels.dtype)
        pixels = np.concatenate([pixels, alpha], 2)
    return pixels


def _rows(samples: np.ndarray, bits: int, order: str) -> np.ndarray:
    """(H, bytes in a row) uint8; 1, 2 and 4 bits are packed from the high end."""
    height = samples.shape[0]
    if bits == 16:
        return samples.astype(order + "u2").reshape(height, -1).view(np.uint8)
    rows = samples.reshape(height, -1)
    if bits == 8:
        return rows
    split = (rows[..., None] >> np.arange(bits - 1, -1, -1, dtype=np.uint8)) & 1
    return np.packbits(split.reshape(height, -1), axis=1)


def _png(radiograph: Radiograph, deflate: Deflate) -> bytes:
    samples = stored_samples(radiograph)
    colour = PNG_COLOURS[radiograph.layout, radiograph.alpha]
    palette = _indexed(radiograph)[1] if colour == 3 else None
    return png(samples, radiograph.bits, colour, palette, deflate)


def png(
    samples: np.ndarray,
    bits: int,
    colour: int,
    palette: np.ndarray | None = None,
    deflate: Deflate = deflated,
) -> bytes:
    """The PNG file of ``samples`` (H, W, C) of PNG's colour type ``colour``."""
    height, width, channels = samples.shape
    rows = _rows(samples, bits, ">")
    step = channels * bits // 8
    unfiltered = colour == 3 or bits < 8

    def filtered() -> Iterable[bytes]:
        above = np.zeros((1, rows.shape[1]), np.uint8)
        for start in range(0, height, ROWS):
            band = rows[start : start + ROWS]
            if unfiltered:
                yield np.pad(band, ((0, 0), (1, 0))).tobytes()
            else:
                yield _filtered(band, np.concatenate([above, band[:-1]]), step).tobytes()
            above = band[-1:]

    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    packed = deflate(filtered(), PLAIN if unfiltered or channels > 1 else FILTERED)
    chunks = [(b"IHDR", header), (b"IDAT", packed), (b"IEND", b"")]
    if palette is not None:
        chunks.insert(1, (b"PLTE", palette.tobytes()))
    return containers.png_join(chunks)


def _filtered(band: np.ndarray, above: np.ndarray, step: int) -> np.ndarray:
    """PNG's filters 0 to 4, for each row the one with the least sum of absolute differences."""
    x, up = band.astype(np.int16), above.astype(np.int16)
    left = np.pad(x, ((0, 0), (step, 0)))[:, :-step]
    corner = np.pad(up, ((0, 0), (step, 0)))[:, :-step]
    to_left, to_up = np.abs(up - corner), np.abs(left - corner)
    to_corner = np.abs(left + up - 2 * corner)
    paeth = np.where(
        (to_left <= to_up) & (to_left <= to_corner), left, np.where(to_up <= to_corner, up, corner)
    )
    best, cost = band, None
    number = np.zeros(len(band), np.uint8)
    predictions: tuple[np.ndarray | int, ...] = (0, left, up, (left + up) // 2, paeth)
    for i, predicted in enumerate(predictions):
        candidate = (x - predicted).astype(np.uint8)
        price = np.abs(candidate.view(np.int8).astype(np.int16)).sum(1, dtype=np.int64)
        if cost is None:
            best, cost = candidate, price
            continue
        better = price < cost
        best = np.where(better[:, None], candidate, best)
        number[better], cost = i, np.minimum(cost, price)
    return np.concatenate([number[:, None], best], 1)


def _jpeg(radiograph: Radiograph) -> bytes:
    pixels = radiograph.pixels
    image = (
        Image.frombytes("CMYK", pixels.shape[1::-1], pixels.tobytes())
        if radiograph.layout == "cmyk"
        else Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    )
    file = io.BytesIO()
    options = {"subsampling": radiograph.subsampling} if radiograph.layout == "rgb" else {}
    image.save(file, "JPEG", quality=radiograph.quality, optimize=True, **options)
    return file.getvalue()


def _tiff(radiograph: Radiograph, deflate: Deflate) -> bytes:
    samples = stored_samples(radiograph)
    height, width, channels = samples.shape
    order, bits = radiograph.order, radiograph.bits
    rows = _rows(samples, bits, order)
    strips = [rows[i : i + ROWS].tobytes() for i in range(0, height, ROWS)]
    if radiograph.compressed:
        strips = [deflate([strip], PLAIN) for strip in strips]
    offsets = np.cumsum([8, *map(len, strips)]).tolist()
    photometric = 0 if radiograph.white_is_zero else TIFF_PHOTOMETRIC[radiograph.layout]
    # tag, kind (3 SHORT, 4 LONG), values
    entries = [
        (256, 4, [width]),
        (257, 4, [height]),
        (258, 3, [bits] * channels),
        (259, 3, [8 if radiograph.compressed else 1]),
        (262, 3, [photometric]),
        (273, 4, offsets[:-1]),
        (277, 3, [channels]),
        (278, 4, [min(ROWS, height)]),
        (279, 4, [len(strip) for strip in strips]),
        (284, 3, [1]),
    ]
    if radiograph.layout == "palette":
        entries.append((320, 3, (_indexed(radiograph)[1].T.ravel().astype(int) * 257).tolist()))
    if radiograph.alpha:
        entries.append((338, 3, [2]))
    start = offsets[-1] + offsets[-1] % 2
    place = start + 2 + 12 * len(entries) + 4
    directory, outside = [struct.pack(order + "H", len(entries))], []
    for tag, kind, values in entries:
        content = struct.pack(f"{order}{len(values)}{'HI'[kind - 3]}", *values)
        field = content.ljust(4, b"\0")
        if len(content) > 4:
            field = struct.pack(order + "I", place)
            outside.append(content)
            place += len(content)
        directory.append(struct.pack(order + "HHI", tag, kind, len(values)) + field)
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", start)
    padding = b"\0" * (start - offsets[-1])
    return b"".join([head, *strips, padding, *directory, bytes(4), *outside])
