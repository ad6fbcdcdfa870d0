"""From centimetres in the patient to the image: projection, canvases, curves, textures.

Points are (..., 3) in the axes of `identity`; image coordinates are (..., 2), x to the right and y
downwards, [0, 1] over the image; arrays are float32 (size, size), row first.
"""

from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw
from scipy.ndimage import gaussian_filter

from anonymize.data.phantom.acquisition import Acquisition

COARSE = 64  # side of the grid on which smooth fields are computed

# cm from the X-ray source to the middle of the patient: 180 cm and 110 cm to the detector
_SOURCE = {"PA": 165.0, "AP": 95.0}


class Projector:
    """The perspective projection of one exposure."""

    def __init__(self, acquisition: Acquisition) -> None:
        self.field = acquisition.field
        self._yaw = np.cos(acquisition.yaw), np.sin(acquisition.yaw)
        self._pitch = np.cos(acquisition.pitch), np.sin(acquisition.pitch)
        self._roll = np.cos(acquisition.roll), np.sin(acquisition.roll)
        self._shift = acquisition.shift_x, acquisition.shift_y
        # the front faces the detector in PA and the source in AP
        self._away = (1.0 if acquisition.view == "PA" else -1.0) / _SOURCE[acquisition.view]

    def __call__(self, points: np.ndarray) -> np.ndarray:
        x, y, z = points[..., 0], points[..., 1], points[..., 2]
        (cos, sin) = self._yaw
        x, z = x * cos + z * sin, z * cos - x * sin
        (cos, sin) = self._pitch
        y, z = y * cos - z * sin, z * cos + y * sin
        scale = 1.0 / (1.0 + z * self._away)
        x, y = x * scale + self._shift[0], y * scale + self._shift[1]
        (cos, sin) = self._roll
        image = np.empty((*x.shape, 2))
        image[..., 0] = (x * cos - y * sin) / self.field + 0.5
        image[..., 1] = (x * sin + y * cos) / self.field + 0.5
        return image

    def inverse(self) -> tuple[float, float, float, float, float, float]:
        """(a, b, c, d, e, f): x = a u + b v + c and y = d u + e v + f cm, in the plane z = 0."""
        origin = self(np.zeros(3))
        # at z = 0 the perspective is affine up to terms of second order in the angles
        forward = np.stack([self(np.eye(3)[k]) - origin for k in range(2)], -1)
        back = np.linalg.inv(forward)
        x0, y0 = -back @ origin
        return (back[0, 0], back[0, 1], x0, back[1, 0], back[1, 1], y0)

    def plane(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """x and y in cm of every pixel centre, in the plane z = 0."""
        a, b, c, d, e, f = (np.float32(value) for value in self.inverse())
        u = unit_grid(size)
        v = u[:, None]
        return a * u + (b * v + c), d * u + (e * v + f)


@lru_cache(maxsize=8)
def unit_grid(size: int) -> np.ndarray:
    """Pixel centres in image coordinates, (size,)."""
    return ((np.arange(size) + 0.5) / size).astype(np.float32)


class Canvas:
    """A layer drawn with polygons and lines in image coordinates, supersampled.

    Values lie in [0, peak] and are kept in 255 steps; what is drawn later hides what lies below.
    """

    def __init__(self, size: int, peak: float = 1.0) -> None:
        self._factor = 4 if size < 128 else 3 if size < 256 else 2 if size < 1024 else 1
        self.side = size * self._factor
        self._step = peak / 255.0
        self._image = Image.new("L", (self.side, self.side))
        self._draw = ImageDraw.Draw(self._image)

    def polygon(self, points: np.ndarray, value: float) -> None:
        ink = int(value / self._step + 0.5)
        self._draw.polygon((points * self.side - 0.5).ravel().tolist(), fill=ink)

    def line(self, points: np.ndarray, width: float, value: float) -> None:
        """A polyline `width` (share of the image) wide; thinner than a pixel it is fainter."""
        pixels = width * self.side
        self._draw.line(
            (points * self.side - 0.5).ravel().tolist(),
            fill=int(value * min(pixels, 1.0) / self._step + 0.5),
            width=max(int(pixels + 0.5), 1),
        )

    def array(self) -> np.ndarray:
        """The layer at the image's size, float32 (size, size)."""
        image = self._image.reduce(self._factor) if self._factor > 1 else self._image
        return np.asarray(image, dtype=np.float32) * np.float32(self._step)


def mask_of(size: int, *polygons: np.ndarray) -> np.ndarray:
    """Coverage in [0, 1] of polygons in image coordinates."""
    canvas = Canvas(size)
    for polygon in polygons:
        canvas.polygon(polygon, 1.0)
    return canvas.array()


def resize(field: np.ndarray, size: int) -> np.ndarray:
    """A field at another size, interpolated upwards and averaged downwards."""
    side = field.shape[0]
    if side == size:
        return field
    image = Image.fromarray(np.ascontiguousarray(field, dtype=np.float32))
    if side % size == 0:
        return np.asarray(image.reduce(side // size))
    # smooth fields only: the facets of linear interpolation would show beyond fourfold
    how = Image.Resampling.BILINEAR if size <= 4 * side else Image.Resampling.BICUBIC
    return np.asarray(image.resize((size, size), how if size > side else Image.Resampling.BOX))


def soften(field: np.ndarray, sigma: float, *, fine: bool = False) -> np.ndarray:
    """Gaussian blur by `sigma`, share of the image; on the coarse grid unless `fine`."""
    size = field.shape[0]
    if fine:
        return gaussian_filter(field, sigma * size, truncate=3.0, mode="nearest")
    coarse = resize(field, min(size, COARSE))
    blurred = gaussian_filter(coarse, sigma * coarse.shape[0], truncate=3.0, mode="nearest")
    return resize(blurred, size)


def smooth_curve(knots: np.ndarray, steps: int = 6) -> np.ndarray:
    """Catmull-Rom spline through (n, d) knots, ends included, ((n - 1) * steps + 1, d)."""
    knots = np.asarray(knots, dtype=np.float64)
    padded = np.concatenate([2 * knots[:1] - knots[1:2], knots, 2 * knots[-1:] - knots[-2:-1]])
    p0, p1, p2, p3 = (padded[k : len(padded) - 3 + k][:, None] for k in range(4))
    t = (np.arange(steps) / steps)[:, None]
    curve = 0.5 * (
        2 * p1
        + (p2 - p0) * t
        + (2 * p0 - 5 * p1 + 4 * p2 - p3) * t**2
        + (3 * p1 - p0 - 3 * p2 + p3) * t**3
    )
    return np.concatenate([curve.reshape(-1, knots.shape[1]), knots[-1:]])


def strip(curve: np.ndarray, half_width: np.ndarray | float) -> np.ndarray:
    """The outlines of bands around (..., n, 2) curves, (..., 2 n, 2)."""
    tangent = np.empty_like(curve)
    tangent[..., 1:-1, :] = curve[..., 2:, :] - curve[..., :-2, :]
    tangent[..., 0, :] = curve[..., 1, :] - curve[..., 0, :]
    tangent[..., -1, :] = curve[..., -1, :] - curve[..., -2, :]
    length = np.hypot(tangent[..., 0], tangent[..., 1]) + 1e-9
    offset = tangent[..., ::-1] * (np.asarray(half_width) / length)[..., None] * (-1.0, 1.0)
    return np.concatenate([curve + offset, (curve - offset)[..., ::-1, :]], axis=-2)


def flat(points: np.ndarray, z: float = 0.0) -> np.ndarray:
    """(..., 2) points in cm, placed at depth z, (..., 3)."""
    return np.concatenate([points, np.full((*points.shape[:-1], 1), z)], -1)


def texture(projector: Projector, size: int, *, seed: int, cell: float) -> np.ndarray:
    """Smooth noise of unit variance fixed to the patient, with grains of `cell` cm."""
    extent = 56.0
    full, size = size, min(size, COARSE if cell >= 1.8 else 2 * COARSE if cell >= 0.7 else size)
    n = int(extent / cell)
    noise = np.random.default_rng(seed).standard_normal((n, n)).astype(np.float32)
    a, b, c, d, e, f = projector.inverse()
    per_pixel, per_cm = 1.0 / size, n / extent
    data = (
        a * per_cm * per_pixel,
        b * per_cm * per_pixel,
        (c + extent / 2) * per_cm,
        d * per_cm * per_pixel,
        e * per_cm * per_pixel,
        (f + extent / 2) * per_cm,
    )
    image = Image.fromarray(noise).transform(
        (size, size), Image.Transform.AFFINE, data, resample=Image.Resampling.BICUBIC
    )
    return resize(np.asarray(image), full) * np.float32(1.3)


def ramp(field: np.ndarray, low: float, high: float) -> np.ndarray:
    """0 below `low`, 1 above `high`, smooth between."""
    t = np.clip((field - np.float32(low)) / np.float32(high - low), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)
