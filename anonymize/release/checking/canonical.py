"""A released file against the one way in which this package writes what can be seen in it.

A file with a place that its pixels do not fill could hold anything there. PNG and TIFF are written
anew from their pixels and must come out the same, whichever zlib packed them; JPEG, which loses
pixels, is counted through; the frame of a DICOM file must be what its encoder makes of its values.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from anonymize.release.dicom import elements, pixels
from anonymize.release.dicom.header import Header
from anonymize.release.radiograph import MAX_BYTES
from anonymize.release.raster import containers, deflate, jpeg, read, write
from anonymize.release.raster.write import Deflate
from anonymize.release.reasons import ContainerError

GZIP = b"\x1f\x8b\x08" + bytes(6)


def check(format: str, data: bytes) -> None:
    """Raises ContainerError or Refused unless every byte of an image follows from what it shows."""
    if format == "JPEG":
        jpeg.check(data)
    elif format == "DICOM":
        _check_frame(data)
    else:
        made = read.decode(format, data)
        several = [made]
        if made.layout == "palette" and made.pixels.shape[2] == 1:  # colours that are all gray
            several.append(made.with_pixels(np.repeat(made.pixels, 3, 2)))
        streams = png_streams(data) if format == "PNG" else _tiff_streams(data)
        same(data, streams, [partial(write.encode, one) for one in several])


def same(data: bytes, streams: list[bytes], writers: Iterable[Callable[[Deflate], bytes]]) -> None:
    """Raises ContainerError unless one of ``writers`` gives ``data``, whose zlib streams are
    ``streams``; a writer is told how to compress."""
    if not any(writer(_as_in(streams)) == data for writer in writers):
        raise ContainerError("not as this package writes what it shows")


def _as_in(streams: list[bytes]) -> Deflate:
    """Compresses as :func:`write.deflated`, or as the next of ``streams`` that holds the same."""
    following = iter(streams)

    def compress(parts: Iterable[bytes], strategy: int) -> bytes:
        parts, found = list(parts), next(following, b"")
        if all(write.deflated(parts, how) != found for how in (strategy, write.PLAIN)):
            deflate.check(found, b"".join(parts))
        return found

    return compress


def png_streams(data: bytes) -> list[bytes]:
    """The zlib streams of a PNG file."""
    return [content for kind, content in containers.png_chunks(data) if kind == b"IDAT"]


def unzipped(data: bytes) -> bytes:
    """What a gzip file (RFC 1952) holds. Raises ContainerError: a name, a comment, a time; several
    parts, or any excess."""
    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        plain = stream.decompress(data, MAX_BYTES)
    except zlib.error:
        raise ContainerError("no gzip file") from None
    # The last byte of the head says on which system it was made.
    if not stream.eof or stream.unused_data or data[:9] != GZIP:
        raise ContainerError("a gzip file with more than its content")
    deflate.check(deflate.HEAD + data[10:-8] + zlib.adler32(plain).to_bytes(4), plain)
    return plain


def _tiff_streams(data: bytes) -> list[bytes]:
    directory = containers.tiff_directory(data)
    places = zip(directory.values(273, ()), directory.values(279, ()), strict=True)
    return [data[at : at + length] for at, length in places]


def _check_frame(data: bytes) -> None:
    """Of a DICOM file, whose other elements are looked at by :mod:`dicom.scan`."""
    file = elements.read_file(data)
    header = Header(file.elements, file.syntax.order)
    layout = pixels.layout(header)
    values, _ = pixels.stored(header, layout, file.syntax)
    made = pixels.encoded(values, layout, file.syntax.uid)
    if not data.endswith(made + elements.FRAME_END * file.syntax.compressed):
        raise ContainerError("not as this package stores these pixels")
