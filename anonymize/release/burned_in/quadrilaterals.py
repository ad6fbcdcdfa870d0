"""The boxes of lines: four corners x, y, clockwise from the upper left."""

import cv2
import numpy as np


def cut(pixels: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """The quadrilateral ``corners``, clockwise from the upper left, as an upright picture."""
    a, b, c, d = corners.astype(np.float32)
    width = int(max(np.linalg.norm(a - b), np.linalg.norm(c - d)))
    height = int(max(np.linalg.norm(a - d), np.linalg.norm(b - c)))
    if not width or not height:
        return pixels[:0, :0]
    straight = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    to = cv2.getPerspectiveTransform(corners.astype(np.float32), straight)
    return cv2.warpPerspective(
        pixels, to, (width, height), borderMode=cv2.BORDER_REPLICATE, flags=cv2.INTER_CUBIC
    )


def thickness(corners: np.ndarray) -> float:
    """The shortest side of ``corners`` (4, 2): the height of a line, whichever way it runs."""
    return float(np.linalg.norm(corners - np.roll(corners, 1, 0), axis=1).min())


def drawn(corners: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """uint8 of ``size`` (H, W): 1 within the quadrilateral ``corners`` (4, 2)."""
    return cv2.fillPoly(np.zeros(size, np.uint8), [np.round(corners).astype(np.int32)], 1)
