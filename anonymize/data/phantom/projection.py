"""From layers to gray values: Beer-Lambert attenuation, scatter, display window, detector."""

import numpy as np

from anonymize.data.phantom.acquisition import Acquisition
from anonymize.data.phantom.geometry import COARSE, Canvas, resize, soften, unit_grid

# linear attenuation, 1/cm, of water and of compact bone beyond water at a mean energy of about
# 70 keV (NIST XCOM)
WATER = 0.19
BONE = 0.38


def optical_depth(tissue: np.ndarray, bone: np.ndarray) -> np.ndarray:
    """Attenuation along every ray for path lengths in cm."""
    return np.float32(WATER) * np.maximum(tissue, 0.0) + np.float32(BONE) * bone


def scattered(depth: np.ndarray, share: float) -> np.ndarray:
    """Optical depth as detected when `share` of the intensity is scattered widely."""
    intensity = np.exp(-depth)
    glow = soften(np.minimum(intensity, 0.35), 0.06)
    return -np.log((1.0 - share) * intensity + np.float32(share) * glow)


def windowed(depth: np.ndarray, acquisition: Acquisition) -> np.ndarray:
    """Gray values in (0, 1), dense bright, after an automatic exposure over the chest."""
    coarse = resize(depth, min(COARSE, depth.shape[0]))
    n = coarse.shape[0]
    low, high = np.quantile(coarse[n // 8 : -n // 5, n // 8 : -n // 8], (0.15, 0.85))
    middle = 0.5 * (low + high) + 0.5 * (high - low) * acquisition.centre
    half = 0.5 * (0.7 * (high - low) + 0.3 * 1.6)
    slope = np.float32(1.0 / (half * acquisition.width))
    return 1.0 / (1.0 + np.exp((np.float32(middle) - depth) * slope))


def detected(depth: np.ndarray, acquisition: Acquisition, rng: np.random.Generator) -> np.ndarray:
    """Optical depth with detector blur, uneven exposure and quantum noise."""
    size = depth.shape[0]
    depth = soften(depth, acquisition.blur / acquisition.field, fine=True)
    depth = depth + np.float32(acquisition.shading) * (unit_grid(size)[:, None] - 0.5)
    grain = rng.standard_normal((size, size), dtype=np.float32)
    # fewer photons pass dense tissue; a pixel of half the side counts a quarter of them
    level = np.exp(np.minimum(0.5 * resize(depth, min(size, COARSE)), 2.5))
    return depth + resize(np.float32(acquisition.noise * size / 256) * level, size) * grain


def marked(image: np.ndarray, acquisition: Acquisition) -> np.ndarray:
    """The image with the side marker burned in."""
    if not acquisition.marker:
        return image
    strokes = _LETTERS[acquisition.marker]
    canvas = Canvas(image.shape[0])
    origin = np.array([acquisition.marker_x, acquisition.marker_y])
    for stroke in strokes:
        points = origin + (np.array(stroke) - 0.5) * acquisition.marker_size
        canvas.line(points, 0.16 * acquisition.marker_size, 1.0)
    cover = np.minimum(canvas.array(), 1.0)
    return image + cover * (np.float32(0.98) - image)


_LETTERS = {
    "L": [[(0.2, 0.0), (0.2, 1.0)], [(0.2, 0.94), (0.8, 0.94)]],
    "R": [
        [(0.2, 0.0), (0.2, 1.0)],
        [(0.2, 0.06), (0.55, 0.06), (0.75, 0.17), (0.75, 0.38), (0.55, 0.5), (0.2, 0.5)],
        [(0.45, 0.5), (0.8, 1.0)],
    ],
}
