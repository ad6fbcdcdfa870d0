"""Names that a file's header, its values or its colours hide from whoever looks at one view.

What counts is the stored values of the output: whoever has them chooses his own window.
"""

from functools import partial

import numpy as np
from corpus import Case, apply
from dicom_specimens import code, dx, file, lut, with_pixels
from dicom_specimens import padding as padded
from release_specimens import Constant, pillow, png, scene, tiff
from text_specimens import letters

from anonymize.release.burned_in.options import TextOptions
from anonymize.release.decode import picture

SIZE, AT = (300, 384), (120, 60)
NAME = letters("DOE^JANE 1957", "sans bold", 18, 0) > 127
BOX = slice(AT[0], AT[0] + NAME.shape[0]), slice(AT[1], AT[1] + NAME.shape[1])
LEGIBLE = 0.6  # correlation of a quarter of the text with what lies at its place
BODY = scene(1000, size=SIZE, dtype=np.int64) + 1500  # of 12 bits: neither dark nor bright


def written(values, step, *, flat=None):
    """``values`` with the name, ``step`` above them, or above ``flat`` in a bar of that value."""
    made = values.copy()
    if flat is not None:
        made[AT[0] - 30 : AT[0] + 60] = flat
    made[BOX] += step * NAME
    return made


def legible(data: bytes, name: str) -> bool:
    """True where the stored values show a quarter of the name, in any channel."""
    pixels = picture(name, data).pixels.astype(np.float64)
    shifted = slice(BOX[1].start + 1, BOX[1].stop + 1)  # as the method moves it
    for channel in np.moveaxis(pixels, 2, 0):
        shown = np.array_split(channel[BOX[0], shifted], 4, axis=1)
        for part, truth in zip(shown, np.array_split(NAME, 4, axis=1), strict=True):
            if part.std() > 1e-9 and abs(np.corrcoef(part.ravel(), truth.ravel())[0, 1]) > LEGIBLE:
                return True
    return False


def leak(folder, *, name, make):
    outcome = apply(folder, {name: make()}, Constant(1, 0), text=TextOptions("remove"))
    shown = [out for out, data in outcome.images.items() if legible(data, out)]
    return f"legible in {shown[0]}" if shown else None


def dicom(values, *, bits=12, signed=False, monochrome1=False, padding=(), windows=(), **more):
    """A DX file of stored ``values``; windows are (centre, width)."""
    made = dx()
    top, kind = (1 << bits) - 1, np.int64
    values = np.asarray(values, kind)
    if monochrome1:
        values = top - values
        padding = [top - p for p in padding]
    if signed:
        values = values - (1 << (bits - 1))
        padding = [p - (1 << (bits - 1)) for p in padding]
    stored = values.astype(np.uint8 if bits == 8 else np.int16 if signed else np.uint16)
    centres = [c for c, _ in windows] or [2048]
    if monochrome1:
        centres = [top - c for c in centres]
    made.WindowCenter = [c - (1 << (bits - 1)) * signed for c in centres]
    made.WindowWidth = [w for _, w in windows] or [4096]
    del made.WindowCenterWidthExplanation
    said = {"photometric": "MONOCHROME1" if monochrome1 else "MONOCHROME2", "signed": signed}
    return file(with_pixels(made, stored, bits=bits, **said, **padded(*padding), **more))


def table(low, high):
    """A VOI LUT of 12 bits that shows what lies between two values."""
    return lut(np.interp(np.arange(4096), [low, high], [0, 65535]), 16)


def varied(name, make):
    """The same under both photometric interpretations and both representations."""
    for monochrome1 in (False, True):
        for signed in (False, True):
            kind = f"MONOCHROME{1 if monochrome1 else 2}, {'signed' if signed else 'unsigned'}"
            made = partial(make, monochrome1=monochrome1, signed=signed)
            yield f"{name}, {kind}", "a.dcm", made


