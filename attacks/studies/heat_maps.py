"""What a siamese verifier looks at: Grad-CAM (Selvaraju et al. 2017) of the score of a pair.

The library ``grad-cam`` weights the maps of a layer with the mean gradient of the score, adds them
and keeps what is positive: where an image speaks for "the same patient". Each map is stretched to
[0, 1], so that maps tell places, not strengths. The score depends on |z1 − z2|, whose gradients in
the two images have opposite signs: where features of one image should grow, the other's should
fall, so the two maps of a pair often complement each other and have to be read together.
"""

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from anonymize.errors import UsageError
from anonymize.networks.backbones import torchvision_models
from anonymize.networks.siamese import Siamese

BATCH = 32
PLACES = ("first", "middle", "last")


class PairScore(nn.Module):
    """The network's score of pairs as a function of one batch (2N, 1, H, W): their N first images,
    then their N second ones. Gives (N,)."""

    def __init__(self, network: Siamese) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        return self.network.compare(*self.network.embed(images).chunk(2))


class HeatMaps:
    """Heat maps of one verifier.

    Args:
        size: of the images in pixels.

    Raises:
        UsageError: the extra ``explain`` is not installed.
    """

    def __init__(self, network: Siamese, *, size: int, device: torch.device | str = "cpu") -> None:
        self._grad_cam = library()
        self.device = torch.device(device)
        self._score = PairScore(copy.deepcopy(network)).to(self.device).eval()
        self._score.requires_grad_(True)
        for module in self._score.modules():
            if hasattr(module, "inplace"):
                # A layer's maps must survive the next layer; torch annotates no plain attribute.
                module.inplace = False  # type: ignore[assignment]
        self.shapes = self._shapes(size)
        self._layers = dict(self._score.network.model.named_modules())

    def _shapes(self, size: int) -> dict[str, tuple[int, int]]:
        """Height and width of the maps of every layer of the backbone that has some, in the order
        in which they are ready; layers that are used several times have no maps of their own."""
        calls: dict[str, list[Any]] = {}

        def note(name: str, module: nn.Module, inputs: Any, output: Any) -> None:
            calls.setdefault(name, []).append(output)

        modules = self._score.network.model.named_modules()
        hooks = [m.register_forward_hook(partial(note, name)) for name, m in modules if name]
        with torch.no_grad():
            self._score(torch.zeros(2, 1, size, size, device=self.device))
        for hook in hooks:
            hook.remove()
        return {
            name: tuple(outputs[0].shape[2:])
            for name, outputs in calls.items()
            if len(outputs) == 1 and outputs[0].ndim == 4 and min(outputs[0].shape[2:]) > 1
        }

    def layer(self, name: str) -> str:
        """The layer that is meant: its own name, or "first", "middle" or "last".

        These are the last layers at the largest, the middle and the smallest size of maps.

        Raises UsageError: no such layer; the message lists some."""
        ends = list({shape: layer for layer, shape in self.shapes.items()}.values())
        if name in PLACES and ends:
            return ends[(len(ends) - 1) * PLACES.index(name) // 2]
        if name not in self.shapes:
            raise UsageError(
                f"--layers must be among {', '.join(PLACES)} or layers of the network, for "
                f"instance {', '.join(ends)}; got {name or 'none'}"
            )
        return name

    def of(self, first: Tensor, second: Tensor, layer: str) -> np.ndarray:
        """Maps float32 (2, N, H, W) in [0, 1] of both images of N pairs, at the images' size.

        Args:
            first, second: (N, 1, H, W) in [0, 1].
            layer: as :meth:`layer` takes it.
        """
        parts = [
            self._some(first[i : i + BATCH], second[i : i + BATCH], self.layer(layer))
            for i in range(0, len(first), BATCH)
        ]
        return np.concatenate(parts, axis=1)

    def _some(self, first: Tensor, second: Tensor, layer: str) -> np.ndarray:
        # Its context manager is not used: that swallows an IndexError.
        grad_cam = self._grad_cam(self._score, [self._layers[layer]])
        maps = grad_cam(torch.cat((first, second)), targets=[lambda score: score] * len(first))
        grad_cam.activations_and_grads.release()
        return np.stack(np.split(maps.astype(np.float32), 2))


def mean_map(maps: np.ndarray, cells: int) -> np.ndarray:
    """Share of the attention in each of ``cells`` × ``cells`` cells, float64, sum 1; NaN where no
    map has any. Every map counts alike. ``maps``: (N, H, W), H and W multiples of ``cells``."""
    n, height, width = maps.shape
    sums = maps.reshape(n, cells, height // cells, cells, width // cells).sum((2, 4), dtype=float)
    totals = sums.sum((1, 2))
    shares = sums[totals > 0] / totals[totals > 0, None, None]
    return shares.mean(0) if len(shares) else np.full((cells, cells), np.nan)


def choose_layers(maps: HeatMaps, names: Sequence[str]) -> dict[str, str]:
    """By title ("first: stem.2") the layers of the names, each once."""
    chosen: dict[str, str] = {}
    for name in names:
        layer = maps.layer(name)
        if layer not in chosen.values():
            chosen[f"{name}: {layer}" if name in PLACES else layer] = layer
    return chosen


def library():
    """Grad-CAM. Raises UsageError: it is not installed."""
    torchvision_models()  # makes torchvision importable, which the library imports
    try:
        from pytorch_grad_cam import GradCAM
    except ModuleNotFoundError:
        raise UsageError(
            "heat maps need the library grad-cam; pip install 'anonymize-cxr[explain]'"
        ) from None
    return GradCAM
