"""What a file's size and format alone would link: a released file to the one it was made from."""

from collections.abc import Hashable, Sequence
from functools import cache

import numpy as np
import pandas as pd
from PIL import Image, UnidentifiedImageError
from PIL.JpegImagePlugin import JpegImageFile
from pydicom import dcmread
from pydicom.misc import is_dicom

from anonymize.data.dataset import Dataset
from anonymize.errors import UsageError
from anonymize.release.raster.read import ORIENTATION, jpeg_quality
from attacks.attacker import ImageSet, OfTheTable
from attacks.knowledge.levels import Ladder, Level
from attacks.measuring.metrics import Owners

Facts = tuple[Hashable, ...]
LYING = (5, 6, 7, 8)  # Exif orientations that swap width and height


class Format(OfTheTable):
    """Links files of one width × height, format, depth and quality, and looks at no pixel.

    `anonymize apply` keeps all of them unless it is told ``--canonical``, so it is a floor: what
    gives an input away however well its pixels are anonymized. What few files of the gallery have
    says more.

    Args:
        frame: with the ``path`` of each file.
    """

    name = "format"

    @classmethod
    def ladder(cls) -> Ladder:
        words = "width × height, format, depth and quality of the files; looks at no pixel"
        return {
            "ignorant": Level(
                lambda setting: cls(setting.data.table.frame),
                lambda options: words,
                compares="before-after",
                sees="metadata",
                missing=_no_files,
            )
        }

    def __init__(self, frame: pd.DataFrame) -> None:
        super().__init__(frame)
        self._facts_at = cache(facts)

    def link(self, probes: ImageSet, gallery: ImageSet) -> np.ndarray:
        """:func:`shared_facts` of the files."""
        return shared_facts(self._facts(probes.owners), self._facts(gallery.owners))

    def _facts(self, owners: Owners) -> list[Facts]:
        rows = np.where(owners.image < 0, -1 - owners.image, owners.image)  # the originals
        return [self._facts_at(str(path)) for path in self.frame["path"].iloc[rows]]


def facts(path: str) -> Facts:
    """(width, height) upright, format, depth and quality of an image file, in which a DICOM file
    has its photometric interpretation for a quality; no pixel is decoded.

    Raises UsageError: a file that cannot be read; it is not named."""
    try:
        if is_dicom(path):
            return _of_dicom(path)
        with Image.open(path, formats=("PNG", "JPEG", "TIFF")) as image:
            quality = 0
            if isinstance(image, JpegImageFile):
                quality = jpeg_quality(image.quantization[0])
            turned = image.getexif().get(ORIENTATION) in LYING
            size = image.size[::-1] if turned else image.size
            return size, image.format, image.mode, quality
    except UnidentifiedImageError:  # DICOM without a preamble
        return _of_dicom(path)
    except Exception as error:  # whatever a decoder says
        raise UsageError(f"a file cannot be read ({type(error).__name__})") from None


def shared_facts(asked: Sequence[Facts], known: Sequence[Facts]) -> np.ndarray:
    """float32 (P, G): for each fact that two files share, −log of its share of the gallery."""
    scores = np.zeros((len(asked), len(known)), np.float32)
    for one, other in zip(zip(*asked, strict=True), zip(*known, strict=True), strict=True):
        number = {value: i for i, value in enumerate(dict.fromkeys(one + other))}
        a, b = (np.array([number[v] for v in values]) for values in (one, other))
        share = np.bincount(b, minlength=len(number)) / len(b)
        worth = -np.log(share, out=np.zeros(len(share)), where=share > 0)
        scores += (a[:, None] == b) * worth[b].astype(np.float32)
    return scores


def _of_dicom(path: str) -> Facts:
    try:
        head = dcmread(path, stop_before_pixels=True, force=True)
        size = int(head.Columns), int(head.Rows)
        return size, "DICOM", int(head.BitsStored), str(head.PhotometricInterpretation)
    except Exception as error:
        raise UsageError(f"a file cannot be read ({type(error).__name__})") from None


def _no_files(data: Dataset) -> str:
    drawn = not data.table.frame["path"].astype(bool).all()
    return f"{data.table.source} draws its images: there are no files" if drawn else ""
