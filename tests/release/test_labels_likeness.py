"""Which labels show a radiograph, and which may be released; what a NIfTI header keeps."""

import numpy as np
import pytest
from label_specimens import ellipse, posterised
from PIL import Image
from release_specimens import png
from scipy.ndimage import gaussian_filter, rotate

from anonymize.release.burned_in import policy
from anonymize.release.burned_in.options import TextOptions
from anonymize.release.labels import levels, likeness, masks
from anonymize.release.labels.carry import Job, MaskFile, carry
from anonymize.release.labels.texts import class_name
from anonymize.release.radiograph import Radiograph
from anonymize.release.reasons import Refused

SIZE = (150, 200)  # H, W
Y, X = np.mgrid[: SIZE[0], : SIZE[1]]


def chest():
    """A drawing of a chest with texture, [0, 1], and its organs as a label map."""
    organs = np.zeros(SIZE, np.uint8)
    lungs, heart = [(75, 60, 55, 30), (75, 140, 55, 30)], (100, 110, 30, 25)
    clavicles = [(20, 70, 6, 40), (20, 130, 6, 40)]
    for value, (y, x, b, a) in enumerate((*lungs, heart, *clavicles), 1):
        organs[((Y - y) / b) ** 2 + ((X - x) / a) ** 2 < 1] = value
    noise = gaussian_filter(np.random.default_rng(0).standard_normal(SIZE), 4)
    shade = np.choose(organs, (0.5, 0.25, 0.3, 0.8, 0.6, 0.6))
    return np.clip(shade + noise * 2 + 0.3 * Y / SIZE[0], 0, 1), organs


def ribs():
    values = np.zeros(SIZE, np.uint8)
    for k in range(12):
        for side in (0, 1):
            x0 = 20 + 90 * side
            arch = 12 + 10 * k + (X - x0 - 35) ** 2 / 120
            values[(abs(Y - arch) < 3) & (x0 < X) & (x0 + 70 > X)] = 1 + 2 * k + side
    return values


