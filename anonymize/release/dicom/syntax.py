"""Transfer syntaxes (PS3.5 Annex A, PS3.6 Table A-1): what is read, and what is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

JPEG, JPEG_LS, JPEG_2000 = "ISO_10918_1", "ISO_14495_1", "ISO_15444_1"
IMPLICIT_LITTLE, EXPLICIT_LITTLE = "1.2.840.10008.1.2", "1.2.840.10008.1.2.1"
JPEG_2000_LOSSLESS, RLE = "1.2.840.10008.1.2.4.90", "1.2.840.10008.1.2.5"


@dataclass(frozen=True)
class Syntax:
    """How a data set is encoded, and its pixels.

    ``order`` is that of bytes, as ``struct`` writes it; ``method`` the value of
    LossyImageCompressionMethod (0028,2114) that names the compression, "RLE", or "" for native
    pixels.
    """

    uid: str
    explicit: bool = True
    order: Literal["<", ">"] = "<"
    deflated: bool = False
    method: str = ""
    lossy: bool = False

    @property
    def compressed(self) -> bool:
        """True where PixelData holds fragments."""
        return bool(self.method)


SYNTAXES = {
    syntax.uid: syntax
    for syntax in (
        Syntax(IMPLICIT_LITTLE, explicit=False),
        Syntax(EXPLICIT_LITTLE),
        Syntax("1.2.840.10008.1.2.1.99", deflated=True),
        Syntax("1.2.840.10008.1.2.2", order=">"),
        Syntax("1.2.840.10008.1.2.4.50", method=JPEG, lossy=True),
        Syntax("1.2.840.10008.1.2.4.51", method=JPEG, lossy=True),
        Syntax("1.2.840.10008.1.2.4.57", method=JPEG),
        Syntax("1.2.840.10008.1.2.4.70", method=JPEG),
        Syntax("1.2.840.10008.1.2.4.80", method=JPEG_LS),
        Syntax("1.2.840.10008.1.2.4.81", method=JPEG_LS, lossy=True),
        Syntax(JPEG_2000_LOSSLESS, method=JPEG_2000),
        Syntax("1.2.840.10008.1.2.4.91", method=JPEG_2000, lossy=True),
        Syntax(RLE, method="RLE"),
    )
}
# What --dicom-transfer-syntax may ask for; all of it is lossless.
WRITTEN = {"explicit": EXPLICIT_LITTLE, "jpeg2000": JPEG_2000_LOSSLESS, "rle": RLE}


def written(wish: str, found: Syntax) -> str:
    """UID of the syntax that is written for an input in ``found``: "keep" compresses what was."""
    if wish == "keep":
        wish = "jpeg2000" if found.compressed else "explicit"
    return WRITTEN[wish]
