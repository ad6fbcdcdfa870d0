"""Radiographs as masks, under a method that moves nothing; NIfTI headers that carry bytes."""

import gzip
from functools import partial

import nibabel
import numpy as np
from corpus import Case, each, labelled
from label_cases import IMAGE as IMAGE_A
from label_cases import coco
from label_specimens import png_mask as binary
from label_specimens import posterised
from PIL import Image
from release_specimens import Gray, pillow, png
from scipy.ndimage import gaussian_filter
from skimage.measure import find_contours

from anonymize.release.labels import rle

SIZE = (96, 128)  # H, W


def radiograph(seed=0):
    """(H, W) uint8 with structure of every scale, dark outside."""
    noise = np.random.default_rng(seed).standard_normal(SIZE)
    y, x = np.mgrid[: SIZE[0], : SIZE[1]] / SIZE[0]
    field = sum(w * gaussian_filter(noise, s) * s for w, s in ((0.5, 1.5), (1, 5), (2, 14)))
    field = field - 2 * ((y - 0.5) ** 2 + (x - 0.66) ** 2)
    field = (field - field.min()) / np.ptp(field)
    return np.round(field * 255).astype(np.uint8)


IMAGE = radiograph()
SMOOTH = gaussian_filter(IMAGE.astype(float), 5)


def enlarged(picture, factor):
    return np.kron(picture, np.ones((factor, factor), picture.dtype))


def permuted(values):
    return np.random.default_rng(7).permutation(values.max() + 1)[values]


def floyd(picture):
    """Error diffusion of Floyd and Steinberg, by Pillow."""
    return np.asarray(Image.fromarray(picture).convert("1"))


def bayer(picture, cell=4):
    matrix = np.zeros((1, 1))
    while len(matrix) < cell:
        matrix = np.block([[4 * matrix, 4 * matrix + 2], [4 * matrix + 3, 4 * matrix + 1]])
    tiles = np.tile(matrix, np.ceil(np.divide(picture.shape, cell)).astype(int))
    return picture / 255 > (tiles[: picture.shape[0], : picture.shape[1]] + 0.5) / cell**2


def halftone(picture, cell=8):
    """Round dots, larger where it is brighter."""
    y, x = np.mgrid[: picture.shape[0] * 2, : picture.shape[1] * 2]
    distance = np.hypot(y % cell - cell / 2 + 0.5, x % cell - cell / 2 + 0.5)
    return distance < enlarged(picture, 2) / 255 * cell * 0.7


def randomly(picture):
    return picture > np.random.default_rng(1).integers(0, 256, picture.shape)


def lines(picture, pitch=8):
    """Horizontal lines, thicker where it is brighter."""
    y = np.mgrid[: picture.shape[0] * 4, : picture.shape[1] * 4][0]
    return abs(y % pitch - pitch / 2 + 0.5) < enlarged(picture, 4) / 255 * pitch / 2


def nifti(values, affine=None, *, compressed=True):
    kept = np.asarray(values, np.int32 if np.max(values) > 255 else np.uint8)
    finite = affine is None or np.isfinite(affine).all()
    data = nibabel.Nifti1Image(kept.T[..., None], affine if finite else np.eye(4)).to_bytes()
    if not finite:
        data = data[:280] + affine[:3].astype("<f4").tobytes() + data[328:]
    return gzip.compress(data) if compressed else data


def gray_png(values):
    return png(np.asarray(values), 16 if np.max(values) > 255 else 8, 0)


def planes(picture, count):
    """The highest bits, each a mask of its own."""
    return {f"a_{k}.png": binary(picture >> (8 - k) & 1) for k in range(1, count + 1)}


def packed(picture):
    """Rows of eight gray values in one label."""
    return picture.reshape(SIZE[0], -1, 4).astype(np.int64) @ (1 << 8 * np.arange(3, -1, -1)) >> 1


