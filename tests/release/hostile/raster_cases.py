"""Bytes in released PNG and JPEG files that none of their pixels need."""

import io
import struct
import zlib
from functools import partial

import numpy as np
from corpus import each
from PIL import Image
from release_specimens import KINDS, chunk, pillow, png, said_to_be, saved, segment
from release_specimens import pixels as shown
from tampered import NOTE, released, spoiled

from anonymize.release.raster import containers, read


def leak(folder, *, name, change):
    return spoiled(folder, released({name: KINDS[name]}), name, change)


# JPEG


def after_start(part, data):
    return data[:2] + part + data[2:]


def before(marker, part, data):
    at = data.index(bytes((0xFF, marker)))
    return data[:at] + part + data[at:]


def before_end(part, data):
    return data[:-2] + part + data[-2:]


def quantisation(data):
    at = data.index(b"\xff\xdb") + 5
    return data[:at] + (NOTE * 3)[:64] + data[at + 64 :]


def one_quantum(data):
    at = data.index(b"\xff\xdb") + 5 + 63
    return data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :]


def turned_table(data):
    """Two symbols of one length of a Huffman table exchanged: other pixels, but not a byte more."""
    at = data.index(b"\xff\xc4", data.index(b"\xff\xc4") + 2) + 4
    lengths, first = data[at + 1 : at + 17], at + 17
    for length in lengths:
        if length > 1:
            pair = data[first : first + 2]
            return data[:first] + pair[::-1] + data[first + 2 :]
        first += length
    raise AssertionError


def longer_table(data):
    """A code that never occurs."""
    at = data.index(b"\xff\xc4")
    (size,) = struct.unpack_from(">H", data, at + 2)
    content = bytearray(data[at + 4 : at + 2 + size])
    content[16] += 1
    return data[:at] + segment(0xC4, bytes(content) + b"\x0b") + data[at + 2 + size :]


def padding_cleared(data):
    """The bits that fill the last byte of the scan."""
    last = data[-3]
    ones = len(f"{last:08b}") - len(f"{last:08b}".rstrip("1"))
    return data[:-3] + bytes((last & ~((1 << ones) - 1),)) + data[-2:] if ones else data + b"\0"


def saved_again(data, **options):
    return saved(Image.open(io.BytesIO(data)), "JPEG", **options)


def beyond(data, *, axis):
    """A message in the samples that fill the last blocks, behind the last row or column."""
    image = Image.open(io.BytesIO(data))
    pixels = np.asarray(image)
    side = 8 if image.mode == "L" else 16
    more = [(0, -n % side) for n in pixels.shape[:2]] + [(0, 0)] * (pixels.ndim - 2)
    whole, size = np.pad(pixels, more, mode="edge"), pixels.shape[axis]
    part = whole[size:] if axis == 0 else whole[:, size:]
    assert part.size
    part ^= 128 * np.resize(np.unpackbits(np.frombuffer(NOTE, np.uint8)), part.shape)
    options = {} if image.mode == "L" else {"subsampling": 2}
    quality = read.jpeg_quality(image.quantization[0])
    made = pillow(whole, "JPEG", quality=quality, optimize=True, **options)
    return said_to_be(made, *pixels.shape[:2])


def renamed(data):
    """Other numbers of the components, in the frame and in the scan."""
    at, scan = data.index(b"\xff\xc0") + 10, data.index(b"\xff\xda") + 5
    changed = bytearray(data)
    for i, letter in enumerate(b"Ann"):
        changed[at + 3 * i] = changed[scan + 2 * i] = letter
    return bytes(changed)


def arithmetic_mean(data):
    return data.replace(b"JFIF\0\x01\x01\0\0\x01\0\x01", b"JFIF\0\x01\x02\x01\0\x48\0\x48")


SPARE = bytes((3,)) + (NOTE * 3)[:64]
JPEG = {
    "a comment": partial(after_start, segment(0xFE, NOTE)),
    "Exif": partial(after_start, segment(0xE1, b"Exif\0\0" + NOTE)),
    "JFIF twice": partial(after_start, segment(0xE0, containers.JFIF)),
    "Adobe": partial(after_start, segment(0xEE, containers.ADOBE)),
    "another density": arithmetic_mean,
    "fill bytes": partial(before, 0xDB, b"\xff" * 19),
    "fill bytes before the end": partial(before_end, b"\xff" * 19),
    "a spare quantisation table": partial(before, 0xC0, segment(0xDB, SPARE)),
    "a message for a quantisation table": quantisation,
    "one quantum": one_quantum,
    "a spare Huffman table": partial(
        before, 0xDA, segment(0xC4, b"\x13" + bytes([0] * 7 + [22] + [0] * 8) + NOTE)
    ),
    "a Huffman table in another order": turned_table,
    "a code that does not occur": longer_table,
    "the same table twice": lambda d: before(0xC0, d[20:89], d),
    "a restart interval": partial(before, 0xDA, segment(0xDD, b"\x19\x70")),
    "bytes before the end": partial(before_end, NOTE),
    "zeros before the end": partial(before_end, bytes(5)),
    "a restart before the end": partial(before_end, b"\xff\xd0" + NOTE),
    "the last bits": padding_cleared,
    "bytes behind the end": lambda d: d + NOTE,
    "the usual tables": partial(saved_again, quality=90),
    "another quality": partial(saved_again, quality=90, qtables=[list(range(1, 65))]),
    "progressive": partial(saved_again, quality=90, progressive=True),
    "a message beyond the right edge": partial(beyond, axis=1),
    "an arithmetic frame": lambda d: d.replace(b"\xff\xc0", b"\xff\xc9"),
}
COLOUR_JPEG = {
    **{k: JPEG[k] for k in ("bytes before the end", "a Huffman table in another order")},
    "components by other names": renamed,
    "a message beyond the right edge": partial(beyond, axis=1),
    "a message beyond the lower edge": partial(beyond, axis=0),
}


