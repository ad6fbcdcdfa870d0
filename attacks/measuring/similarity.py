"""How alike features are, without learning what matters in them.

Each set of features is centred on its own mean. The released images have a mean of their own (blur
and pixelization weaken every gradient): centring them on the mean of the real images leaves that
difference in every feature and draws all probes to the same few gallery images. Measured with
gradient histograms on the COVID-19 images down-sampled by 8: precision@1 0.25 with their own mean,
0.01 with the gallery's. Fewer than 10 probes have no mean worth the name and take the gallery's.
"""

from collections.abc import Sized
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist

from anonymize.errors import DataError

Distance = Literal["cosine", "euclidean"]
FEW = 10
ROUNDING = 1e-5  # share of their length by which equal features may differ from their mean


def similarity(asked: np.ndarray, known: np.ndarray, distance: Distance) -> np.ndarray:
    """float32 (P, G), higher = more alike, of features (P, D) and (G, D).

    "cosine": in [−1, 1]; features that are equal throughout a set score 0. "euclidean": the
    negative distance.

    Raises DataError: no features, or features that are not finite."""
    asked, known = centred(asked, known)
    if distance == "euclidean":
        return -cdist(asked, known).astype(np.float32)
    return unit(asked) @ unit(known).T


def check_sets(probes: Sized, gallery: Sized) -> None:
    """Raises DataError where there is nothing to compare."""
    for name, images in (("probe", probes), ("gallery", gallery)):
        if not len(images):
            raise DataError(f"there is no {name} image to compare; name a part that has some")


def check_finite(features: np.ndarray, images: str = "images") -> None:
    """Raises DataError where a row of features (N, D) is not finite."""
    wrong = int((~np.isfinite(features)).any(axis=1).sum())
    if wrong:
        raise DataError(
            f"the features of {wrong} of {len(features)} {images} are not finite; "
            "look for NaN in the images or in the weights of the network"
        )


def centred(asked: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Features (P, D) and (G, D), each set around its own mean. Raises DataError: no features, or
    features that are not finite."""
    check_sets(asked, known)
    check_finite(asked, "probe images")
    check_finite(known, "gallery images")
    centre = known.mean(axis=0)
    own = asked.mean(axis=0) if len(asked) >= FEW else centre
    return _away(asked, own), _away(known, centre)


def _away(features: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """From the centre; exactly 0 where only rounding is left, which scaling would make a score."""
    away = features - centre
    longest = np.linalg.norm(features, axis=1).max()
    away[np.linalg.norm(away, axis=1) <= ROUNDING * longest] = 0
    return away


def unit(features: np.ndarray) -> np.ndarray:
    """Features (N, D) of length 1, float32; those of length 0 stay."""
    length = np.linalg.norm(features, axis=1, keepdims=True)
    return (features / np.where(length > 0, length, 1)).astype(np.float32)


def comparable(
    asked: np.ndarray, known: np.ndarray, distance: Distance
) -> tuple[np.ndarray, np.ndarray]:
    """float32 vectors (P, E) and (G, E) whose inner products rank as `similarity.similarity`.

    "cosine": the cosine of the centred features itself. "euclidean": −‖a − b‖² as the product of
    (2a, −‖a‖², 1) and (b, 1, −‖b‖²).

    Raises DataError: no features, or features that are not finite."""
    return products(*centred(asked, known), distance)


def products(
    asked: np.ndarray, known: np.ndarray, distance: Distance
) -> tuple[np.ndarray, np.ndarray]:
    """:func:`comparable` vectors of features (P, D) and (G, D) that are centred already."""
    if distance == "cosine":
        return unit(asked), unit(known)
    own, other = ((f**2).sum(axis=1, keepdims=True) for f in (asked, known))
    return (
        np.hstack([2 * asked, -own, np.ones_like(own)]).astype(np.float32),
        np.hstack([known, np.ones_like(other), -other]).astype(np.float32),
    )
