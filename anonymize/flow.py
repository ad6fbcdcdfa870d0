"""Displacement algebra, pure.

Images are float (B, C, H, W). A displacement is float (B, 2, H, W): channel 0 = x to the right,
channel 1 = y downwards, in the coordinates of ``grid_sample(align_corners=True)``, where [−1, 1]
spans the centres of the first and the last pixel. The output at p is the input at
p + displacement(p). One unit is (W − 1)/2 pixels in x, (H − 1)/2 in y.
"""

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

BORDERS = ("replicate", "reference")
ALL = slice(None)


def identity_grid(like: Tensor) -> Tensor:
    """Absolute coordinates (1, 2, H, W) of every pixel of ``like`` (…, H, W)."""
    x, y = _axes(like, ALL, like.shape[-2])
    return torch.stack((x.expand(len(y), -1), y.expand(-1, x.shape[1]))).unsqueeze(0)


def _axes(like: Tensor, rows: slice, height: int) -> tuple[Tensor, Tensor]:
    """Coordinates x (1, W) of the columns, and y (h, 1) of the ``rows``."""
    y = torch.linspace(-1, 1, height, device=like.device, dtype=like.dtype)[rows]
    x = torch.linspace(-1, 1, like.shape[-1], device=like.device, dtype=like.dtype)
    return x[None], y[:, None]


def smooth(displacement: Tensor, *, kernel: int = 9, sigma: float = 2.0, border: str = "replicate"):
    """Gaussian filter of a displacement (protocol: kernel 9, σ 2 pixels).

    ``border="replicate"`` continues the displacement beyond the edge. ``"reference"`` reproduces
    the published program, which filters the absolute grid over zeros: a frame of ``kernel // 2``
    pixels folds inwards at every strength, even 0. It exists for comparison only.

    Raises:
        ValueError: even or non-positive kernel, non-positive sigma, unknown border.
    """
    if kernel < 1 or kernel % 2 == 0:
        raise ValueError(f"kernel must be an odd number of pixels, got {kernel}")
    if not sigma > 0:
        raise ValueError(f"sigma must be positive, got {sigma}")
    if border not in BORDERS:
        raise ValueError(f"border must be one of {BORDERS}, got {border!r}")
    displacement = _exact(displacement)
    if border == "replicate":
        return _blurred(displacement, kernel, sigma, border)
    grid = identity_grid(displacement)
    return _blurred(grid + displacement, kernel, sigma, "constant") - grid


def _exact(field: Tensor) -> Tensor:
    """In float32 at least: 8 bits are too few for where a pixel comes from."""
    return field.float() if field.dtype in (torch.float16, torch.bfloat16) else field


def _blurred(field: Tensor, kernel: int, sigma: float, border: str) -> Tensor:
    from kornia.filters import filter2d_separable  # here: releases without warps need none

    weights = _gaussian(kernel, sigma, field.device, field.dtype)
    with torch.autocast(field.device.type, enabled=False):
        return filter2d_separable(field, weights, weights, border)


@cache
def _gaussian(kernel: int, sigma: float, device: torch.device, dtype: torch.dtype) -> Tensor:
    """(1, kernel), kept: a GPU is waited for where it is made."""
    from kornia.filters import get_gaussian_kernel1d

    return get_gaussian_kernel1d(kernel, sigma, device=device, dtype=dtype)


def warp(
    images: Tensor, displacement: Tensor, *, mode: str = "bilinear", rows: slice = ALL
) -> Tensor:
    """``images`` (B, C, H, W) sampled at p + displacement(p); the border pixel continues outside.

    A pixel whose displacement is zero keeps its value bit for bit. ``mode`` is "bilinear",
    "bicubic" or "nearest". Differentiable in both arguments. With ``rows``, ``displacement`` is
    theirs alone, and so is what comes back.

    Raises:
        ValueError: shapes of image and displacement do not fit.
    """
    from kornia.geometry.transform import remap

    height, width = images.shape[-2:]
    expected = (images.shape[0], 2, len(range(height)[rows]), width)
    if displacement.shape != expected:
        raise ValueError(
            f"displacement must have shape {expected}, "
            f"got {tuple(displacement.shape)}; use flow.resize first"
        )
    displacement = _exact(displacement)
    x, y = _axes(displacement, rows, height)
    warped = remap(
        images,
        x + displacement[:, 0],
        y + displacement[:, 1],
        mode=mode,
        padding_mode="border",
        align_corners=True,
        normalized_coordinates=True,
    )
    # Rounding in the grid would change still pixels in the last bits. Their value is the input's;
    # their gradient is the interpolation's, so that a field can also start from zero.
    still = ((displacement[:, 0] == 0) & (displacement[:, 1] == 0)).unsqueeze(1)
    images = images[..., rows, :]
    if not warped.requires_grad:
        return torch.where(still, images, warped)
    return torch.where(still, images.detach() + (warped - warped.detach()), warped)


