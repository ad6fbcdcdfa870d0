"""Masks in PNG and NIfTI: read strictly, written anew from their values only.

A mask's values are kept (of a palette: the indices; its colours, three free bytes each, become
those that are usual). What looks like a
radiograph is no mask (:mod:`likeness`): a method that moves nothing would release it as it is.
"""

from __future__ import annotations

import gzip
import io
import re
from dataclasses import dataclass

import numpy as np
from PIL import Image

from anonymize.release.labels import likeness
from anonymize.release.radiograph import MAX_BYTES, MAX_PIXELS, Radiograph
from anonymize.release.raster import containers, read, write
from anonymize.release.raster.write import Deflate
from anonymize.release.reasons import ContainerError, Reason, Refused

SUFFIXES = (".png", ".nii", ".nii.gz")
TEXT = re.compile(rb"[ -~]{6}")
LARGEST = 1 << 16  # value of a label
LARGEST_NUMBER, EIGHT_BITS = 999, 257  # a larger one is a number of its own, or one of 8 bits in 16
SPACINGS = (0.01, 10.0)  # mm a pixel that a radiograph or its labels may have


@dataclass(frozen=True)
class Mask:
    """``values`` (H, W) or (H, W, C), upright as the picture is seen, x along the columns.

    ``like`` is what the file of a PNG was, None of one with a palette; ``affine`` (4, 4) and
    ``axes`` are a NIfTI's, of which those beyond the second have one place.
    """

    suffix: str
    values: np.ndarray
    like: Radiograph | None = None
    affine: np.ndarray | None = None
    axes: int = 2

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.values.shape[1], self.values.shape[0]


def suffix_of(name: str) -> str:
    """ ".png", ".nii", ".nii.gz" or "" of a file's name."""
    lower = name.lower()
    return max((s for s in SUFFIXES if lower.endswith(s)), key=len, default="")


def decode(name: str, data: bytes) -> Mask:
    """The mask in the file ``data``. Raises Refused: damaged, several pictures, turned by Exif, or
    no mask."""
    suffix = suffix_of(name)
    try:
        mask = _png(data) if suffix == ".png" else _nifti(suffix, data)
    except (Refused, MemoryError):
        raise
    except Exception as error:
        raise Refused(Reason.LABELS, f"mask: {type(error).__name__}") from None
    likeness.check_map(mask.values)
    _check_numbers(mask)
    return mask


def _check_numbers(mask: Mask) -> None:
    """Raises Refused where values or colours say something by themselves."""
    if mask.values.ndim == 3:
        colours = np.unique(mask.values.reshape(-1, mask.values.shape[2]), axis=0)
        colours = colours[(colours != colours[:, :1]).any(1)]  # grays are no letters
        if TEXT.search(colours.tobytes()):
            raise Refused(Reason.LABELS, "mask: a text in its colours")
        return
    present = np.unique(mask.values).astype(np.int64)
    if (present[np.abs(present) > LARGEST_NUMBER] % EIGHT_BITS).any():
        raise Refused(Reason.LABELS, f"mask: a value above {LARGEST_NUMBER}; count them anew")


def encode(mask: Mask, deflate: Deflate = write.deflated) -> bytes:
    """The file: values, and of a NIfTI its affine matrix, nothing else."""
    if mask.suffix != ".png":
        return _nifti_file(mask)
    values = mask.values if mask.values.ndim == 3 else mask.values[..., None]
    if mask.like is not None:
        return write.encode(mask.like.with_pixels(np.ascontiguousarray(values)), deflate)
    bits = next(b for b in (1, 2, 4, 8) if values.max() < 1 << b)
    return write.png(values, bits, 3, usual_colours(1 << bits), deflate)


def usual_colours(count: int) -> np.ndarray:
    """uint8 (count, 3): those that PASCAL VOC gives to classes (Everingham 2010), black first."""
    number, made = np.arange(count), np.zeros((count, 3), np.int64)
    for bit in range(8):
        made |= (number[:, None] >> np.arange(3) & 1) << 7 - bit
        number = number >> 3
    return made.astype(np.uint8)


