"""Radiographs that say in thirty places whom they show; every place holds a text of its own."""

import random
import struct
import zlib
from dataclasses import dataclass, field

import dicom_specimens as dicom
import numpy as np
from PIL import Image, ImageDraw, PngImagePlugin, TiffImagePlugin
from pydicom.dataset import Dataset
from pydicom.sequence import Sequence
from release_specimens import chunk, saved, scene, segment

from anonymize.release.raster.containers import png_chunks

COUNT = 30  # canaries in a file
FORMATS = ("dcm", "png", "jpg", "tif")
SYLLABLES = ("ba", "ke", "li", "mo", "nu", "ra", "se", "ti", "vo", "zu", "dra", "gne", "pli", "sko")
SIZE = (96, 128)
TEXT_ROWS = 20  # at the top, where texts are burned in


@dataclass
class Planter:
    """Canaries of one file, taken one by one; ``taken`` are those that were planted."""

    rng: random.Random
    taken: list[str] = field(default_factory=list)

    def _new(self, text):
        self.taken.append(text)
        return text

    def word(self):
        return "".join(self.rng.choice(SYLLABLES) for _ in range(5)).capitalize()

    def name(self):
        return self._new(f"{self.word()}^{self.word()}")

    def number(self):
        return self._new(f"ID{self.rng.randrange(10**9, 10**10)}")

    def day(self):
        rng = self.rng
        return f"{rng.randint(1901, 1949)}{rng.randint(1, 12):02}{rng.randint(1, 28):02}"

    def date(self):
        return self._new(self.day())

    def moment(self):
        day, rng = self.day(), self.rng
        clock = f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"
        return self._new(f"{day[:4]}:{day[4:6]}:{day[6:]} {clock}")

    def address(self):
        return self._new(f"{self.word()}gasse {self.rng.randint(100, 999)} {self.word()}")


def picture(rng, burned):
    """uint8 (96, 128), with ``burned`` drawn into it, "" for nothing."""
    values = np.roll(scene(255, size=SIZE), rng.randrange(40), 0)
    if not burned:
        return values
    image = Image.fromarray(values)
    ImageDraw.Draw(image).text((4, 4), burned, fill=255)
    return np.asarray(image)


def specimen(seed, *, burned_in=False):
    """(path, content, canaries) of file number ``seed``; its format follows from the number.

    ``burned_in``: the first canary is drawn into the picture too.
    """
    rng = random.Random(f"canary-{seed}")
    planter = Planter(rng)
    form = FORMATS[seed % len(FORMATS)]
    folder, file = planter.name(), f"{planter.number()}_{planter.date()}"
    pixels = picture(rng, folder.replace("^", " ") if burned_in else "")
    content = {"dcm": _dicom, "png": _png, "jpg": _jpeg, "tif": _tiff}[form](pixels, planter)
    assert len(planter.taken) == COUNT, (form, len(planter.taken))
    return f"{folder}/{file}.{form}", content, planter.taken


def _exif(p):
    """Eleven canaries."""
    made = Image.Exif()
    made[0x010E], made[0x013B], made[0x8298] = p.name(), p.name(), p.address()
    made[0x0132], made[0x0131] = p.moment(), p.number()
    details = made.get_ifd(0x8769)
    details[0x9003], details[0x927C] = p.moment(), p.number().encode()
    details[0xA420], details[0x9286] = p.number(), b"ASCII\0\0\0" + p.address().encode()
    made[0x9C9B] = (p.name() + "\0").encode("utf-16-le")  # XPTitle
    made.get_ifd(0x8825)[0x001D] = p.date()
    return made.tobytes()


def _xmp(p):
    """Three canaries."""
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><dc:creator>'
        f"{p.name()}</dc:creator><dc:date>{p.date()}</dc:date><dc:subject>{p.address()}"
        "</dc:subject></x:xmpmeta>"
    ).encode()


def _iptc(p):
    """Two canaries: a caption and a city."""
    records = b""
    for number, text in ((120, p.name()), (90, p.address())):
        records += struct.pack(">BBBH", 0x1C, 2, number, len(text)) + text.encode()
    return records


def _png(pixels, p):
    text = PngImagePlugin.PngInfo()
    for key in ("Author", "Title", "Comment"):
        text.add_text(key, p.name())
    text.add_text("Description", p.address(), zip=True)
    text.add_text("Creation Time", p.moment(), zip=True)
    text.add_itxt("Source", p.number())
    text.add_itxt("Disclaimer", p.address(), zip=True)
    text.add_itxt("XML:com.adobe.xmp", _xmp(p).decode())
    data = saved(Image.fromarray(pixels), "PNG", pnginfo=text, exif=_exif(p))
    private = chunk(b"prVt", p.number().encode()) + chunk(b"sPLT", p.name().encode() + b"\0\x08")
    profile = chunk(b"iCCP", p.name().encode() + b"\0\0" + zlib.compress(p.number().encode()))
    tail = f"{p.name()}{p.date()}".encode()
    return data[:33] + private + profile + data[33:] + tail


