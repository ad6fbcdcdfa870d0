"""DP-Pix (Fan 2018): pixelization with Laplace noise."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from anonymize.anonymizer import Anonymizer, number, parse_options
from anonymize.errors import UsageError


class DPPix(Anonymizer):
    """Mean of each b×b cell plus Laplace noise of scale 255·m/(b²·ε) gray levels of 255, clipped.

    ε-differentially private for two images that differ in at most m pixels (Fan 2018, Theorem 1);
    it says nothing about two images of one patient that differ in more. Cells at the right and
    lower edge may be smaller than b×b; their noise scales with their own number of pixels.

    Args:
        b: cell width in pixels of the image that is given, a whole number.
        epsilon: privacy budget, > 0.
        m: number of pixels in which neighbouring images may differ, a whole number.
        seed: makes the noise repeatable. None: the operating system's entropy, different each
            time; the only safe choice for a release, since who knows the noise subtracts it.
    """

    name = "dp-pix"

    def __init__(
        self, *, b: int = 8, epsilon: float = 0.1, m: int = 1, seed: int | None = None
    ) -> None:
        for key, value, rule in (
            ("b", b, b == int(b) and b >= 1),
            ("m", m, m == int(m) and m >= 1),
            ("epsilon", epsilon, epsilon > 0),
        ):
            if not rule:
                kind = "positive" if key == "epsilon" else "a whole number of at least 1"
                raise UsageError(f"option {key} must be {kind}, got {value}")
        self.b, self.epsilon, self.m = int(b), float(epsilon), int(m)
        self.options = {"b": self.b, "epsilon": self.epsilon, "m": self.m}
        if seed is not None:
            self.options["seed"] = seed
        self._generator = torch.Generator()
        if seed is None:
            self._generator.seed()
        else:
            self._generator.manual_seed(seed)

    @classmethod
    def from_spec(cls, text: str) -> DPPix:
        """Made from the text behind ``dp-pix:``, for instance ``b=8,epsilon=0.1,m=1``."""
        options = parse_options(text)
        made = cls(
            b=number(options, "b", 8, low=1),
            epsilon=number(options, "epsilon", 0.1, low=1e-12),
            m=number(options, "m", 1, low=1),
            seed=int(number(options, "seed", -1, low=0)) if "seed" in options else None,
        )
        if options:
            raise UsageError(f"dp-pix knows b, epsilon, m and seed; got {', '.join(options)}")
        return made

    @property
    def noise_is_known(self) -> bool:
        return "seed" in self.options

    def anonymize(self, images: Tensor) -> Tensor:
        b, (h, w) = self.b, images.shape[-2:]
        padding = (0, -w % b, 0, -h % b)
        inside = F.pad(torch.ones_like(images), padding)
        count = F.avg_pool2d(inside, b) * b * b
        cells = F.avg_pool2d(F.pad(images, padding), b) * b * b / count
        uniform = torch.rand(cells.shape, generator=self._generator, dtype=torch.float64) - 0.5
        laplace = -uniform.sign() * torch.log1p(-2 * uniform.abs())
        scale = self.m / (count * self.epsilon)
        noisy = cells + (laplace.to(images) * scale)
        out = noisy.repeat_interleave(b, -2).repeat_interleave(b, -1)
        return out[..., :h, :w].clamp(0, 1)
