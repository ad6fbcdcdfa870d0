"""A finished file through decoders that had no part in making it: libpng, libjpeg, tifffile,
pydicom.

Shares no code with the decoders and encoders; what those agree upon by mistake is seen here.
"""

import io
from dataclasses import dataclass

import numpy as np

JPEG_LAYOUTS = {1: "gray", 3: "rgb", 4: "cmyk"}
PNG_LAYOUTS = {0: ("gray", False), 2: ("rgb", False), 3: ("palette", False)}
PNG_LAYOUTS |= {4: ("gray", True), 6: ("rgb", True)}
TIFF_LAYOUTS = {0: "gray", 1: "gray", 2: "rgb", 3: "palette", 5: "cmyk"}


class ReopenError(ValueError):
    """A file that another decoder does not read, or not as it was meant."""


@dataclass(frozen=True)
class Reopened:
    """What another decoder sees.

    ``kind`` is (format, layout, bits, alpha, white is zero) as in :class:`radiograph.Radiograph`;
    ``pixels`` (H, W, C) without alpha, in [0, 2**bits − 1], colours of a palette in [0, 255].
    """

    kind: tuple
    pixels: np.ndarray

    @property
    def blank(self) -> bool:
        """True where every pixel is the same."""
        return bool((self.pixels == self.pixels[:1, :1]).all())


def reopen(format: str, data: bytes) -> Reopened:
    """The picture in ``data``. Raises ReopenError: unreadable, or transparent somewhere."""
    try:
        readers = {"PNG": _png, "JPEG": _jpeg, "TIFF": _tiff, "DICOM": _dicom}
        kind, pixels = readers[format](data)
        pixels = _opaque(pixels, alpha=kind[2])
    except (ReopenError, MemoryError):
        raise
    except Exception as error:
        raise ReopenError(f"another decoder fails ({type(error).__name__})") from None
    if pixels.ndim != 3 or not pixels.size:
        raise ReopenError("no picture of rows and columns")
    return Reopened((format, *kind), pixels)


def _png(data: bytes) -> tuple[tuple, np.ndarray]:
    from imagecodecs import png_decode

    bits, (layout, alpha) = data[24], PNG_LAYOUTS[data[25]]
    pixels = png_decode(data)
    if bits < 8 and layout == "gray":  # libpng spreads these over [0, 255]
        pixels = pixels // (255 // ((1 << bits) - 1))
    return (layout, bits, alpha, False), pixels


def _jpeg(data: bytes) -> tuple[tuple, np.ndarray]:
    from imagecodecs import jpeg8_decode

    pixels = jpeg8_decode(data)
    layout = JPEG_LAYOUTS[1 if pixels.ndim == 2 else pixels.shape[2]]
    if layout == "cmyk":  # Adobe stores inks inverted
        pixels = 255 - pixels
    return (layout, 8, False, False), pixels


def _tiff(data: bytes) -> tuple[tuple, np.ndarray]:
    from tifffile import TiffFile

    with TiffFile(io.BytesIO(data)) as file:
        if len(file.pages) != 1:
            raise ReopenError("several pages")
        page = file.pages[0]
        pixels = page.asarray()
        photometric, bits, alpha = int(page.photometric), page.bitspersample, page.extrasamples
        colours = None if photometric != 3 else np.asarray(page.colormap)
    if pixels.dtype == bool:
        pixels = pixels.astype(np.uint8)
    if photometric == 0:
        pixels = (((1 << bits) - 1) - pixels).astype(pixels.dtype)
    if colours is not None:  # (3, 2**bits) of 16 bits
        pixels = (colours[:, pixels] // 257).astype(np.uint8).transpose(1, 2, 0)
    return (TIFF_LAYOUTS[photometric], bits, bool(alpha), photometric == 0), pixels


def _dicom(data: bytes) -> tuple[tuple, np.ndarray]:
    from imagecodecs import jpeg2k_decode
    from pydicom import dcmread
    from pydicom.encaps import get_frame
    from pydicom.uid import JPEG2000Lossless

    dataset = dcmread(io.BytesIO(data))
    gray = dataset.SamplesPerPixel == 1
    bits, signed = dataset.BitsStored, dataset.PixelRepresentation
    if dataset.file_meta.TransferSyntaxUID == JPEG2000Lossless:
        pixels = jpeg2k_decode(get_frame(dataset.PixelData, 0, number_of_frames=1))
    else:
        pixels = dataset.pixel_array
    if pixels.shape[:2] != (dataset.Rows, dataset.Columns):
        raise ReopenError("another size than the header says")
    white_is_zero = dataset.PhotometricInterpretation == "MONOCHROME1"
    values = pixels.astype(np.int32) + ((1 << (bits - 1)) if signed else 0)
    if values.min() < 0 or values.max() >= 1 << bits:
        raise ReopenError("values beyond the bits stored")
    if white_is_zero:
        values = ((1 << bits) - 1) - values
    kind = ("gray" if gray else "rgb", bits, False, white_is_zero)
    return kind, values.astype(np.uint8 if bits <= 8 else np.uint16)


def _opaque(pixels: np.ndarray, *, alpha: bool) -> np.ndarray:
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    if not alpha:
        return pixels
    if (pixels[..., -1] != np.iinfo(pixels.dtype).max).any():
        raise ReopenError("transparent")
    return pixels[..., :-1]
