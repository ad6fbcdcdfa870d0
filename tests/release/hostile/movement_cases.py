"""Pictures that come out as they went in: hidden from warp or network, or lost on the way."""

from functools import partial

import numpy as np
from corpus import Case, apply
from dicom_specimens import cr, file, lut, padding, with_pixels
from PIL import Image
from pydicom.dataset import Dataset
from release_specimens import Wave, pillow, png, scene

from anonymize.release import decode

SIZE = (96, 112)
RNG = np.random.default_rng(5)
PICTURE = (scene(3800, size=SIZE, dtype=np.int64) + RNG.integers(0, 200, SIZE)).astype(np.uint16)


class Slight(Wave):
    """A third of a pixel, differently everywhere."""

    def __init__(self):
        super().__init__(0.004)


class Corner(Wave):
    """Moves a corner far, and nothing else."""

    def displacement(self, images):
        field = 4 * super().displacement(images)
        field[..., 20:, :] = 0
        field[..., 20:] = 0
        return field


class Border(Corner):
    """Moves the border, and nothing inside."""

    def displacement(self, images):
        field = 4 * Wave.displacement(self, images)
        field[..., 12:-12, 12:-12] = 0
        return field


class Seeing(Wave):
    """Moves what it sees: nothing where the view is one gray."""

    def displacement(self, images):
        spread = images.amax((1, 2, 3), keepdim=True) - images.amin((1, 2, 3), keepdim=True)
        return super().displacement(images) * spread.clamp(0.001, 1)


class Stripe(Wave):
    """Does not deform; changes a few rows."""

    rows = 5

    def displacement(self, images):
        return None

    def anonymize(self, images):
        made = images.clone()
        made[..., : self.rows, :] = 1 - made[..., : self.rows, :]
        return made


class Pixel(Stripe):
    """Does not deform; changes one pixel in a hundred."""

    def anonymize(self, images):
        made = images.clone()
        made[..., ::10, ::10] = 1 - made[..., ::10, ::10]
        return made


def still(outcome, before):
    """The share of the picture's pixels that are in the output at their place, where it is much."""
    for data in outcome.images.values():
        after = decode.picture("a", data).pixels[..., 0].astype(np.int64)
        steps = np.abs(np.diff(before.astype(np.int64), axis=1)) > np.ptp(before) / 100
        same = (after == before)[:, 1:][steps].mean()
        if same > 0.4:
            return f"{same:.0%} of the pixels did not move"
    return None


def dicom_leak(folder, *, model, values=PICTURE, value=0, limit=None, **header):
    made = with_pixels(cr(), values, bits=12, **padding(value, limit), **header)
    outcome = apply(folder, {"a.dcm": file(made)}, model())
    if header.get("photometric") == "MONOCHROME1":
        values = 4095 - values
    return still(outcome, values)


def raster_leak(folder, *, model, name, data):
    before = decode.picture(name, data).pixels[..., 0]
    return still(apply(folder, {name: data}, model()), before)


def dithered():
    """The picture in two values."""
    image = Image.fromarray((PICTURE >> 4).astype(np.uint8)).convert("1")
    return np.asarray(image).astype(np.uint16) * 4000


