"""What is measured of one image's displacement; plain values, that need no network."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """How far an image was moved; None where the method does not deform or nothing is known.

    Lengths in pixels of the file, and in mm where its pixel spacing is known; ``min_jacobian`` is
    the smallest Jacobian determinant, ≤ 0 where the image folds.
    """

    displacement_max_px: float | None = None
    displacement_mean_px: float | None = None
    displacement_max_mm: float | None = None
    displacement_mean_mm: float | None = None
    min_jacobian: float | None = None