def hidden_by_the_header():
    ways = {}
    for value in (0, 1200, 2000, 4095):
        ways[f"padding value {value} as ink"] = (np.where(NAMED, value, BODY), {"padding": [value]})
    ways["ink inside the padding range"] = written(BODY, 60, flat=0), {"padding": [0, 200]}
    ways["ink of the padding on padding"] = written(BODY, 1, flat=10), {"padding": [10, 11]}
    ways["below the window"] = written(BODY, 40, flat=60), {"windows": [(2000, 1000)]}
    ways["above the window"] = written(BODY, 40, flat=4000), {"windows": [(2000, 1000)]}
    second = {"windows": [(2000, 1000), (80, 60)]}
    ways["in the second window only"] = written(BODY, 40, flat=60), second
    third = {"windows": [(2000, 1000), (1500, 3000), (4020, 60)]}
    ways["in the third window only"] = written(BODY, 40, flat=4000), third
    whole = {"VOILUTSequence": [table(1500, 2500), table(40, 120)]}
    ways["in the second table only"] = written(BODY, 40, flat=60), whole
    for value in (3500, 4095):
        shown = written(BODY, 40, flat=60)
        shown[AT[0] - 20 : AT[0] + 50][DECOYS] = value
        second = {"windows": [(2000, 4000), (75, 60)], "VOILUTFunction": "LINEAR"}
        ways[f"under marks of {value} in the first window"] = shown, second
    for name, (values, options) in ways.items():
        kinds = list(varied(name, partial(dicom, values, **options)))
        yield from kinds if "table" not in name else kinds[:1]


