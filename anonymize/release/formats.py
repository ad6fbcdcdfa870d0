"""What a file is, told by its content; the extension only decides how loud a failure is."""

import re
from pathlib import PurePosixPath

from anonymize.release.raster.containers import PNG_SIGNATURE
from anonymize.release.reasons import Reason, Refused

EXTENSIONS = {
    "PNG": (".png", ".apng"),
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif", ".mpo"),
    "TIFF": (".tif", ".tiff"),
    "DICOM": (".dcm", ".dicom", ".dic", ".ima"),
}
SIGNATURES = {"PNG": (PNG_SIGNATURE,), "JPEG": (b"\xff\xd8\xff",), "TIFF": (b"II*\0", b"MM\0*")}
PICTURES = frozenset(extension for known in EXTENSIONS.values() for extension in known)
OTHER_EXTENSIONS = frozenset(
    f".{name}"
    for name in (
        *("gif", "webp", "bmp", "dib", "heic", "heif", "avif", "jp2", "j2k", "jxl", "jls"),
        *("pgm", "ppm", "pnm", "svg", "psd", "ico", "pdf", "zip"),
        *("nii", "mha", "mhd", "nrrd", "raw", "img"),
    )
)
OTHER_SIGNATURES = re.compile(
    rb"GIF8|RIFF....WEBP|BM|\0\0\0\x0cj[Pp]  |\xff\x4f\xff\x51|\xff\x0a|....ftyp|%PDF|8BPS"
    rb"|P[1-7]\s|NRRD|PK\x03\x04|\x1f\x8b|II\+\0|MM\0\+|\0\0\x01\0|\xf7\xd8\xff|<svg",
    re.DOTALL,
)
SYSTEM_FILES = frozenset({".ds_store", "thumbs.db", "desktop.ini", "ehthumbs.db"})
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def recognise(name: str, data: bytes) -> str:
    """ "PNG", "JPEG", "TIFF" or "DICOM".

    Raises Refused: any other content. Text and system files are no images; whatever might hold a
    picture is named for what it is, so that it cannot be lost silently."""
    if data[128:132] == b"DICM":  # a preamble may make it a TIFF file too
        return "DICOM"
    for format, begins in SIGNATURES.items():
        if data.startswith(begins):
            return format
    path = PurePosixPath(name)
    extension = path.suffix.lower()
    if _is_dicom(data) or (extension in EXTENSIONS["DICOM"] and CONTROL.search(data)):
        return "DICOM"
    if path.name.lower() in SYSTEM_FILES or data.startswith(b"\0\x05\x16\x07"):  # AppleDouble
        raise Refused(Reason.NOT_AN_IMAGE)
    if OTHER_SIGNATURES.match(data) or extension in OTHER_EXTENSIONS:
        raise Refused(Reason.UNSUPPORTED_FORMAT)
    if extension in PICTURES:
        raise Refused(Reason.DAMAGED, "no image inside")
    if CONTROL.search(data):
        raise Refused(Reason.UNRECOGNISED)
    raise Refused(Reason.NOT_AN_IMAGE)


def is_dicom(name: str, data: bytes) -> bool:
    """Whether ``data``, a file called ``name`` or its beginning, is recognised as DICOM."""
    try:
        return recognise(name, data) == "DICOM"
    except Refused:
        return False


def misnamed(name: str, format: str) -> bool:
    """True where the extension promises another format."""
    return PurePosixPath(name).suffix.lower() not in EXTENSIONS[format]


def _is_dicom(data: bytes) -> bool:
    """True without a preamble, which PS3.10 asks for: old files begin with a group at once."""
    group, element = data[:2], data[2:4]
    explicit = re.fullmatch(rb"[A-Z]{2}", data[4:6]) is not None
    implicit = data[6:8] == b"\0\0" and len(data) > 8
    little = group in (b"\x02\0", b"\x08\0") and element[1:2] == b"\0"
    big = group == b"\0\x08" and element[:1] == b"\0"
    return (little and (explicit or implicit)) or (big and explicit)
