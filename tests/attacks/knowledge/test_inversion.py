"""What a white-box adversary gets back, and that nothing gets worse by trying."""

import pytest
import torch
import torch.nn.functional as F

import anonymize
from anonymize import flow
from anonymize.anonymizer import Anonymizer
from anonymize.data.batches import HeldImages
from anonymize.tone import toned
from attacks.check.maps import AffineMap
from attacks.knowledge.inversion import each, mean_release, undone

CPU = torch.device("cpu")


def pictures(count=4, side=48, seed=0):
    coarse = torch.rand(count, 1, 9, 9, generator=torch.Generator().manual_seed(seed))
    return F.interpolate(coarse, (side, side), mode="bicubic").clamp(0, 1)


class Follows(Anonymizer):
    """A warp that the image itself decides, as a trained generator's."""

    name = "follows"
    options = {}  # noqa: RUF012

    def displacement(self, images):
        smooth = flow.smooth(images - images.mean(), kernel=15, sigma=4)
        return 0.3 * torch.cat((smooth, -smooth), dim=1)

    def anonymize(self, images):
        return flow.warp(images, self.displacement(images))


class Shades(Follows):
    """The same, and brighter or darker as the image itself decides."""

    def tone(self, images):
        return 0.2 * flow.smooth(images, kernel=25, sigma=8).sub(0.5).mul(4).clamp(-1, 1)

    def anonymize(self, images):
        return toned(super().anonymize(images), self.tone(images))


def error(a, b):
    return float((a - b)[..., 6:-6, 6:-6].abs().mean())


@pytest.mark.parametrize(
    ("method", "left"),
    [
        (Follows(), 0.25),
        (Shades(), 0.3),
        (AffineMap(degrees=4, shift=(0.02, -0.03)), 0.15),
        (anonymize.load("gaussian-blur:sigma=0.02"), 0.6),
    ],
)
def test_a_deterministic_release_is_undone(method, left):
    images = pictures()
    released = method(images)
    assert error(undone(method, released), images) < left * error(released, images)


@pytest.mark.parametrize("spec", ["identity", "down-sampling:factor=8"])
def test_the_estimates_own_release_is_never_further_away(spec):
    method, images = anonymize.load(spec), pictures()
    released = method(images)
    before = (method(released) - released).square().mean(dim=(1, 2, 3))
    after = (method(undone(method, released)) - released).square().mean(dim=(1, 2, 3))
    assert (after <= before + 1e-12).all()


def test_images_are_undone_one_by_one():
    method, images = Follows(), pictures(70)
    released = HeldImages((method(images) * 255).round().to(torch.uint8))
    found = each(released, lambda images: undone(method, images), CPU).pixels
    assert found.dtype == torch.float32
    alone = undone(method, released.batch(torch.tensor([3]).numpy()))
    # The method of this test takes the mean of its batch; images are nearly as bright.
    assert error(found[3:4], alone) < 0.02


def test_randomness_is_averaged_out():
    images = HeldImages((pictures(6) * 255).round().to(torch.uint8))
    method = anonymize.load("dp-pix:b=8,epsilon=1,seed=5")
    quiet = anonymize.load("dp-pix:b=8,epsilon=100000,seed=5")(images.batch([0, 1, 2, 3, 4, 5]))
    one, many = (mean_release(method, images, device=CPU, seed=1, draws=n).pixels for n in (1, 32))
    assert error(many, quiet) < 0.5 * error(one, quiet)
    again = mean_release(method, images, device=CPU, seed=1, draws=1).pixels
    assert torch.equal(one, again)
    assert not torch.equal(one, method(images.batch([0, 1, 2, 3, 4, 5])))


def test_methods_say_whether_they_are_random():
    assert anonymize.load("dp-pix:b=8,epsilon=1,seed=5").is_random
    assert not anonymize.load("gaussian-blur:sigma=0.02").is_random
    plain = anonymize.load("identity")
    assert plain.redrawn(3) is plain


def test_bright_images_stay_in_range():
    images = (pictures(8) * 3).clamp(0, 1)  # large white areas, whose interpolation rounds up
    method = Follows()
    found = undone(method, method(images))
    assert found.min() >= 0
    assert found.max() <= 1