def check(mask: Mask, data: bytes) -> None:
    """Raises Refused unless ``data`` holds ``mask`` and nothing else."""
    if mask.suffix == ".png":
        try:
            containers.check("PNG", data)
        except ContainerError as error:
            raise Refused(Reason.VERIFICATION, f"mask: {error}") from None
    again = decode(mask.suffix, data)
    if not np.array_equal(again.values, mask.values):
        raise Refused(Reason.VERIFICATION, "mask: other values")


def _png(data: bytes) -> Mask:
    chunks = containers.png_chunks(data)
    if any(kind == b"eXIf" for kind, _ in chunks):
        raise Refused(Reason.LABELS, "mask: Exif, which may turn it")
    colour = chunks[0][1][9]
    if colour != 3:
        like = read.decode("PNG", data)
        values = like.pixels[..., 0] if like.pixels.shape[2] == 1 else like.pixels
        return Mask(".png", values, like)
    read.decode("PNG", data)  # its limits
    kept = (b"IHDR", b"PLTE", b"IDAT", b"IEND")
    joined = containers.png_join([chunk for chunk in chunks if chunk[0] in kept])
    image = Image.open(io.BytesIO(joined), formats=["PNG"])
    return Mask(".png", np.asarray(image))


def _nifti(suffix: str, data: bytes) -> Mask:
    import nibabel

    if suffix == ".nii.gz":
        with gzip.open(io.BytesIO(data)) as stream:
            data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise Refused(Reason.LABELS, "mask: too large")
    image = nibabel.Nifti1Image.from_bytes(data)
    shape = image.shape
    if len(shape) < 2 or any(n != 1 for n in shape[2:]) or min(shape[:2]) < 1:
        raise Refused(Reason.LABELS, "mask: not one slice")
    if shape[0] * shape[1] > MAX_PIXELS:
        raise Refused(Reason.LABELS, "mask: too large")
    stored = np.asarray(image.dataobj)
    values = stored.reshape(shape[:2]).T  # axis 0 is x
    whole = values.astype(np.int64)
    if not (whole == values).all() or np.abs(whole).max() >= LARGEST:
        raise Refused(Reason.LABELS, "mask: values that are no whole numbers of at most 16 bits")
    kinds = (np.uint8, np.int16, np.int32)
    kind = next(k for k in kinds if np.array_equal(whole.astype(k), whole))
    return Mask(
        suffix,
        np.ascontiguousarray(whole.astype(kind)),
        affine=rebuilt(image.affine),
        axes=min(len(shape), 3),
    )


def rebuilt(affine: np.ndarray | None) -> np.ndarray:
    """An affine (4, 4) along the axes, of spacings in mm with three digits; the origin is lost.

    What is no spacing of a radiograph becomes 1; the direction of an axis is that of the nearest.
    """
    made = np.eye(4)
    if affine is None or not np.isfinite(affine).all():
        return made
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(affine[:3, :3], axis=0)
    rows = list(range(3))
    for column in range(3):
        row = max(rows, key=lambda r: abs(affine[r, column]))
        rows.remove(row)
        length = lengths[column] if column < 2 else 1.0
        plausible = SPACINGS[0] <= length <= SPACINGS[1]
        made[:3, column] = 0
        made[row, column] = float(f"{length:.3g}") if plausible else 1.0
        made[row, column] *= -1 if affine[row, column] < 0 else 1
    return made


def _nifti_file(mask: Mask) -> bytes:
    import nibabel

    values = mask.values.T.reshape(*mask.size, *[1] * (mask.axes - 2))
    image = nibabel.Nifti1Image(values, mask.affine)
    data = image.to_bytes()
    return gzip.compress(data, 6, mtime=0) if mask.suffix == ".nii.gz" else data