IMAGE, ORGANS = chest()
LESIONS = sum(
    k * (((Y - 12 * k) ** 2 + (X - (37 * k) % 180) ** 2) < 20).astype(np.uint8)
    for k in range(1, 12)
).astype(np.uint8)
LINE = (abs(Y - 20 - X // 2) < 1).astype(np.uint8)
SMOOTH = gaussian_filter(np.random.default_rng(9).standard_normal(SIZE), 18)
FINE = SMOOTH / SMOOTH.std() + gaussian_filter(np.random.default_rng(10).random(SIZE), 2)
HONEST = {
    "organs": [ORGANS],
    "organs a mask each": [(k == ORGANS).astype(np.uint8) for k in range(1, 6)],
    "ribs": [ribs()],
    "ribs and organs": [ribs(), ORGANS],
    "lesions": [LESIONS],
    "a catheter": [LINE],
    "nothing": [np.zeros(SIZE, np.uint8)],
    "colours": [np.stack([ORGANS * 40, ORGANS * 3, 255 - ORGANS], -1)],
    "enlarged": [np.kron(ORGANS, np.ones((4, 4), np.uint8))],
    "reduced": [ORGANS[::5, ::5]],
    "a bright region": [(IMAGE > 0.9).astype(np.uint8)[:20]],
}


@pytest.mark.parametrize("name", HONEST)
def test_labels_are_let_through(name):
    for values in HONEST[name]:
        likeness.check_map(values)
    likeness.check_unlike(IMAGE, HONEST[name], [], [])


def test_many_boxes_and_points_are_let_through():
    random = np.random.default_rng(1)
    corners = random.uniform(0, 0.8, (300, 2))
    boxes = [np.array([[x, y], [x + 0.1, y], [x + 0.1, y + 0.1], [x, y + 0.1]]) for x, y in corners]
    likeness.check_unlike(IMAGE, [], [], boxes + list(random.uniform(0, 1, (300, 1, 2))))


def test_an_outline_may_be_as_like_as_it_is():
    """A bright ellipse and its mask: there is no other mask of it."""
    mask = ellipse()
    likeness.check_unlike(mask * 0.7 + 0.1, [mask], [], [])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("split", [False, True])
def test_a_level_of_the_image_is_no_mask(sign, split):
    mask = (sign * SMOOTH > np.quantile(sign * SMOOTH, 0.6)).astype(np.uint8)
    assert likeness.check_map(mask) <= likeness.SIMPLE
    if split:
        mask[:, SIZE[1] // 2 :] *= 2
    with pytest.raises(Refused, match="labels"):
        likeness.check_unlike(FINE, [mask], [], [])
    outline = np.array([[0, 0], [1, 0], [1, 1]])  # half of the picture, whatever it shows
    likeness.check_unlike(FINE, [], [], [outline])


@pytest.mark.slow
def test_masks_of_lungs_are_no_levels(shared):
    """Of every fourth radiograph that has one, and of levels of the same as smooth as they are."""
    folder = shared / "data" / "covid19"
    alike, cut = [], []
    for path in sorted((folder / "annotations" / "lungVAE-masks").iterdir())[::4]:
        [image] = (folder / "images").glob(f"{path.stem.removesuffix('_mask')}.*")
        picture = np.asarray(Image.open(image).convert("L").resize((256, 256))) / 255
        lungs = np.asarray(Image.open(path).convert("L").resize((256, 256), 0)) > 0
        smooth = gaussian_filter(picture, 8)
        for found, mask in ((alike, lungs), (cut, smooth > np.median(smooth))):
            columns = (levels.areas(mask, side) for side in likeness.GRIDS)
            seen = (levels.areas(picture, side) for side in likeness.GRIDS)
            found.append(max(map(levels.cut_off, seen, columns)))
    assert len(alike) > 30
    assert max(alike) < levels.CUT - 0.03
    assert np.mean(np.array(cut) > levels.CUT) > 0.9


@pytest.mark.parametrize("count", [5, 8, 20])
def test_levels_of_another_patient_are_seen_whatever_their_numbers(count):
    smooth = gaussian_filter(np.random.default_rng(5).standard_normal(SIZE), 12)
    values = np.random.default_rng(6).permutation(count)[posterised(smooth, count)]
    with pytest.raises(Refused) as error:
        likeness.check_map(values)
    assert "radiograph" in error.value.detail


def test_masks_that_show_the_image_together_are_seen():
    smooth = gaussian_filter(np.random.default_rng(8).standard_normal(SIZE), 7)
    planes = [posterised(smooth, 8) >> bit & 1 for bit in range(3)]
    for plane in planes[1:]:
        likeness.check_map(plane)
    with pytest.raises(Refused, match="labels"):
        likeness.check_unlike(smooth, planes, [], [])


@pytest.mark.parametrize(("angle", "mirrored"), [(33, False), (180, False), (0, True), (271, True)])
@pytest.mark.parametrize("count", [2, 4])
def test_an_image_is_seen_however_it_is_turned(angle, mirrored, count):
    seen = rotate(SMOOTH[:, ::-1] if mirrored else SMOOTH, angle, reshape=False, mode="nearest")
    mask = posterised(seen, count).astype(np.uint8)
    with pytest.raises(Refused, match="labels"):
        likeness.check_unlike(FINE, [mask], [], [])
    likeness.check_unlike(IMAGE, [mask], [], [])


@pytest.mark.parametrize("text", ["keep", "remove"])
def test_text_is_looked_for_on_masks_where_it_is_on_pictures(text, monkeypatch):
    looked = []
    monkeypatch.setattr(policy, "look_again", lambda radiograph, _: looked.append(radiograph))
    job = Job((MaskFile(1, "a.png", "", png(ORGANS, 8, 0)),), {})
    image = Radiograph("PNG", "gray", 8, np.round(IMAGE * 255).astype(np.uint8)[..., None])
    carry(job, None, image, TextOptions(text))
    assert len(looked) == (text == "remove")
    assert not looked or looked[0].pixels.max() > 200


@pytest.mark.parametrize(
    ("values", "fits"), [([0, 65535], True), ([0, 999], True), ([0, 1000], False), ([0, 514], True)]
)
def test_values_of_masks_are_small_or_those_of_eight_bits(values, fits):
    data = png(np.array(values)[LINE].astype(np.uint16), 16, 0)
    if fits:
        assert set(np.unique(masks.decode("a.png", data).values)) == set(values)
        return
    with pytest.raises(Refused, match="labels"):
        masks.decode("a.png", data)


AFFINES = {
    "spacing": (np.diag([-0.2, -0.2, 1, 1]), np.diag([-0.2, -0.2, 1, 1])),
    "digits": (np.diag([0.14347110, 0.1437, 3, 1]), np.diag([0.143, 0.144, 1, 1])),
    "origin": (
        np.array([[0.2, 0, 0, 77.5], [0, 0.3, 0, -9], [0, 0, 1, 4], [0, 0, 0, 1.0]]),
        np.diag([0.2, 0.3, 1, 1]),
    ),
    "exchanged": (
        np.array([[0, -0.2, 0, 0], [0.3, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]]),
        np.array([[0, -0.2, 0, 0], [0.3, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]]),
    ),
    "implausible": (np.diag([4711, 1e-9, 1, 1]), np.eye(4)),
    "nothing": (None, np.eye(4)),
    "zero": (np.zeros((4, 4)), np.eye(4)),
    "infinite": (np.full((4, 4), np.inf), np.eye(4)),
}


@pytest.mark.parametrize("name", AFFINES)
def test_an_affine_is_spacings_along_axes(name):
    given, expected = AFFINES[name]
    np.testing.assert_allclose(masks.rebuilt(given), expected)


@pytest.mark.parametrize(
    "name",
    ["lung", "No Finding", "Pleural_Thickening", "Effusion|Mass", "1", "-1.0", "COVID-19", "",
     "0.5", "Aortic enlargement", "lung (left)", "Nodule/Mass", "Lungenödem", "肺", "T12", "_bg_"],
)  # fmt: skip
def test_names_of_classes_are_kept(name):
    assert class_name(name, "here") == name
