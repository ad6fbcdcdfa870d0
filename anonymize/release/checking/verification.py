"""The last look at an output before it gets its name, by a path that had no part in making it."""

from collections.abc import Sequence

import cv2
import numpy as np

from anonymize.release import movement, strings
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.checking import inspection
from anonymize.release.checking.reopen import Reopened
from anonymize.release.movement import Probe
from anonymize.release.radiograph import Radiograph
from anonymize.release.raster.write import representable
from anonymize.release.reasons import Reason, Refused

# A JPEG's pixels differ from what was meant; by more than this mean it is another picture.
JPEG_TOLERANCE = 32
SSIM_WINDOW = 7
SSIM_ROWS = 64  # at a time: its many intermediate images stay in a core's cache


def verify(
    data: bytes,
    made: Radiograph,
    original: Radiograph,
    words: frozenset[bytes],
    probe: Probe,
    text: TextOptions = TextOptions(),  # noqa: B008 (frozen)
) -> float:
    """The structural similarity of the finished file ``data`` to ``original``.

    Raises Refused: what :func:`inspection.picture` refuses, one of ``words``, another kind, size or
    pixels than ``made``, a picture that was not moved as ``probe`` says; or text in it, if ``text``
    says that it is looked for."""
    released = _as_meant(data, made, words)
    # What JPEG loses, and a palette that is chosen anew, is no work of the method.
    for one in (released,) if released is made else (made, released):
        movement.check(original, one.pixels, probe)
    look_again(released, text)
    return similarity(original.gray(), released.gray())


def verify_mixed(
    data: bytes, made: Radiograph, members: Sequence[Radiograph], words: frozenset[bytes]
) -> None:
    """The same look at a finished file that was made of several pictures, ``members``. For text it
    was looked in each of them: side markers that lie over each other look like some.

    Raises Refused: as ``verify``; it shows one of ``members`` as it was, or much of it."""
    released = _as_meant(data, made, words)
    probe = movement.probe(released.pixels, None)
    for member in members:
        movement.check(member, released.pixels, probe)


def _as_meant(data: bytes, made: Radiograph, words: frozenset[bytes]) -> Radiograph:
    """``made`` as it was read from ``data``, which holds nothing else."""
    meant = representable(made)
    seen = inspection.picture(meant.format, data)
    told = meant.source is not None and meant.source.identifiers.named_in(data)
    if told or strings.found_in(meant.format, data, words):
        raise Refused(
            Reason.VERIFICATION,
            "a word of the input's metadata or name is in it; with --retain, leave that out",
        )
    return _compare(seen, meant)


def look_again(released: Radiograph, text: TextOptions) -> None:
    """Raises Refused where text is looked for, and is left in ``released``."""
    if text.looks:
        from anonymize.release.burned_in import policy  # with the OCR

        policy.look_again(released, text)


def _compare(seen: Reopened, meant: Radiograph) -> Radiograph:
    """``meant`` with the pixels that were seen. Raises Refused: they are not the ones that were
    meant."""
    if seen.kind != meant.kind or seen.pixels.shape[:2] != meant.pixels.shape[:2]:
        raise Refused(Reason.VERIFICATION, "another kind or size")
    if meant.format == "JPEG":
        released = meant.with_pixels(seen.pixels)
        difference = np.abs(seen.pixels.astype(np.int16) - meant.pixels)
        same = difference.mean() <= JPEG_TOLERANCE
        same = same and released.gray_as_colour >= meant.gray_as_colour
    else:  # a palette of grays is seen as one of colours
        released = meant
        same = (seen.pixels == meant.pixels).all()
    if not same:
        raise Refused(Reason.VERIFICATION, "other pixels")
    return released


def similarity(a: np.ndarray, b: np.ndarray) -> float:
    """Mean structural similarity (Wang 2004) of float images (H, W) in [0, 1], sides of 7 or more.

    As scikit-image has it, windows of 7 × 7 that lie within the picture, in a tenth of its time.
    """
    margin = SSIM_WINDOW // 2
    total, inner = 0.0, a.shape[0] - 2 * margin
    for top in range(0, inner, SSIM_ROWS):
        rows = slice(top, min(top + SSIM_ROWS, inner) + 2 * margin)
        local = _local_similarity(a[rows], b[rows])
        total += local[margin:-margin, margin:-margin].sum(dtype=np.float64)
    return float(total / inner / (a.shape[1] - 2 * margin))


def _local_similarity(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of each window, with covariances of a sample."""
    mean, other, xx, yy, xy = (
        cv2.blur(values, (SSIM_WINDOW, SSIM_WINDOW)) for values in (x, y, x * x, y * y, x * y)
    )
    unbiased = SSIM_WINDOW**2 / (SSIM_WINDOW**2 - 1)
    variances = unbiased * (xx + yy - mean**2 - other**2)
    covariance = unbiased * (xy - mean * other)
    first, second = 0.01**2, 0.03**2
    likeness = (2 * mean * other + first) * (2 * covariance + second)
    return likeness / ((mean**2 + other**2 + first) * (variances + second))