def resize(displacement: Tensor, size: tuple[int, int]) -> Tensor:
    """The same displacement on a grid of ``size`` (H, W); its unit does not depend on the size."""
    if tuple(displacement.shape[-2:]) == tuple(size):
        return displacement
    return F.interpolate(displacement, size=size, mode="bilinear", align_corners=True)


def compose(first: Tensor, second: Tensor) -> Tensor:
    """The displacement d with warp(x, d) ≈ warp(warp(x, first), second)."""
    return second + warp(first, second)


def invert(displacement: Tensor, *, iterations: int = 20) -> Tensor:
    """The inverse by fixed point, inv(p) = −displacement(p + inv(p)) (Chen et al. 2008).

    Converges where the displacement is a contraction; ``compose(displacement, invert(…))`` is
    then near 0 away from the border.
    """
    inverse = -displacement
    for _ in range(iterations):
        inverse = -warp(displacement, inverse)
    return inverse


def exponential(velocity: Tensor, squarings: int) -> Tensor:
    """The displacement after unit time along ``velocity`` (B, 2, H, W), by scaling and squaring.

    The velocity is one of this module's displacements per unit of time, continued beyond
    the border as it is there. The path from p is no longer than the time: no component exceeds
    the velocity's largest. −velocity gives the inverse (Arsigny et al. 2006; Ashburner 2007).

    Args:
        squarings: the path has 2**squarings steps.
    """
    displacement = velocity / 2**squarings
    for _ in range(squarings):
        displacement = compose(displacement, displacement)
    return displacement


def pixels(displacement: Tensor, size: tuple[int, int] | None = None) -> Tensor:
    """The displacement in pixels of an image of ``size`` (H, W); by default of its own grid."""
    h, w = size or displacement.shape[-2:]
    scale = displacement.new_tensor([(w - 1) / 2, (h - 1) / 2])
    return displacement * scale.view(1, 2, 1, 1)


def millimetres(
    displacement: Tensor, spacing: tuple[float, float], size: tuple[int, int] | None = None
) -> Tensor:
    """The displacement in mm; ``spacing`` as in DICOM PixelSpacing: (row, column), mm a pixel.

    ``size`` (H, W) is the image that the spacing belongs to, by default the displacement's grid.
    """
    rows, columns = spacing
    scale = displacement.new_tensor([columns, rows])
    return pixels(displacement, size) * scale.view(1, 2, 1, 1)


def jacobian_determinant(displacement: Tensor, size: tuple[int, int] | None = None) -> Tensor:
    """det D(p + displacement(p)), (B, 1, H−1, W−1), by forward differences on the pixel grid.

    1 where nothing is stretched; ≤ 0 where the image folds. ``size`` as in ``pixels``.
    """
    d = pixels(displacement, size)
    dx = d[..., :-1, 1:] - d[..., :-1, :-1]
    dy = d[..., 1:, :-1] - d[..., :-1, :-1]
    determinant = (1 + dx[:, 0]) * (1 + dy[:, 1]) - dx[:, 1] * dy[:, 0]
    return determinant.unsqueeze(1)


def bending_energy(displacement: Tensor) -> Tensor:
    """Mean of |d²u/dx²|² + |d²u/dy²|² + 2·|d²u/dxdy|² over both components, a scalar.

    Displacement u and coordinates count sides of the image, so that its size in pixels hardly
    matters; 0 for an affine map (Rueckert et al. 1999, Eq. 8).
    """
    h, w = displacement.shape[-2:]
    u = displacement.float() / 2
    middle = u[..., 1:-1, 1:-1]
    xx = (u[..., 1:-1, 2:] - 2 * middle + u[..., 1:-1, :-2]) * (w - 1) ** 2
    yy = (u[..., 2:, 1:-1] - 2 * middle + u[..., :-2, 1:-1]) * (h - 1) ** 2
    down = u[..., 2:, :] - u[..., :-2, :]
    xy = (down[..., 2:] - down[..., :-2]) * (w - 1) * (h - 1) / 4
    return (xx.square() + yy.square() + 2 * xy.square()).mean()


def magnitude(displacement: Tensor) -> Tensor:
    """Length of each vector (B, 1, H, W), in the unit of the argument."""
    return displacement.square().sum(1, keepdim=True).sqrt()
