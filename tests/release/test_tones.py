"""Releases of a method that also changes gray levels: files, checks, and what is refused."""

import numpy as np
import pytest
import torch
from dicom_specimens import cr, file, picture, with_pixels
from release_specimens import Wave, gray_rgb, pillow, pixels, png, scene, tiff

from anonymize import flow
from anonymize.tone import toned


class Shaded(Wave):
    """The wave, brighter on the left and darker on the right."""

    strength = 0.2

    def tone(self, images):
        x = flow.identity_grid(images.float())[:, :1]
        return (-self.strength * x).expand(len(images), -1, -1, -1).contiguous()

    def anonymize(self, images):
        return toned(super().anonymize(images), self.tone(images))


FILES = {
    "a.png": png(scene(), 8, 0),
    "b.png": png(scene(65535, dtype=np.uint16), 16, 0),
    "c.png": png(gray_rgb(), 8, 2),
    "d.jpg": pillow(scene(), "JPEG", quality=90),
}


def test_files_hold_what_the_method_makes_of_the_image(release):
    done = release(FILES, Shaded())
    assert done.quarantine == {}
    for name, content in FILES.items():
        before, after = (pixels(d).astype(np.float64) for d in (content, done.files[name]))
        top = 65535 if name == "b.png" else 255
        gray = torch.from_numpy(before[..., 0] if before.ndim == 3 else before) / top
        expected, moved = (m(gray[None, None])[0, 0].numpy() * top for m in (Shaded(), Wave()))
        found = after[..., 0] if after.ndim == 3 else after
        # 16 bits: single against double precision. JPEG: compression.
        allowed = {"b.png": 3, "d.jpg": 12}.get(name, 0.51)
        assert np.abs(found - expected).max() <= allowed
        assert np.abs(found - moved).max() > 0.1 * top


def test_values_behind_a_window_and_inks_are_refused(release):
    inks = tiff(scene(channels=4), photometric="separated")
    done = release(
        {"a.dcm": file(with_pixels(cr(), picture())), "b.tif": inks, "c.png": FILES["a.png"]},
        Shaded(),
    )
    assert done.quarantine == {"a.dcm": "tone", "b.tif": "tone"}
    assert release.private.is_dir()
    assert set(done.files) == {"c.png", "manifest.csv"}


@pytest.mark.parametrize("value", [0.3, float("nan")])
def test_a_tone_beyond_its_bound_is_refused(release, value):
    class Wild(Shaded):
        strength = value

    assert release({"a.png": FILES["a.png"]}, Wild()).quarantine == {"a.png": "invalid-result"}


def test_what_was_shaded_and_not_moved_is_found(release, monkeypatch):
    from anonymize.release import transform

    real = transform._warped

    def unmoved(plane, displacement, padding):
        return real(plane, torch.zeros_like(displacement), padding)

    monkeypatch.setattr(transform, "_warped", unmoved)
    assert release({"a.png": FILES["a.png"]}, Shaded()).quarantine == {"a.png": "unchanged"}
