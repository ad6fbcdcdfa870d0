"""Radiographs turned, mirrored or small in a mask; values of masks that say something."""

import numpy as np
from corpus import Case, each, labelled
from label_specimens import posterised
from mask_cases import IMAGE, SIZE, annotated, enlarged, gray_png, nifti, permuted, shown
from release_specimens import Gray, pillow, png
from scipy.ndimage import gaussian_filter, rotate


def chest():
    """A drawing of a chest (H, W) uint8, as no other way round."""
    y, x = np.mgrid[: 2 * SIZE[0], : 2 * SIZE[1]] / (2 * SIZE[0])
    picture = 0.6 - 0.5 * ((y - 0.45) ** 2 + (x - 0.66) ** 2) + 0.25 * (y > 0.8)
    for left, bright in ((0.38, -0.35), (0.94, -0.42), (0.62, 0.3)):
        picture += bright * np.exp(-(((x - left) / 0.17) ** 2) - ((y - 0.5) / 0.3) ** 2)
    noise = gaussian_filter(np.random.default_rng(12).standard_normal(picture.shape), 9) * 3
    picture = picture + noise
    return np.round((picture - picture.min()) / np.ptp(picture) * 255).astype(np.uint8)


CHEST = chest()
FOUR = posterised(gaussian_filter(CHEST.astype(float), 3), 4).astype(np.uint8)


def turned(angle):
    picture = rotate(CHEST.astype(float), angle, reshape=False, order=1, mode="nearest")
    return posterised(gaussian_filter(picture, 3), 4).astype(np.uint8)


def in_a_part(values, where, border=0):
    """A map of half the size within one of another value, inside a frame where there is one."""
    small = values[::2, ::2] + 1
    whole = np.zeros_like(values)
    whole[:border] = whole[:, :border] = whole[-1 - border :] = 6 * bool(border)
    (top, left), (height, width) = where, small.shape
    whole[top : top + height, left : left + width] = small
    return whole


ELSEWHERE = {
    "mirrored": FOUR[:, ::-1],
    "upside down": FOUR[::-1],
    "upside down and mirrored": FOUR[::-1, ::-1],
    "mirrored, inverted, permuted": permuted(3 - FOUR[:, ::-1]).astype(np.uint8),
    "mirrored, three levels": FOUR[:, ::-1].clip(1, 3),
    "mirrored, 3 times enlarged": enlarged(FOUR[:, ::-1], 3),
    **{f"turned by {angle} degrees": turned(angle) for angle in (12, 45, 137, 200)},
    "in a corner": in_a_part(FOUR, (4, 4)),
    "in another corner, mirrored": in_a_part(FOUR[:, ::-1], (90, 120)),
    "in a corner, framed": in_a_part(FOUR, (8, 8), 3),
}
LETTERS = np.frombuffer(b"DOE^JANE 1970-02-03!", ">u2").astype(np.uint16)


def in_stripes(colours):
    """A map (H, W) or (H, W, C) of one stripe a colour."""
    stripes = np.arange(SIZE[1]) * len(colours) // SIZE[1]
    return np.repeat(np.asarray(colours)[stripes][None], SIZE[0], 0)


SAYING = {
    "letters as values of 16 bits": {"a.png": png(in_stripes(LETTERS), 16, 0)},
    "letters as values of a NIfTI": {"a.nii.gz": nifti(in_stripes(LETTERS))},
    "letters as colours": {
        "a.png": png(in_stripes(np.frombuffer(b"DOE^JANE born 1970", np.uint8).reshape(6, 3)), 8, 2)
    },
    "an id as a value": {"a.nii": nifti(in_stripes([0, 47110]), compressed=False)},
}


def counted(folder):
    """A number where a box says how large it is."""
    labels = {"k.json": annotated({"bbox": [10, 10, 50, 50], "area": 1970.0203})}
    outcome = labelled(folder, {"a.png": pillow(IMAGE, "PNG")}, labels, model=Gray())
    return outcome.holds(b"1970.0")


MASKS = {name: {"a.png": gray_png(values)} for name, values in ELSEWHERE.items()}
CASES = [
    *each("radiograph elsewhere in a label", shown, MASKS, "labels", every=3, image=CHEST),
    *each("text in labels' values", shown, SAYING, "labels"),
    Case("text in labels' values", "an area without a shape", counted),
]