def as_runs(mask):
    return annotated({"segmentation": rle.encode(mask, as_string=True)})


def annotated(*annotations):
    return coco(*annotations, images=[{**IMAGE_A, "width": SIZE[1], "height": SIZE[0]}])


def contours(picture):
    """Nested outlines of equal brightness."""
    rings = [
        np.clip(ring[:-1, ::-1] + 0.5, 0, (SIZE[1], SIZE[0])).round(2).ravel().tolist()
        for level in range(10, 250, 10)
        for ring in find_contours(np.pad(picture, 1), level)
        if len(ring) > 8
    ]
    return annotated(*({"segmentation": [ring]} for ring in rings))


def boxes(dither):
    """A box of a pixel for each one that a dither sets."""
    return annotated(*({"bbox": [int(x), int(y), 1, 1]} for y, x in np.argwhere(dither).tolist()))


def stippled(dither):
    rows = (f"a.png,{x + 0.5},{y + 0.5}" for y, x in np.argwhere(dither))
    return "\n".join(["path,x,y", *rows, ""]).encode()


DITHER = floyd(IMAGE)
PICTURES = {
    "itself": {"a.png": gray_png(IMAGE)},
    "itself at 16 bits": {"a.png": gray_png(IMAGE.astype(np.uint16) * 257)},
    "5 times enlarged": {"a.png": gray_png(enlarged(IMAGE, 5))},
    "3 times enlarged": {"a.png": gray_png(enlarged(IMAGE, 3))},
    "9 times enlarged NIfTI": {"a.nii.gz": nifti(enlarged(IMAGE, 9))},
    "5 times enlarged, 4 bits": {"a.png": gray_png(enlarged(IMAGE >> 4, 5))},
    "5 times enlarged, inverted": {"a.png": gray_png(255 - enlarged(IMAGE, 5))},
    "half as large": {"a.png": gray_png(enlarged(IMAGE[::2, ::2], 5))},
    **{f"{k} levels": {"a.png": gray_png(posterised(IMAGE, k))} for k in (4, 6, 8, 16, 32)},
    **{f"{k} levels permuted": {"a.png": gray_png(permuted(posterised(IMAGE, k)))} for k in (5, 8)},
    "smoothed, 8 levels": {"a.png": gray_png(posterised(gaussian_filter(IMAGE, 2), 8))},
    "8 levels NIfTI": {"a.nii": nifti(posterised(IMAGE, 8), compressed=False)},
    "8 levels palette": {
        "a.png": png(permuted(posterised(IMAGE, 8)), 8, 3, palette=np.arange(24).reshape(8, 3) * 10)
    },
    "8 levels in colours": {
        "a.png": png(np.stack([posterised(IMAGE, 8) * k for k in (31, 7, 3)], -1), 8, 2)
    },
    "8 levels of another patient": {"a.png": gray_png(posterised(radiograph(3), 8))},
    "another patient, 5 times enlarged": {"a.png": gray_png(enlarged(radiograph(3), 5))},
    "error diffusion": {"a.png": binary(DITHER)},
    "error diffusion, enlarged": {"a.png": binary(enlarged(DITHER, 4))},
    "error diffusion NIfTI": {"a.nii.gz": nifti(DITHER.astype(np.uint8))},
    "ordered dither": {"a.png": binary(bayer(IMAGE))},
    "ordered dither 8": {"a.png": binary(bayer(enlarged(IMAGE, 2), 8))},
    "random dither": {"a.png": binary(randomly(enlarged(IMAGE, 2)))},
    **{
        f"its own level, {share:.0%} of it": {
            "a.png": binary(np.quantile(SMOOTH, 1 - share) < SMOOTH)
        }
        for share in (0.3, 0.5, 0.7)
    },
    "its own level, two values": {
        "a.png": gray_png((np.median(SMOOTH) < SMOOTH) * (1 + (np.arange(SIZE[1]) > 60)))
    },
    "its own level in run lengths": {"k.json": as_runs(np.median(SMOOTH) < SMOOTH)},
    "halftone": {"a.png": binary(halftone(IMAGE))},
    "large halftone": {"a.png": binary(enlarged(halftone(IMAGE, 16), 3))},
    "lines": {"a.png": binary(lines(IMAGE))},
    "another patient, dithered": {"a.png": binary(floyd(radiograph(3)))},
    "8 bit planes": planes(IMAGE, 8),
    "3 bit planes": planes(IMAGE, 3),
    "3 bit planes of a smooth one": planes(gaussian_filter(IMAGE, 2), 3),
    "4 pixels a label": {"a.nii.gz": nifti(np.repeat(packed(IMAGE), 4, 1).astype(np.int32))},
    "dither in run lengths": {"k.json": as_runs(DITHER)},
    "levels in run lengths": {
        "k.json": annotated(
            *(
                {"segmentation": rle.encode(posterised(IMAGE, 8) > k, as_string=True)}
                for k in range(7)
            )
        )
    },
    "levels as polygons": {"k.json": contours(IMAGE)},
    "dither of boxes": {"k.json": boxes(DITHER)},
    "dither of points": {"t.csv": stippled(DITHER)},
}


