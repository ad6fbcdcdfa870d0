"""The patches of mosaics: their gray levels, which image stands where, and which show the same.

A patch is a square of a grid of g × g; its gray levels are those of an image of mean 0 and
deviation 1, so that what equalises whole images changes nothing of them. Near its border it passes
into others, so whatever asks for sameness looks at its inner part.
"""

from collections.abc import Iterable

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from attacks.attacker import ImageSet, unit_batches
from attacks.training.outputs import Outputs

PIXELS = 12  # along a side of a patch
INNER = slice(PIXELS // 4, PIXELS - PIXELS // 4)
STEADY = 1e-3  # deviation of gray levels below which an image is not scaled up
BATCH = 256
FOUND = 0.9  # correlation of inner parts from which on an image is said to stand at a place
WORSE = 2.0  # times as far from a perfect match as the best grid, and
ALSO = 0.01  # this much farther, where a coarser grid matches as well
UNLIKE = 2.0  # a likeness that no two patches have
LOOKED_AT = 1000  # outputs by which copies are told, at most
DRAWN = 200  # pairs by which the grid is found


def patch_levels(images: Tensor, g: int) -> np.ndarray:
    """float32 (N, g², 12, 12), patches of images (N, 1, H, W) from the upper left one on."""
    found = []
    for batch in unit_batches(images, BATCH, torch.device("cpu")):
        small = F.interpolate(batch, (g * PIXELS, g * PIXELS), mode="area")
        away = small - small.mean(dim=(-2, -1), keepdim=True)
        small = away / (away.square().mean(dim=(-2, -1), keepdim=True).sqrt() + STEADY)
        rows = small[:, 0].unflatten(1, (g, PIXELS)).unflatten(3, (g, PIXELS))
        found.append(rows.transpose(2, 3).flatten(1, 2))  # (N, g², 12, 12)
    return torch.cat(found).numpy()


def insides(patches: np.ndarray) -> np.ndarray:
    """float32 (N, g², D): inner parts of patches (N, g², 12, 12) without mean, of length 1, so that
    products are correlations."""
    inner = patches[:, :, INNER, INNER].reshape(*patches.shape[:2], -1)
    away = inner - inner.mean(axis=2, keepdims=True)
    length = np.linalg.norm(away, axis=2, keepdims=True)
    return (away / np.maximum(length, STEADY)).astype(np.float32)


def grid_of(released: Tensor, real: Tensor, grids: Iterable[int]) -> int:
    """The coarsest of the ``grids`` of which some patch of each released image (N, 1, H, W) looks
    as in its real one about as much as with any finer grid."""
    apart = {}
    for g in sorted(grids):
        sides = (insides(patch_levels(images[:DRAWN], g)) for images in (released, real))
        alike = np.multiply(*sides).sum(axis=2).max(axis=1)
        apart[g] = 1 - float(np.median(alike))
    limit = WORSE * min(apart.values()) + ALSO
    return next(g for g, away in apart.items() if away <= limit)


def standing(outputs: Outputs, real: ImageSet, g: int) -> np.ndarray:
    """int64 (U, g²): row of ``real`` that stands at each place of each output, −1 where none of its
    contributors is like what is there."""
    row_of = {image: row for row, image in enumerate(real.owners.image.tolist())}
    shown = insides(patch_levels(outputs.images, g))
    known = insides(patch_levels(real.images, g))
    owners, found = outputs.owners, np.full(shown.shape[:2], -1, np.int64)
    first = np.unique(outputs.number, return_index=True)[1]
    made = owners.image[:, None] if owners.contributors is None else owners.contributors.image
    for output, names in enumerate(made[first].tolist()):
        rows = np.array([row_of[name] for name in names if name in row_of], int)
        if len(rows):
            alike = np.einsum("pd,npd->pn", shown[output], known[rows])
            best = alike.argmax(axis=1)
            sure = alike.max(axis=1) > FOUND
            found[output, sure] = rows[best[sure]]
    return found


def likeness_of_copies(shown: np.ndarray, stands: np.ndarray) -> float:
    """The correlation from which on two patches at one place are taken for one: that by which
    fewest pairs of ``shown`` (U, g², D) are told wrong, of which ``stands`` (U, g²) says what they
    show, −1 unknown; ``UNLIKE`` where none is shown twice."""
    scores, same = [], []
    for patches, rows in zip(shown[:LOOKED_AT].swapaxes(0, 1), stands[:LOOKED_AT].T, strict=True):
        patches, rows = patches[rows >= 0], rows[rows >= 0]
        upper = np.triu_indices(len(rows), 1)
        scores.append((patches @ patches.T)[upper])
        same.append((rows[:, None] == rows)[upper])
    alike, equal = np.concatenate(scores), np.concatenate(same)
    if not equal.any():
        return UNLIKE
    order = np.argsort(-alike, kind="stable")
    gained = np.cumsum(np.where(equal[order], 1, -1))
    best = int(gained.argmax())
    if gained[best] <= 0:
        return UNLIKE
    following = alike[order[best + 1]] if best + 1 < len(order) else -1.0
    return float((alike[order[best]] + following) / 2)


def copies(shown: np.ndarray, likeness: float) -> np.ndarray:
    """int64 (U, g²): at each place the number of what is shown there; patches of ``shown``
    (U, g², D) that are alike have one, and so have those that are like one and the same."""
    if likeness >= UNLIKE:
        return np.tile(np.arange(len(shown))[:, None], shown.shape[1])
    found = []
    for patches in shown.swapaxes(0, 1):
        alike = csr_array(patches @ patches.T >= likeness)
        found.append(connected_components(alike, directed=False)[1])
    return np.stack(found, axis=1).astype(np.int64)
