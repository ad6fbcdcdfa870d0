"""Heat maps of a verifier: they lie where the score comes from, and are Grad-CAM's."""

from importlib.util import find_spec

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from anonymize.errors import UsageError
from anonymize.networks.build import build_verifier
from anonymize.networks.siamese import Siamese
from anonymize.options import VerifierOptions
from attacks.studies.heat_maps import HeatMaps, choose_layers, mean_map

pytestmark = pytest.mark.skipif(
    find_spec("pytorch_grad_cam") is None, reason="needs the extra explain"
)
SIZE = 32


class Quadrant(nn.Module):
    """Lets one quadrant of an image through; the rest becomes 0."""

    def __init__(self, rows, columns):
        super().__init__()
        self.rows, self.columns = rows, columns

    def forward(self, images):
        seen = torch.zeros_like(images)
        seen[..., self.rows, self.columns] = images[..., self.rows, self.columns]
        return seen


def looking_at(rows, columns):
    """A verifier whose score depends on one quadrant alone; its filters have no bias."""
    torch.manual_seed(0)
    backbone = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, bias=False),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 6),
    )
    nn.init.uniform_(backbone[0].weight, 0.1, 1)
    return Siamese(Quadrant(rows, columns), backbone, features=6)


@pytest.mark.parametrize("rows", [slice(0, 16), slice(16, 32)])
@pytest.mark.parametrize("columns", [slice(0, 16), slice(16, 32)])
def test_a_score_of_one_quadrant_has_its_map_there(rows, columns):
    maps = HeatMaps(looking_at(rows, columns), size=SIZE)
    images = torch.rand(2, 3, 1, SIZE, SIZE) + 0.1
    found = maps.of(images[0], images[1], "first")
    assert found.shape == (2, 3, SIZE, SIZE)
    np.testing.assert_allclose(found.max((0, 2, 3)), 1, atol=1e-3)
    inside = np.zeros((SIZE, SIZE), bool)
    inside[rows, columns] = True
    near = F.max_pool2d(torch.from_numpy(inside)[None].float(), 3, 1, 1)[0].bool().numpy()
    assert found[..., inside].sum() > 0.9 * found.sum()
    assert (found[..., ~near] == 0).all()  # a pixel outside is all that a 3 × 3 filter reaches


def test_the_first_map_is_of_the_first_image():
    """Spots at two places: each image's map lies on its own spot."""
    network = looking_at(slice(0, 32), slice(0, 32))
    images = torch.zeros(2, 1, 1, SIZE, SIZE)
    images[0, ..., 5:9, 5:9], images[1, ..., 20:26, 22:28] = 0.5, 1.0
    # One of the two images speaks for the same patient: whichever, its map lies on its spot.
    with torch.no_grad():
        network.fc_end.weight.fill_(1)
        network.model[4].weight.fill_(1)
    maps = HeatMaps(network, size=SIZE).of(images[0], images[1], "first")[:, 0]
    assert maps[0].max() == maps[0][5:9, 5:9].max() or not maps[0].any()
    assert maps[1].max() == pytest.approx(1)
    assert maps[1][19:27, 21:29].sum() == maps[1].sum()


def small_verifier():
    torch.manual_seed(3)
    options = VerifierOptions(architecture="compact", width=4, features=8)
    network = build_verifier(options).eval()
    for module in network.modules():  # statistics that differ from channel to channel
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.bias, -0.2, 0.4)
    return network


@pytest.mark.parametrize("layer", ["stem", "blocks.1", "blocks.2.norm2"])
def test_maps_are_what_the_formula_gives(layer):
    """Selvaraju et al. 2017, Eq. 1 and 2, with autograd alone."""
    network, images = small_verifier(), torch.rand(2, 2, 1, SIZE, SIZE)
    found = HeatMaps(network, size=SIZE).of(images[0], images[1], layer)
    for pair in range(2):
        kept = []
        hook = network.model.get_submodule(layer).register_forward_hook(
            lambda module, inputs, output, kept=kept: kept.append(output)
        )
        score = network(images[0, pair : pair + 1], images[1, pair : pair + 1])
        hook.remove()
        (gradient,) = torch.autograd.grad(score.sum(), kept)
        maps = (gradient.mean((2, 3), keepdim=True) * kept[0]).sum(1).clamp(min=0).detach()
        for side in range(2):
            low = maps[side] - maps[side].min()
            expected = F.interpolate(
                (low / (low.max() + 1e-7))[None, None], (SIZE, SIZE), mode="bilinear"
            )
            # Its last scaling stretches once more.
            expected = (expected - expected.min()) / (expected.max() - expected.min() + 1e-7)
            np.testing.assert_allclose(found[side, pair], expected[0, 0].numpy(), atol=2e-3)


def test_a_pair_has_the_same_map_whatever_stands_beside_it():
    network, images = small_verifier(), torch.rand(2, 40, 1, SIZE, SIZE)
    maps = HeatMaps(network, size=SIZE)
    together = maps.of(images[0], images[1], "middle")
    alone = maps.of(images[0, 35:36], images[1, 35:36], "middle")
    np.testing.assert_allclose(together[:, 35], alone[:, 0], atol=1e-4)


def test_the_network_stays_as_it_was():
    network = small_verifier().requires_grad_(False)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    HeatMaps(network, size=SIZE).of(*torch.rand(2, 1, 1, SIZE, SIZE), "last")
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())
    assert all(p.grad is None and not p.requires_grad for p in network.parameters())


def test_layers_by_place():
    maps = HeatMaps(small_verifier(), size=64)
    assert [maps.shapes[maps.layer(n)] for n in ("first", "middle", "last")] == [
        *((32, 32), (16, 16), (4, 4))
    ]
    titles = choose_layers(maps, ["first", "last", maps.layer("last"), "stem.0"])
    assert list(titles)[2] == "stem.0"
    assert len(titles) == 3


def test_torchvision_networks_have_layers_too():
    options = VerifierOptions(architecture="resnet18", features=8)
    maps = HeatMaps(build_verifier(options), size=64)
    assert [maps.layer(n) for n in ("first", "middle", "last")] == ["relu", "layer2", "layer4"]
    found = maps.of(*torch.rand(2, 2, 1, 64, 64), "layer2")
    assert found.shape == (2, 2, 64, 64)
    assert found.any()


def test_an_unknown_layer_is_refused():
    with pytest.raises(UsageError, match=r"among first, middle, last or layers .* got nonsense"):
        HeatMaps(small_verifier(), size=SIZE).layer("nonsense")


def test_mean_maps_count_every_image_alike():
    maps = np.zeros((3, 8, 8), np.float32)
    maps[0, 0, 0], maps[1, 4:, 4:] = 1, 0.5  # the third one is empty
    found = mean_map(maps, 2)
    np.testing.assert_allclose(found, [[0.5, 0], [0, 0.5]])
    assert np.isnan(mean_map(maps[2:], 2)).all()