# PNG


def with_stream(change, data):
    """``change`` of the compressed stream."""
    joined = [(k, change(c) if k == b"IDAT" else c) for k, c in containers.png_chunks(data)]
    return containers.png_join(joined)


def split(data):
    [head, *palette, (_, stream), end] = containers.png_chunks(data)
    pieces = [(b"IDAT", stream[i : i + 19]) for i in range(0, len(stream), 19)]
    return containers.png_join([head, *palette, *pieces, end])


def compressed(plain, *, level=6, flush=None):
    stream = zlib.compressobj(level)
    made = stream.compress(plain[: len(plain) // 2])
    made += b"" if flush is None else stream.flush(flush)
    return made + stream.compress(plain[len(plain) // 2 :]) + stream.flush()


def again(data, **options):
    return with_stream(lambda stream: compressed(zlib.decompress(stream), **options), data)


def empty_blocks(stream):
    """Blocks of no bytes before all others, each with a bit or so to choose."""
    return stream[:2] + b"\0\0\0\xff\xff" * 19 + stream[2:]


def unfiltered(data):
    """Rows with the filter that none of them needs."""
    (width, height) = struct.unpack(">II", containers.png_chunks(data)[0][1][:8])
    pixels = shown(data)
    return png(pixels.reshape(height, width), 8, 0)


def padded(data):
    """Bits behind the end of each row of a picture of 1 bit."""
    (width,) = struct.unpack(">I", containers.png_chunks(data)[0][1][:4])
    row = 1 + (width + 7) // 8

    def fill(stream):
        plain = bytearray(zlib.decompress(stream))
        for at in range(row - 1, len(plain), row):
            plain[at] |= (1 << (-width % 8)) - 1
        return zlib.compress(bytes(plain), 6)

    return with_stream(fill, data)


def unused_colours(pixels, palette):
    free = np.setdiff1d(np.arange(256), pixels)[: len(NOTE) // 3]
    palette[free] = np.frombuffer(NOTE[: 3 * len(free)], np.uint8).reshape(-1, 3)
    return pixels, palette


def turned_colours(pixels, palette):
    return (255 - pixels).astype(np.uint8), palette[::-1]


def doubled_colours(pixels, palette):
    """One colour under two numbers."""
    free = np.setdiff1d(np.arange(256), pixels)[0]
    palette[free] = palette[pixels[0, 0]]
    pixels[0, 0] = free
    return pixels, palette


def recoloured(change, data):
    palette = np.frombuffer(dict(containers.png_chunks(data))[b"PLTE"], np.uint8)
    pixels, palette = change(shown(data).copy(), palette.reshape(-1, 3).copy())
    return png(pixels, 8, 3, palette=palette)


def put_chunk(kind, content, data):
    return data[:33] + chunk(kind, content) + data[33:]


PNG = {
    "text": partial(put_chunk, b"tEXt", b"Patient\0" + NOTE),
    "an unknown chunk": partial(put_chunk, b"prVt", NOTE),
    "a density": partial(put_chunk, b"pHYs", struct.pack(">IIB", 1970, 302, 1)),
    "significant bits": partial(put_chunk, b"sBIT", b"\x07"),
    "bytes behind the end": lambda d: d + NOTE,
    "an end with content": lambda d: d[:-12] + chunk(b"IEND", NOTE),
    "chunks of chosen lengths": split,
    "an empty chunk": lambda d: d[:-12] + chunk(b"IDAT", b"") + d[-12:],
    "a stream flushed in the middle": partial(again, flush=zlib.Z_SYNC_FLUSH),
    "a partial flush": partial(again, flush=zlib.Z_PARTIAL_FLUSH),
    "empty blocks": partial(with_stream, empty_blocks),
    "no compression": partial(again, level=0),
    "another level": partial(again, level=9),
    "bytes behind the stream": partial(with_stream, lambda s: s + NOTE),
    "rows behind the picture": partial(
        with_stream, lambda s: zlib.compress(zlib.decompress(s) + NOTE, 6)
    ),
    "other filters": unfiltered,
    "interlaced": lambda d: png(shown(d), 8, 0, interlaced=True),
}
PALETTE = {
    "colours that are not in use": partial(recoloured, unused_colours),
    "colours in another order": partial(recoloured, turned_colours),
    "a colour twice": partial(recoloured, doubled_colours),
    "a transparent colour": lambda d: d.replace(
        d[33 : 33 + 12 + 768], d[33 : 33 + 12 + 768] + chunk(b"tRNS", b"\xff" * 9)
    ),
}


def tampered(name, changes):
    """A case for each of ``changes`` of the released file ``name``, {what is done: how}."""
    titled = {f"{what} ({name})": change for what, change in changes.items()}
    return each(f"tampered {name.partition('.')[2]}", leak, titled, "change", name=name)


CASES = [
    *tampered("gray.jpg", JPEG),
    *tampered("rgb420.jpg", COLOUR_JPEG),
    *tampered("cmyk.jpg", {"bytes before the end": JPEG["bytes before the end"]}),
    *tampered("gray8.png", PNG),
    *tampered("gray1.png", {"bits behind each row": padded}),
    *tampered("palette-colour.png", PALETTE),
]
