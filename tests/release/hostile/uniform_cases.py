"""What a release of one size and one format still says of the file that each image came from."""

from functools import partial
from io import BytesIO

import cv2
from corpus import Case, apply
from dicom_specimens import JPEG_2000, RLE, capture, cr, dx, file, opened, picture, with_pixels
from PIL import Image, ImageCms
from release_specimens import KINDS, pillow, scene, tiff

from anonymize.release.burned_in.options import TextOptions
from anonymize.release.raster import containers
from anonymize.release.uniform import Uniform

OWN = {"SOPInstanceUID", "StudyInstanceUID", "SeriesInstanceUID", "PatientID", "PixelData"}


def described(data):
    """All of a file but its pixels and pseudonyms."""
    if data[128:132] != b"DICM":
        chunks = containers.png_chunks(data)
        return str([(kind, content) for kind, content in chunks if kind != b"IDAT"])
    made = opened(data)
    lines = [str(e) for e in made if e.keyword not in OWN]
    meta = [
        str(e) for e in made.file_meta if "0002,0000" not in str(e) and "0002,0003" not in str(e)
    ]
    return "\n".join([*meta, *lines])


def leak(folder, *, name, data, format, side=32, **options):
    """Compares a file with another one, all of whose properties differ."""
    other = {"other.tif": tiff(scene(65535, size=(90, 33 * side // 32), dtype="uint16"))}
    wanted = {"uniform": Uniform(side, format), "names": "hashed", **options}
    outcome = apply(folder, {name: data, **other}, **wanted)
    if outcome.reasons:
        return f"not released: {set(outcome.reasons.values())}"
    names = {path.partition(".")[2] for path in outcome.images}
    kinds = {described(content) for content in outcome.images.values()}
    figures = outcome.files["manifest.csv"].decode().splitlines()
    mm = [figures[0].split(",").index(f"displacement_{k}_mm") for k in ("max", "mean")]
    if len(names) > 1 or len(kinds) > 1:
        return "files that differ in more than their pixels"
    if any(row.split(",")[i] for row in figures[1:] for i in mm):
        return "a length in mm"
    there = figures[0].split(",").index("text_regions")
    return "whether text was removed" if any(row.split(",")[there] for row in figures[1:]) else None


def dicoms():
    for make in (cr, dx, capture):
        for bits, signed, photometric in (
            (8, False, "MONOCHROME2"),
            (12, False, "MONOCHROME1"),
            (12, True, "MONOCHROME2"),
            (16, False, "MONOCHROME2"),
        ):
            values = picture(bits, signed=signed, size=(41, 53))
            made = with_pixels(make(), values, bits=bits, signed=signed, photometric=photometric)
            yield f"{make.__name__} {bits} {signed} {photometric}", file(made)
    made = with_pixels(dx(), picture(size=(70, 44)), bits=12)
    yield "JPEG 2000", file(made, JPEG_2000)
    yield "RLE", file(made, RLE)


def inputs():
    """(what it is, name, content)."""
    yield from ((name, name, data) for name, data in KINDS.items())
    yield from ((name, "a.dcm", data) for name, data in dicoms())
    for width, height in ((32, 32), (33, 32), (32, 400), (400, 32), (1000, 999)):
        yield f"{width} x {height}", "a.tif", tiff(scene(size=(height, width)))


def named():
    """A picture on which a name stands."""
    shown = scene(size=(300, 420))
    return cv2.putText(shown.copy(), "DOE JANE 1970", (30, 60), cv2.FONT_HERSHEY_SIMPLEX, 1, 255, 2)


def profiled():
    """A picture with a colour profile, whose words are also words of our own headers."""
    data = BytesIO()
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    Image.fromarray(scene(size=(64, 80))).save(data, "PNG", icc_profile=profile)
    return data.getvalue()


def case(what, format, *, fast=True, **options):
    check = partial(leak, format=format, **options)
    return Case("one size, one format", f"{what} as {format}", check, fast=fast)


FORMATS, INPUTS = ("png", "dicom"), [*inputs()]
TEXT = {"name": "a.png", "data": pillow(named(), "PNG"), "text": TextOptions("remove"), "side": 64}
CASES = [
    *(
        case(what, format, name=name, data=data, fast=number % 9 == 0)
        for format in FORMATS
        for number, (what, name, data) in enumerate(INPUTS)
    ),
    *(case("text that is removed,", format, fast=False, **TEXT) for format in FORMATS),
    *(case("a colour profile", format, name="a.png", data=profiled()) for format in FORMATS),
]