def posterised(levels):
    return (PICTURE // (4096 // levels) * (4096 // levels)).astype(np.uint16)


def framed():
    """The picture in a few low grays, in a frame of strong ones."""
    values = PICTURE >> 3
    values[:9], values[-9:] = PICTURE[:9], PICTURE[-9:]
    return values


def faint():
    """The picture in few grays of 16 bits, in a frame of strong ones that is all that moves."""
    values = (PICTURE >> 4) + 20000
    edge = np.ones(SIZE, bool)
    edge[9:-9, 9:-9] = False
    return np.where(edge, PICTURE * 15, values).astype(np.uint16)


def faint_leak(folder, *, model):
    return still(
        apply(folder, {"a.dcm": file(with_pixels(cr(), faint(), bits=16))}, model()), faint()
    )


def grouped():
    """A window and a rescale that hide all, in functional groups."""
    said, pixels, window = Dataset(), Dataset(), Dataset()
    pixels.RescaleSlope, pixels.RescaleIntercept, pixels.RescaleType = "0.00001", "0", "US"
    window.WindowCenter, window.WindowWidth = 60000, 10
    said.PixelValueTransformationSequence, said.FrameVOILUTSequence = [pixels], [window]
    return [said]


def table(entry):
    """A table of values of interest that shows one gray."""
    return [lut([entry] * 4096, 12)]


def case(name, model, **options):
    check = partial(dicom_leak, model=model, **options)
    return Case("nothing moved", f"{name}, {model.__name__}", check)


def raster(name, model, file_name, data):
    check = partial(raster_leak, model=model, name=file_name, data=data)
    return Case("nothing moved", f"{name}, {model.__name__}", check)


def gray(levels=256):
    return ((PICTURE >> 4) * (levels - 1) // 256).astype(np.uint8)


WHOLE_WINDOW = {"WindowCenter": 2048, "WindowWidth": 4096}
CASES = [
    *(
        case(f"padding {low} to {high}", model, value=low, limit=high)
        for low, high in ((0, 4095), (4095, 0), (0, 4000), (0, 3000), (0, 2000), (1000, 4095))
        for model in (Slight, Wave)
    ),
    *(
        case(f"padding 0 to {high}, inverted", Slight, limit=high, photometric="MONOCHROME1")
        for high in (4095, 3000)
    ),
    *(
        case(f"padding over all, and {name}", model, value=0, limit=4095, **how)
        for name, how in (
            ("a window", WHOLE_WINDOW),
            ("a frame", {"values": framed()}),
        )
        for model in (Slight, Seeing)
    ),
    *(
        case(f"{name}, one value is padding", Slight, values=values, value=value)
        for name, values, value in (
            ("dithered", dithered(), 0),
            ("dithered brightly", dithered() + 5, 4005),
            ("4 grays", posterised(4), 1024),
            ("8 grays", posterised(8), 2048),
        )
    ),
    case("4 grays, all padding", Slight, values=posterised(4), value=0, limit=4095),
    *(
        case(f"hidden by {name}", Seeing, **how)
        for name, how in (
            ("padding", {"value": 0, "limit": 4095}),
            ("a window above", {"WindowCenter": 60000, "WindowWidth": 100}),
            ("a window below", {"WindowCenter": -60000, "WindowWidth": 100}),
            ("a wide window", {"WindowCenter": 2048, "WindowWidth": 90000}),
            ("a rescale", {"RescaleSlope": "0.00001", "RescaleIntercept": "0", **WHOLE_WINDOW}),
            ("a black table", {"VOILUTSequence": table(0)}),
            ("a white table", {"VOILUTSequence": table(4095)}),
        )
    ),
    *(case("a method that leaves the middle", model) for model in (Corner, Border, Stripe, Pixel)),
    *(
        raster("PNG, a method that leaves the middle", model, "a.png", png(gray(), 8, 0))
        for model in (Corner, Border, Stripe, Pixel)
    ),
    *(raster(f"{bits} bits", Slight, "a.png", png(gray(1 << bits), bits, 0)) for bits in (1, 2)),
    *(
        raster(f"JPEG of quality {n}", Slight, "a.jpg", pillow(gray(), "JPEG", quality=n))
        for n in (1, 5, 10)
    ),
]
CASES += [
    Case("nothing moved", "a faint picture in a strong frame", partial(faint_leak, model=Border)),
    case("hidden in functional groups", Seeing, SharedFunctionalGroupsSequence=grouped()),
    case("all but one value is padding", Slight, value=1, limit=4094),
    case("padding behind a rescale", Slight, limit=4000, RescaleSlope="2", RescaleIntercept="-9"),
    case("padding in every second row", Slight, values=PICTURE * (np.arange(SIZE[0]) % 2)[:, None]),
]
