"""What was moved is measured on the written file; padding is believed where it hides nothing."""

import numpy as np
import pytest
from dicom_specimens import cr, file, opened, padding, picture, with_pixels
from PIL import Image
from release_specimens import Constant, Wave, pillow, png, refused, saved, scene

from anonymize import flow
from anonymize.anonymizer import Anonymizer
from anonymize.release import decode, movement, transform
from anonymize.release.radiograph import Radiograph
from anonymize.release.reasons import Reason, Refused

SIZE = (96, 112)


def padded(values, value, limit=None, bits=12):
    return with_pixels(cr(), values, bits=bits, **padding(value, limit))


def collimated(noise=0):
    values = picture(12, size=SIZE) // 2 + 1000
    rng = np.random.default_rng(1)
    edge = rng.integers(0, noise + 1, SIZE).astype(np.uint16)
    values[:20], values[:, -25:] = edge[:20], edge[:, -25:]
    return values


def seen(made):
    return decode.picture("a", file(made))


def test_the_padding_of_a_collimator_is_believed():
    background = seen(padded(collimated(), 0)).background
    assert (background == (collimated() == 0)).all()
    assert (seen(padded(collimated(), 0, 40)).background == background).all()


@pytest.mark.parametrize(
    ("values", "value", "limit"),
    [
        (picture(12, size=SIZE), 4095, 0),
        (picture(12, size=SIZE) % 2 * 4000, 0, None),
        (picture(12, size=SIZE), 5000, 6000),
        (np.random.default_rng(2).integers(0, 50, SIZE).astype(np.uint16), 0, 20),
    ],
)
def test_padding_that_is_a_picture_is_none(values, value, limit):
    radiograph = seen(padded(values, value, limit, bits=16))
    assert radiograph.background is None or radiograph.background.mean() < 0.02
    assert radiograph.gray().std() > 0.05


@pytest.mark.parametrize("noise", [0, 12])
@pytest.mark.parametrize("mu", [0.002, 0.01, 0.1])
def test_a_collimated_radiograph_is_released(release, noise, mu):
    done = release({"a.dcm": file(padded(collimated(noise), 0, noise or None))}, Wave(mu))
    assert done.quarantine == {}
    inside = np.s_[25:, :80]
    moved = opened(done.files["a.dcm"]).pixel_array[inside] != collimated(noise)[inside]
    assert moved.mean() > 0.8


HONEST = {
    "a.png": png(scene(size=SIZE), 8, 0),
    "b.png": png(scene(65535, size=SIZE, dtype=np.uint16), 16, 0),
    "c.jpg": pillow(scene(size=SIZE), "JPEG", quality=75),
    "d.png": png(np.pad(scene(size=SIZE), 60), 8, 0),  # flat but for the middle
}


@pytest.mark.parametrize("model", [Wave(0.01), Wave(0.1), Constant(2, 1), Constant(0, -3)])
def test_honest_methods_pass_on_every_kind(release, model):
    assert release(HONEST, model).quarantine == {}


class Speck(Anonymizer):
    """Leaves a picture as it is but for one corner."""

    name = "speck"

    def anonymize(self, images):
        made = images.clone()
        made[..., :2, :2] = 1
        return made


def test_what_a_kind_of_file_loses_is_no_work_of_the_method(release):
    picture = scene(size=SIZE)
    steps = [[(7 * place) % 23 + 3 for place in range(64)]]  # of no quality of libjpeg's
    files = {
        "a.jpg": pillow(picture, "JPEG", qtables=steps),
        "b.png": saved(Image.fromarray(picture).quantize(16), "PNG", bits=4),
        "c.png": png(picture, 8, 0),
    }
    assert release(files, Speck()).quarantine == dict.fromkeys(files, "unchanged")


def measured(pixels, released, field):
    radiograph = Radiograph("PNG", "gray", 8, pixels[..., None])
    probe = movement.probe(released[..., None], flow.pixels(field)[0].numpy())
    movement.check(radiograph, released[..., None], probe)


def radiograph_and_field():
    radiograph = Radiograph("PNG", "gray", 8, scene(size=SIZE)[..., None])
    return radiograph, Wave(0.02).displacement(transform.view(radiograph))


def test_the_measure_is_of_the_output_and_not_of_the_field():
    radiograph, field = radiograph_and_field()
    made, _ = transform.anonymize(radiograph, field, Wave())
    before, after = radiograph.pixels[..., 0], made.pixels[..., 0].copy()
    measured(before, after, field)
    after[:60] = before[:60]
    with refused(Reason.UNCHANGED):
        measured(before, after, field)
    with pytest.raises(Refused):
        measured(before, before[::-1].copy(), field)  # another picture, and not by this field


def test_places_lie_in_their_tiles_and_follow_the_output():
    radiograph, field = radiograph_and_field()
    probe = movement.probe(radiograph.pixels, flow.pixels(field)[0].numpy())
    assert probe.rows.shape == (12 * 14, movement.PLACES)
    assert probe.rows.max() < SIZE[0]
    assert probe.columns.max() < SIZE[1]
    assert (np.ptp(probe.rows, axis=1) <= 8).all()
    x, y = flow.pixels(field)[0].numpy()
    assert (probe.right == x[probe.rows, probe.columns]).all()
    assert (probe.down == y[probe.rows, probe.columns]).all()
    other = movement.probe(255 - radiograph.pixels, flow.pixels(field)[0].numpy())
    assert (other.rows != probe.rows).any()


def test_what_rounding_takes_from_flat_parts_is_not_missed():
    ramp = np.repeat(np.arange(SIZE[1], dtype=np.uint8)[None] // 8, SIZE[0], 0)
    ramp[::3] += 60
    radiograph = Radiograph("PNG", "gray", 8, ramp[..., None])
    field = Wave(0.01).displacement(transform.view(radiograph))
    made, _ = transform.anonymize(radiograph, field, Wave())
    measured(ramp, made.pixels[..., 0], field)


@pytest.mark.parametrize("centre", [60000, -60000])
def test_a_window_that_hides_the_picture_is_not_believed(centre):
    made = with_pixels(cr(), picture(12, size=SIZE), bits=12)
    plain = seen(made).gray()
    made.WindowCenter, made.WindowWidth = centre, 100
    assert (seen(made).gray() == plain).all()
    made.WindowCenter, made.WindowWidth = 2048, 1000
    assert (seen(made).gray() != plain).any()