def hidden_by_contrast():
    for step in (1, 2, 5, 20):
        for flat in (0, 700, 4000):
            values = written(BODY, step, flat=flat)
            yield f"{step} of 4096 on {flat}", "a.dcm", partial(dicom, values)
    for step in (16, 24, 40):
        yield f"{step} of 4096 on the body", "a.dcm", partial(dicom, written(BODY, step))
        yield f"{-step} of 4096 on the body", "a.dcm", partial(dicom, written(BODY, -step))
    deep = BODY * 16
    for step in (1, 50):
        values = written(deep, step, flat=20_000)
        yield f"{step} of 65536", "a.dcm", partial(dicom, values, bits=16, windows=[(32768, 65535)])
        yield f"{step} of 65536, PNG", "a.png", partial(png, values, 16, 0)
        yield f"{step} of 65536, TIFF", "a.tif", partial(tiff, values.astype(np.uint16))
    light = (BODY // 16).astype(np.int64)
    for step in (1, 3):
        for flat in (0, 128, 252):
            values = written(light, step, flat=flat)
            yield f"{step} of 256 on {flat}, PNG", "a.png", partial(png, values, 8, 0)
    dark = written(light, 2, flat=100).astype(np.uint8)
    yield "2 of 256, dark on light TIFF", "a.tif", partial(tiff, dark, photometric="miniswhite")


def coloured(channel, ink):
    """A gray picture whose name is of another colour of much the same brightness."""
    gray = (BODY // 16).astype(np.int64)
    planes = np.repeat(gray[..., None], 3, 2)
    planes[AT[0] - 30 : AT[0] + 60] = 120
    if channel is None:
        planes[BOX] += NAME[..., None] * np.array(ink)
    else:
        planes[BOX][..., channel] += NAME * ink
    return planes.clip(0, 255).astype(np.uint8)


def cmyk():
    inks = np.zeros((*SIZE, 4), np.uint8)
    inks[..., 3] = 255 - (BODY // 16)
    inks[BOX][NAME] += np.array([12, 0, 0, 0], np.uint8)
    return tiff(inks, photometric="separated")


def under(ground, ink):
    """``ink`` on a bar of ``ground``, which shows nothing of it."""
    inks = np.zeros((*SIZE, 4), np.uint8)
    inks[..., 3] = 255 - (BODY // 16)
    inks[AT[0] - 30 : AT[0] + 60] = ground
    inks[BOX][NAME] += np.array(ink, np.uint8)
    return tiff(inks, photometric="separated")


def palette():
    """Two entries of nearly the same colour, one of them the ink's."""
    grays = np.repeat(np.arange(256)[:, None], 3, 1)
    grays[200] = [122, 119, 120]
    indexes = (BODY // 16).astype(np.uint8)
    indexes[AT[0] - 30 : AT[0] + 60] = 120
    indexes[BOX][NAME] = 200
    return png(indexes, 8, 3, palette=grays)


def jpeg():
    gray = written((BODY // 16).astype(np.int64), 12).astype(np.uint8)
    return pillow(gray, "JPEG", quality=95)


def hidden_by_colour():
    yield "blue only", "a.png", lambda: png(coloured(2, 60), 8, 2)
    yield "blue only, 4 levels", "a.png", lambda: png(coloured(2, 4), 8, 2)
    yield "of one brightness", "a.png", lambda: png(coloured(None, (40, -20, 0)), 8, 2)
    green = partial(tiff, coloured(None, (-40, 20, 2)), photometric="rgb")
    yield "green for red, TIFF", "a.tif", green
    yield "cyan ink", "a.tif", cmyk
    yield "cyan ink under black", "a.tif", partial(under, (0, 0, 0, 255), (60, 0, 0, 0))
    yield "black ink under colours", "a.tif", partial(under, (255, 255, 255, 0), (0, 0, 0, 90))
    yield "in the palette", "a.png", palette
    yield "12 of 256, JPEG", "a.jpg", jpeg


DECOYS = np.zeros((70, SIZE[1]), bool)
DECOYS[::7, ::3] = DECOYS[3::7, 1::5] = True
NAMED = np.zeros(SIZE, bool)
NAMED[BOX] = NAME


def said_to_be_burned_in(folder, *, values, mode):
    """A file that says YES, in which nothing is found, must not say NO."""
    data = dicom(values, BurnedInAnnotation="YES", AnatomicRegionSequence=[CHEST])
    outcome = apply(folder, {"a.dcm": data}, Constant(1, 0), text=TextOptions(mode))
    return "released" if outcome.images else None


CHEST = code("T-D3000", "SRT", "Chest")
HIDDEN = {
    "text hidden by the header": hidden_by_the_header,
    "text of little contrast": hidden_by_contrast,
    "text hidden by colour": hidden_by_colour,
}


def large(folder, *, word, height):
    """Half of the strokes of letters of so many pixels of 1024 are where they were."""
    strokes = letters(word, "sans bold", height, 0)[:900, :980] > 127
    picture = scene(150, size=(1024, 1024))
    part = tuple(slice(20, 20 + side) for side in strokes.shape)
    picture[part][strokes] = 240
    outcome = apply(
        folder, {"a.png": pillow(picture, "PNG")}, Constant(1, 0), text=TextOptions("remove")
    )
    for name, data in outcome.images.items():
        shown = picture_of(name, data)[part]
        if (shown[strokes] == 240).mean() > 0.5:
            return f"letters of {height} pixels"
    return None


def picture_of(name, data):
    """The first channel, moved back."""
    return np.roll(picture(name, data).pixels[..., 0], 1, 1)


CASES = [
    Case(
        "large text",
        f"{word}, {height} of 1024",
        partial(large, word=word, height=height),
        fast=False,
    )
    for word, height in (("SMITH", 100), ("SMITH", 160), ("DOE", 200), ("LEE", 240))
]
CASES += [
    Case(group, title, partial(leak, name=name, make=make), fast=False)
    for group, cases in HIDDEN.items()
    for title, name, make in cases()
] + [
    Case(
        "said to be burned in",
        f"nothing to be found, --text {mode}, {bits}",
        partial(said_to_be_burned_in, values=values, mode=mode),
        fast=False,
    )
    for mode in ("remove", "detect")
    for bits, values in (("body", BODY), ("dim", BODY // 8), ("flat", BODY * 0 + BODY // 500))
]