def shown(folder, *, labels, image=IMAGE):
    """What is said where the labels were released: every one of them shows the patient."""
    outcome = labelled(folder, {"a.png": pillow(image, "PNG")}, labels, model=Gray())
    if outcome is not None and "a.png" in outcome.images:
        return "released beside its radiograph"
    return None


TEXT = b"DOE^JANE born 1970-02-03, id 4711081"
Y, X = np.mgrid[: SIZE[0], : SIZE[1]]
HEART = ((Y - 50) ** 2 / 30**2 + (X - 60) ** 2 / 20**2 < 1).astype(np.uint8)


def matrix(number):
    """The affine of ``number``-th eight bytes of TEXT in its first row."""
    made = np.diag([0.2, 0.2, 1, 1])
    made[0] = np.frombuffer(TEXT[number : number + 16], np.float32)
    return made


AFFINES = {
    "text in the first row": matrix(0),
    "text in another row": matrix(16)[[1, 0, 2, 3]],
    "a number as translation": np.array(
        [[0.2, 0, 0, 4711081], [0, 0.2, 0, 1970], [0, 0, 1, 203], [0, 0, 0, 1.0]]
    ),
    "a number as spacing": np.diag([4711.081, 1970.0203, 471.1081, 1]),
    "digits of a spacing": np.diag([0.24711081, 0.2470203, 1, 1]),
    "nothing finite": np.full((4, 4), np.nan),
    "a shear": np.array([[0.2, 0.04711081, 0, 0], [0, 0.2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]]),
}


def carried(folder, *, affine):
    """Whether numbers of a header came through."""
    labels = {"a.nii": nifti(HEART, affine, compressed=False)}
    outcome = labelled(folder, {"a.png": pillow(IMAGE, "PNG")}, labels, model=Gray())
    data = next((d for n, d in outcome.files.items() if n.endswith(".nii")), None)
    if data is None:
        return "an honest mask was held back"
    made = nibabel.Nifti1Image.from_bytes(data).affine
    plausible = {float(f"{v:.3g}") for v in np.abs(made).ravel()}
    same = np.allclose(sorted(plausible), sorted(set(np.abs(made).ravel())), rtol=1e-6)
    turned = (made[:3, :3] != 0).sum() == 3 and not made[:3, 3].any()
    small = np.abs(made).max() <= 10
    if not (same and turned and small and np.isfinite(made).all()):
        return "an affine that is no spacing along the axes"
    return None


CASES = each("radiograph as label", shown, PICTURES, "labels", every=4)
CASES += [
    Case("numbers of a NIfTI header", name, partial(carried, affine=affine), fast=k < 2)
    for k, (name, affine) in enumerate(AFFINES.items())
]