def _jpeg(pixels, p):
    plain = saved(Image.fromarray(pixels), "JPEG", quality=92, exif=_exif(p))
    iptc = _iptc(p)
    resource = b"8BIM\x04\x04\0\0" + struct.pack(">I", len(iptc)) + iptc + b"\0" * (len(iptc) % 2)
    extra = segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + _xmp(p))
    extra += segment(0xED, b"Photoshop 3.0\0" + resource)
    for marker in (0xFE, 0xFE, 0xE3, 0xE5, 0xE9, 0xEC):
        extra += segment(marker, p.name().encode())
    for marker in (0xE4, 0xE6):
        extra += segment(marker, p.address().encode("utf-16-le"))
    tail = f"{p.name()}\n{p.moment()}\n{p.number()}".encode()
    return plain[:2] + extra + plain[2:] + tail


def _tiff(pixels, p):
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    for tag in (269, 270, 271, 272, 285, 305, 315, 316, 33432):
        tags[tag] = p.name() if tag % 2 else p.address()
    tags[306] = p.moment()
    for tag, content in ((700, _xmp(p)), (33723, _iptc(p)), (34377, p.number().encode())):
        tags.tagtype[tag], tags[tag] = 7, content
    for tag in range(65000, 65007):
        tags.tagtype[tag], tags[tag] = 7, p.number().encode()
    data = saved(Image.fromarray(pixels), "TIFF", tiffinfo=tags)
    return data + f"{p.name()}\n{p.moment()}\n{p.number()}\n{p.address()}".encode()


def _dicom(pixels, p):
    made = dicom.with_pixels(dicom.capture(), pixels, bits=8)
    made.PatientName, made.PatientID, made.PatientBirthDate = p.name(), p.number(), p.date()
    made.PatientAddress, made.OtherPatientNames = p.address(), p.name()
    made.AccessionNumber, made.StudyID = p.number(), p.number()
    made.ReferringPhysicianName, made.OperatorsName = p.name(), p.name()
    made.InstitutionName, made.InstitutionAddress = p.name(), p.address()
    made.StudyDate, made.ContentDate = p.date(), p.date()
    made.StudyDescription, made.ImageComments = p.name(), p.address()
    made.DeviceSerialNumber, made.StationName = p.number(), p.number()
    inner = Dataset()
    inner.PatientID, inner.PersonName = p.number(), p.name()
    middle = Dataset()
    middle.ReferencedPatientSequence = Sequence([inner])
    middle.RequestedProcedureDescription = p.address()
    made.RequestAttributesSequence = Sequence([middle])
    block = made.private_block(0x0011, p.number(), create=True)
    block.add_new(1, "LO", p.name())
    block.add_new(2, "UN", p.address().encode())
    hidden = Dataset()
    hidden.PatientName = p.name()
    block.add_new(3, "SQ", Sequence([hidden]))
    made.add_new(0x00181017, "LO", p.name())  # in no dictionary of ours
    data = dicom.file(made)
    preamble = p.name().encode().ljust(128, b"\0")
    tail = struct.pack("<HH2sHI", 0xFFFC, 0xFFFC, b"OB", 0, 64)
    return preamble[:128] + data[128:] + tail + p.address().encode().ljust(64, b"\0")


def planted(path, content, canaries):
    """Those of ``canaries`` that are really in the file or its path."""
    parts = [path.encode(), content]
    for match in (
        content.split(b"zTXt")[1:] + content.split(b"iTXt")[1:] + content.split(b"iCCP")[1:]
    ):
        at = match.find(b"\x78")
        if at >= 0:
            parts.append(_inflated(match[at:]))
    whole = b"\n".join(parts)
    return [c for c in canaries if any(form in whole for form in forms(c))]


def _inflated(data):
    try:
        return zlib.decompressobj().decompress(data)
    except zlib.error:
        return b""


def forms(text):
    """A text as it may stand in a file."""
    return text.encode(), text.encode("utf-16-le"), text.encode("utf-16-be")


def searchable(name, content):
    """Everything in a released file that a search can look at: its name, bytes, inflated pixels."""
    parts = [name.encode(), content]
    if content.startswith(b"\x89PNG"):
        streams = (part for kind, part in png_chunks(content) if kind == b"IDAT")
        parts.append(zlib.decompress(b"".join(streams)))
    return b"\n".join(parts)


def hits(text, canaries):
    """Those of ``canaries`` that occur in ``text``, in whatever case."""
    lower = text.lower()
    return [c for c in canaries if any(form.lower() in lower for form in forms(c))]
