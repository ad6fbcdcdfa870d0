"""DP-Pix (Fan 2018): pixelization with Laplace noise."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from anonymize.errors import counted
from baselines.noise import Noisy
from baselines.options import DPPixOptions

CELLS = 32  # across an image as published: b = 8 of 256 px
FITTING = 1.5  # times as many still pass


class DPPix(Noisy):
    """Mean of each b×b cell plus Laplace noise of scale 255·m/(b²·ε) gray levels of 255, clipped.

    **What is private.** One plane of one image, ε-differentially (Fan, DBSec 2018, Theorem 1):
    for any two images of one size that differ in at most m pixels, by however much, no output is
    more than e^ε times likelier from one than from the other. Their cells' means differ by m/b² of
    the range in sum, which the noise hides. Two images of one patient differ in far more pixels:
    for these ε grows with their number, and nothing is promised about who is shown.

    - Clipping, enlarging and rounding to the depth of a file follow the noise and use nothing else
      of the image, so they cost no privacy. They do bias the means.
    - A cell at the right or lower edge that holds n < b² pixels gets noise of scale m/(n·ε) of the
      range: the same ε.
    - An image released k times with new noise is kε-private, and averaging uncovers it. So is one
      in k planes: a file in colour has three.
    - Under one secret the same image gives the same output, however often, which costs nothing
      more. But equal outputs then tell that images are equal, so ε holds for each image, not for
      a set in which one occurs twice; it holds against who has neither the secret nor the means to
      break SHAKE-256. Who has it can also confirm a guess of the image.
    - Only the pixels are private: not an image's size, its file name, or whether and where text
      was removed from it before. A release's public manifest therefore leaves out SSIM and the
      number of texts.
    - The theorem is about real numbers. The last bits of Laplace noise in floating point can tell
      values apart that should not be (Mironov 2012); drawn with 53 bits and rounded to 8 or 16 as
      here, less so, but ε is then no longer proven.

    Cells are averaged and noise is drawn on the CPU in double precision: the same on every device.
    """

    name = "dp-pix"
    is_concurrent = True
    Options = DPPixOptions
    is_differentially_private = True

    @property
    def evidence(self) -> str:
        o = self.settings
        return (
            f"epsilon {o.epsilon:g} holds for {counted(o.m, 'pixel')} of one plane; nothing is "
            f"promised about who is shown; {super().evidence}"
        )

    def unfit(self, height: int, width: int) -> str:
        side, o = min(height, width), self.settings
        noise = 255 * o.m / (o.b**2 * o.epsilon)
        if noise < 1:
            return (
                f"epsilon {o.epsilon:g} with cells of {o.b} px is noise of {noise:.1g} gray levels "
                f"of 255, which hides nothing; use epsilon={o.m * 25 / o.b**2:.2g} or less"
            )
        if side <= FITTING * CELLS * self.settings.b:
            return ""
        return (
            f"cells of {self.settings.b} px leave {side // self.settings.b} across images of "
            f"{side} px, a clear picture (published: {CELLS}); use b={-(-side // CELLS)}"
        )

    def anonymize(self, images: Tensor) -> Tensor:
        (h, w), (high, wide) = images.shape[-2:], self._cell(images)
        cells = self.noisy_cells(images).clamp(0, 1).to(images)
        return cells.repeat_interleave(high, -2)[..., :h, :].repeat_interleave(wide, -1)[..., :w]

    def noisy_cells(self, images: Tensor) -> Tensor:
        """Means with noise before clipping, float64 (B, 1, ⌈H/b⌉, ⌈W/b⌉), in units of the range."""
        cell, exact = self._cell(images), images.detach().cpu().double()
        rows, columns = (
            torch.tensor([min(s, n - at) for at in range(0, n, s)], dtype=exact.dtype)
            for n, s in zip(images.shape[-2:], cell, strict=True)
        )
        pixels = rows[:, None] * columns
        cells = F.avg_pool2d(exact, cell, ceil_mode=True, divisor_override=1) / pixels
        scale = self.settings.m / (pixels * self.settings.epsilon)
        for image, plane in zip(images, cells, strict=True):
            plane[0] += scale * self.noise.laplace(image[0], tuple(scale.shape))
        return cells

    def _cell(self, images: Tensor) -> tuple[int, int]:
        """Height and width of a cell: b, or the image's own where that is less."""
        h, w = images.shape[-2:]
        return min(self.settings.b, h), min(self.settings.b, w)
